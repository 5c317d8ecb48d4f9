//! Who goes when a new breaker needs room.
//!
//! Only a closed breaker that nobody uses may go. Among those it is the least recently used one: exactly in a small
//! registry, by second chance in a larger one. There the queue is in the order of creation, and whoever was used since it
//! came in goes to the end once more; so finding the next to go costs amortized O(1).

use std::collections::VecDeque;

use crate::breaker::CircuitBreaker;
use crate::state::State;
use crate::sync::{Ordering, fence};

/// Up to this bound the order of use is exact. Beyond it, uses between two creations are not told apart: nothing is
/// evicted between them, and the cores need not share a counter that every call writes.
pub(super) const EXACT_UP_TO: usize = 16;

/// How many entries one search may look at in any case. A search may look at more if others before it looked at fewer: at
/// most at all of them twice.
const SEARCH: usize = 1024;

/// How many handles the registry itself holds of each breaker: one in its map, one here.
const OWN_HANDLES: usize = 2;

#[cfg(all(test, breaker_loom))]
mod interleavings;

/// Every breaker of a registry.
pub(super) struct Queue {
    entries: VecDeque<Entry>,
    capacity: usize,
    /// Entries that searches may still look at.
    credit: usize,
}

struct Entry {
    breaker: CircuitBreaker,
    /// Order of the last use when the entry came in.
    since: u64,
}

/// Whether nothing would be lost with a breaker: it is closed, and no permit and no handle of it is alive.
///
/// The state is read last: the verdict of a permit that was alive a moment ago may have opened the breaker. The fence
/// makes that verdict visible together with the end of the permit.
pub(super) fn may_go(breaker: &CircuitBreaker) -> bool {
    if breaker.in_use(OWN_HANDLES) {
        return false;
    }
    fence(Ordering::Acquire);
    breaker.state() == State::Closed
}

impl Queue {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            entries: VecDeque::new(),
            capacity,
            credit: capacity.saturating_mul(2),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn push(&mut self, breaker: CircuitBreaker, since: u64) {
        self.entries.push_back(Entry { breaker, since });
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &CircuitBreaker> {
        self.entries.iter().map(|entry| &entry.breaker)
    }

    pub(super) fn retain(&mut self, mut keep: impl FnMut(&CircuitBreaker) -> bool) {
        self.entries.retain(|entry| keep(&entry.breaker));
    }

    /// Finds who goes next and lets `remove` take it away, which may still say no.
    pub(super) fn evict(&mut self, remove: impl Fn(&CircuitBreaker) -> bool) -> Option<CircuitBreaker> {
        if self.capacity <= EXACT_UP_TO {
            self.evict_exactly(remove)
        } else {
            self.evict_by_second_chance(remove)
        }
    }

    fn evict_exactly(&mut self, remove: impl Fn(&CircuitBreaker) -> bool) -> Option<CircuitBreaker> {
        let mut candidates: Vec<usize> = (0..self.entries.len()).collect();
        // Each is read once: calls go on marking their breakers meanwhile, and a sort may panic on an order that changes.
        candidates.sort_by_cached_key(|index| self.entries[*index].breaker.last_used());
        let gone = candidates.into_iter().find(|index| {
            let breaker = &self.entries[*index].breaker;
            may_go(breaker) && remove(breaker)
        })?;
        self.entries.remove(gone).map(|entry| entry.breaker)
    }

    fn evict_by_second_chance(&mut self, remove: impl Fn(&CircuitBreaker) -> bool) -> Option<CircuitBreaker> {
        let most = self.capacity.saturating_mul(2).max(SEARCH);
        self.credit = self.credit.saturating_add(SEARCH).min(most);
        // Twice around at most: the first round may be all second chances.
        for _ in 0..self.entries.len() * 2 {
            self.credit = self.credit.checked_sub(1)?;
            let mut entry = self.entries.pop_front()?;
            let last_used = entry.breaker.last_used();
            if !may_go(&entry.breaker) {
                self.entries.push_back(entry);
            } else if last_used > entry.since {
                entry.since = last_used;
                self.entries.push_back(entry);
            } else if remove(&entry.breaker) {
                return Some(entry.breaker);
            } else {
                self.entries.push_back(entry);
            }
        }
        None
    }
}
