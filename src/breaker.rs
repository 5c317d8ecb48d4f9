//! MAY this call go?
//!
//! One breaker, usable around any call: ask for a [`Permit`], make the call, record the verdict. It knows nothing of
//! HTTP, of URLs or of an async runtime.

pub(crate) mod clock;
pub(crate) mod config;
mod core;
#[cfg(all(test, breaker_loom))]
pub(crate) mod interleavings;
mod machine;
mod permit;
mod recovery;
pub(crate) mod site;
mod stripes;
mod window;

use std::fmt;
use std::time::Duration;

pub use self::clock::{Clock, ManualClock, SystemClock};
pub use self::config::{CircuitBreakerConfig, CircuitBreakerConfigBuilder, InvalidConfig, TripPolicy};
pub use self::permit::Permit;

use self::clock::Tick;
use self::core::Core;
use self::site::Site;
use self::stripes::Stripes;
use crate::error::CircuitOpenError;
use crate::key::CircuitKey;
use crate::observe::{CircuitSnapshot, Totals, Transition};
use crate::state::State;
use crate::sync::{Arc, AtomicU64, Ordering};

/// A handle to one circuit breaker. Every clone is the same breaker.
///
/// The middleware uses it for you. By hand it works around any call, HTTP or not; see [`Permit`].
#[derive(Clone)]
pub struct CircuitBreaker {
    handle: Arc<Handle>,
}

struct Handle {
    stripes: Stripes,
    /// For whoever evicts: the order of the last use, and its time.
    last_used: AtomicU64,
    last_seen: AtomicU64,
}

impl CircuitBreaker {
    pub(crate) fn new(
        key: CircuitKey,
        config: std::sync::Arc<CircuitBreakerConfig>,
        site: std::sync::Arc<Site>,
        jitter_seed: u64,
    ) -> Self {
        let core = Arc::new(Core::new(key, config, site, jitter_seed));
        let (last_used, last_seen) = (AtomicU64::new(0), AtomicU64::new(0));
        Self {
            handle: Arc::new(Handle {
                stripes: Stripes::new(&core),
                last_used,
                last_seen,
            }),
        }
    }

    /// Returns the key.
    pub fn key(&self) -> &CircuitKey {
        &self.core().key
    }

    /// Returns the state, and changes nothing: an opening whose time is over stays [`State::Open`] until a call comes.
    pub fn state(&self) -> State {
        self.core().state()
    }

    /// Returns `true` if a call would be admitted now. Takes no slot and changes nothing.
    ///
    /// Under [`report_only`](CircuitBreakerConfigBuilder::report_only) it is always `true`.
    pub fn would_admit(&self) -> bool {
        self.peek().is_none()
    }

    /// Admits a call, or says why not.
    ///
    /// # Errors
    ///
    /// [`CircuitOpenError`] if the breaker is open, forced open, or half-open with every probe slot taken.
    #[inline]
    pub fn try_acquire(&self) -> Result<Permit, CircuitOpenError> {
        match self.admit_untimed() {
            Some(permit) => Ok(permit),
            None => self.admit(None),
        }
    }

    /// Opens the breaker until it is [reset](Self::reset): every call is rejected, no probe passes.
    ///
    /// On a breaker that is forced open it does nothing.
    pub fn force_open(&self) {
        self.core().by_hand(|machine, now| machine.force_open(now));
    }

    /// Lets every call pass, whatever their verdicts, until the breaker is [reset](Self::reset).
    ///
    /// On a disabled breaker it does nothing.
    pub fn disable(&self) {
        self.core().by_hand(|machine, now| machine.disable(now));
    }

    /// Closes the breaker and starts its counts from nothing. The only way out of [`force_open`](Self::force_open) and
    /// [`disable`](Self::disable).
    ///
    /// It is a transition also on a closed breaker: calls in flight are fenced, their verdicts are late.
    pub fn reset(&self) {
        self.core().by_hand(|machine, now| Some(machine.reset(now)));
    }

    /// Opens the breaker for `length`, then probes as usual. The backoff does not count it.
    ///
    /// On a breaker that is forced open or disabled it does nothing.
    pub fn trip(&self, length: Duration) {
        self.core().by_hand(|machine, now| machine.trip(length, now));
    }

