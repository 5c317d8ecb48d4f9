//! Who uses a breaker, and when: for whoever has to choose which one goes.

use super::CircuitBreaker;
use super::clock::Tick;
use crate::sync::{Arc, Ordering};

impl CircuitBreaker {
    /// Whether a permit is alive, or a handle beyond `handles`.
    pub(crate) fn in_use(&self, handles: usize) -> bool {
        Arc::strong_count(&self.handle) > handles || self.handle.stripes.in_use()
    }

    /// Order of the last use, as [`mark_used`](Self::mark_used) was told.
    #[inline]
    pub(crate) fn last_used(&self) -> u64 {
        self.handle.last_used.load(Ordering::Relaxed)
    }

    /// Marks a use. Writes only what is new, so that a busy breaker's line stays shared.
    #[inline]
    pub(crate) fn mark_used(&self, order: u64) {
        if self.last_used() != order {
            self.handle.last_used.store(order, Ordering::Relaxed);
        }
    }

    /// Time of the last use: as [`mark_seen`](Self::mark_seen) was told, or that of a verdict. A long call ends long
    /// after it was admitted, and what it said must not be forgotten with the next one.
    pub(crate) fn last_seen(&self) -> Tick {
        Tick::from_nanos(self.handle.last_seen.load(Ordering::Relaxed)).max(self.core().settled_at())
    }

    pub(crate) fn mark_seen(&self, now: Tick) {
        self.handle.last_seen.fetch_max(now.as_nanos(), Ordering::Relaxed);
    }

    /// Calls admitted so far.
    pub(crate) fn calls(&self) -> u64 {
        self.handle.stripes.sums().started
    }

    /// The fewest calls that any of its policies needs to trip.
    pub(crate) fn fewest_calls_to_trip(&self) -> u32 {
        self.core()
            .config
            .rules()
            .iter()
            .map(|rule| rule.fewest_calls())
            .min()
            .unwrap_or(u32::MAX)
    }
}
