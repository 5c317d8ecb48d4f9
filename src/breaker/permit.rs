//! The right to make one call.

use std::time::Duration;

use super::clock::Tick;
use super::machine::{Role, Ticket};
use super::stripes::Lease;
use crate::foreign::contained;
use crate::key::CircuitKey;
use crate::verdict::{FailureKind, Verdict};

/// The right to make one call, and the duty to say how it ended.
///
/// A permit ends exactly once: [recorded](Self::record), or dropped. A dropped permit is a call that was given up: it is
/// counted as cancelled, a probe's slot is free again, and nothing else changes. (With
/// [`abandoned_after`](crate::CircuitBreakerConfigBuilder::abandoned_after) a permit dropped late is a failure, unless
/// the thread is panicking.)
///
/// # Examples
///
/// ```
/// use reqwest_circuit_breaker::{CircuitBreakerRegistry, CircuitKey, FailureKind, Verdict};
///
/// let registry = CircuitBreakerRegistry::default();
/// let key: CircuitKey = "https://stock.example".parse()?;
/// let breaker = registry.get_or_create(&key).expect("there is room");
///
/// let permit = breaker.try_acquire()?;
/// // ... any call, HTTP or not ...
/// permit.record(Verdict::Failure(FailureKind::Timeout));
/// assert_eq!(breaker.snapshot().totals.failure, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "a permit that is dropped counts as a cancelled call"]
pub struct Permit {
    lease: Lease,
    /// Handed in where the call ends.
    ticket: Option<Ticket>,
    admitted: Tick,
}

impl Permit {
    #[inline]
    pub(super) fn new(lease: Lease, ticket: Ticket, admitted: Tick) -> Self {
        let ticket = Some(ticket);
        Self {
            lease,
            ticket,
            admitted,
        }
    }

    /// Ends the call with its verdict.
    #[inline]
    pub fn record(mut self, verdict: Verdict) {
        let quiet = |ticket| self.lease.count_quiet_success(ticket);
        if matches!(verdict, Verdict::Success) && self.ticket.is_some_and(quiet) {
            self.ticket = None;
        } else {
            self.settle(verdict, None);
        }
    }

    /// Ends the call with its verdict and the upstream's wish to be left alone for a while.
    ///
    /// The wish lengthens the opening that this verdict makes, if it makes one, up to
    /// [`honor_retry_after`](crate::CircuitBreakerConfigBuilder::honor_retry_after). Otherwise it is as
    /// [`record`](Self::record).
    pub fn record_with_retry_after(self, verdict: Verdict, retry_after: Duration) {
        self.settle(verdict, Some(retry_after));
    }

    /// Returns `true` if this call is a probe of a half-open breaker.
    pub fn is_probe(&self) -> bool {
        matches!(self.ticket.map(|ticket| ticket.role), Some(Role::Probe(_)))
    }

    /// The key of the breaker.
    pub(crate) fn key(&self) -> &CircuitKey {
        &self.lease.core().key
    }

    /// Ends the call with its verdict and, if there is one, the upstream's wish.
    #[inline]
    pub(crate) fn record_with(self, verdict: Verdict, retry_after: Option<Duration>) {
        match retry_after {
            None => self.record(verdict),
            Some(wish) => self.record_with_retry_after(verdict, wish),
        }
    }

    /// By value, so that the quiet path keeps its permit in registers.
    #[cold]
    fn settle(mut self, verdict: Verdict, retry_after: Option<Duration>) {
        self.settle_in_place(verdict, retry_after);
    }

    fn settle_in_place(&mut self, verdict: Verdict, retry_after: Option<Duration>) {
        let core = self.lease.core();
        // The clock may panic: the ticket is handed in only after it was read, so that unwinding still gives a slot back.
        let now = core.site.now();
        if let Some(ticket) = self.ticket.take() {
            core.settle(ticket, verdict, retry_after, self.admitted, now);
        }
    }

    /// Ends a call that was given up.
    #[cold]
    fn cancel(&mut self) {
        if self.may_be_abandoned() {
            // A drop never panics, whatever the clock does.
            contained(|| self.settle_if_abandoned());
        }
        let Some(ticket) = self.ticket.take() else { return };
        if let Role::Probe(_) = ticket.role {
            self.lease.core().release(ticket);
        }
        self.lease.count_cancelled();
    }

    fn may_be_abandoned(&self) -> bool {
        self.lease.core().config.abandoned_after.is_some() && !std::thread::panicking()
    }

    /// Ends it as a failure if it was given up late.
    fn settle_if_abandoned(&mut self) {
        let core = self.lease.core();
        let elapsed = core.site.now().since(self.admitted);
        if core.config.abandoned_after.is_some_and(|limit| elapsed >= limit) {
            self.settle_in_place(Verdict::Failure(FailureKind::Abandoned), None);
        }
    }
}

impl Drop for Permit {
    #[inline]
    fn drop(&mut self) {
        if self.ticket.is_some() {
            self.cancel();
        }
    }
}