    /// Returns everything there is to see, all of one moment. Changes nothing.
    pub fn snapshot(&self) -> CircuitSnapshot {
        let core = self.core();
        let (now, wall) = (core.site.now(), core.site.wall());
        let machine = core.read();
        let totals = machine.totals();
        // Ends before starts: what ended under the lock is already counted, the rest sees to it itself.
        let sums = self.handle.stripes.sums();
        let success = totals.success + sums.success;
        let ended = success + totals.failure + totals.ignored + totals.late + sums.cancelled;
        let wait = machine.time_to_probe(now);
        CircuitSnapshot {
            registry: std::sync::Arc::clone(core.site.registry()),
            key: core.key.clone(),
            state: machine.state(),
            generation: machine.generation(),
            consecutive_failures: machine.consecutive_failures(),
            windows: machine.windows(now),
            in_flight: sums.started.saturating_sub(ended),
            half_open: machine.half_open(),
            open_for: machine.open_for(now),
            retry_after: wait.filter(|wait| !wait.is_zero()),
            probe_due: wait.is_some_and(|wait| wait.is_zero()),
            last_failure: machine.last_failure(),
            opened_in_a_row: machine.opened_in_a_row(),
            totals: Totals {
                started: sums.started,
                success,
                failure: totals.failure,
                ignored: totals.ignored,
                cancelled: sums.cancelled,
                late: totals.late,
                rejected: totals.rejected,
                failures_by_kind: totals.failures_by_kind(),
            },
            history: machine
                .history()
                .map(|step| {
                    let age = now.since(Tick::ZERO.after(step.at));
                    let at = wall.checked_sub(age).unwrap_or(wall);
                    Transition {
                        subject: core.site.subject(&core.key),
                        step: std::sync::Arc::clone(step),
                        at,
                    }
                })
                .collect(),
        }
    }
}

/// For the registry and the middleware.
impl CircuitBreaker {
    /// Shows a new breaker to whoever counts. Runs foreign code.
    pub(crate) fn announce(&self) {
        self.core().announce();
    }

    /// Admits a call of a closed breaker, unless the clock would have to be read: calls no foreign code, so that it may
    /// run under a lock.
    #[inline]
    pub(crate) fn admit_untimed(&self) -> Option<Permit> {
        if self.core().times_calls {
            None
        } else {
            self.admit_closed(Tick::ZERO)
        }
    }

    /// Admits a call in any state. `patience` is how long the call itself may take, if it said so.
    pub(crate) fn admit(&self, patience: Option<Duration>) -> Result<Permit, CircuitOpenError> {
        let core = self.core();
        let now = if core.times_calls { core.site.now() } else { Tick::ZERO };
        match self.admit_closed(now) {
            Some(permit) => Ok(permit),
            None => core.admit(patience, |ticket, now| {
                Permit::new(self.handle.stripes.lease(), ticket, now)
            }),
        }
    }

    /// Admits a call if the breaker is closed, and asks for nothing otherwise.
    pub(crate) fn admit_if_closed(&self) -> Option<Permit> {
        self.admit_closed(self.core().site.now())
    }

    #[inline]
    fn admit_closed(&self, now: Tick) -> Option<Permit> {
        let ticket = self.core().admit_closed()?;
        Some(Permit::new(self.handle.stripes.lease(), ticket, now))
    }

    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.state() == State::Closed
    }

    /// The rejection that a call would get now. Takes no slot and changes nothing.
    pub(crate) fn peek(&self) -> Option<CircuitOpenError> {
        self.core().peek()
    }

    /// Rejects a call that asked for no permit, if a call would be rejected now; counts and tells it.
    pub(crate) fn reject(&self) -> Option<CircuitOpenError> {
        self.core().reject()
    }

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

    #[inline]
    fn core(&self) -> &Core {
        self.handle.stripes.core()
    }
}

impl fmt::Debug for CircuitBreaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CircuitBreaker")
            .field("key", self.key())
            .field("state", &self.state())
            .finish()
    }
}
