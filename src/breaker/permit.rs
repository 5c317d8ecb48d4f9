//! The right to make one call.

use std::time::Duration;

use super::clock::Tick;
use super::machine::Ticket;
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
    /// Taken out where the call ends. What is taken out is handed on by its pieces: as long as nobody gets a reference to
    /// the whole, the quiet path keeps it in registers.
    call: Option<Call>,
}

/// A call under way.
#[derive(Debug)]
struct Call {
    lease: Lease,
    ticket: Ticket,
    admitted: Tick,
}

impl Permit {
    #[inline]
    pub(super) fn new(lease: Lease, ticket: Ticket, admitted: Tick) -> Self {
        let call = Call {
            lease,
            ticket,
            admitted,
        };
        Self { call: Some(call) }
    }

    /// Ends the call with its verdict.
    #[inline(always)]
    pub fn record(mut self, verdict: Verdict) {
        if let Some(call) = self.call.take() {
            if !matches!(verdict, Verdict::Success) || !call.lease.count_quiet_success(call.ticket) {
                settle(call.lease, call.ticket, call.admitted, verdict, None);
            }
        }
    }

    /// Ends the call with its verdict and the upstream's wish to be left alone for a while.
    ///
    /// The wish lengthens the opening that this verdict makes, if it makes one, up to
    /// [`honor_retry_after`](crate::CircuitBreakerConfigBuilder::honor_retry_after). Otherwise it is as
    /// [`record`](Self::record).
    pub fn record_with_retry_after(mut self, verdict: Verdict, retry_after: Duration) {
        self.settle(verdict, Some(retry_after));
    }

    /// Returns `true` if this call is a probe of a half-open breaker.
    pub fn is_probe(&self) -> bool {
        self.call.as_ref().is_some_and(|call| call.ticket.probe.is_some())
    }

    /// The key of the breaker, until the call ends.
    pub(crate) fn key(&self) -> Option<&CircuitKey> {
        self.call.as_ref().map(|call| call.lease.core().key())
    }

    /// The key of the breaker that this call is a probe of.
    pub(crate) fn probed_key(&self) -> Option<&CircuitKey> {
        self.key().filter(|_| self.is_probe())
    }

    /// Ends the call with its verdict and, if there is one, the upstream's wish.
    pub(crate) fn record_with(self, verdict: Verdict, retry_after: Option<Duration>) {
        match retry_after {
            None => self.record(verdict),
            Some(wish) => self.record_with_retry_after(verdict, wish),
        }
    }

    fn settle(&mut self, verdict: Verdict, retry_after: Option<Duration>) {
        // The clock may panic: the call is taken out only after it was read, so that unwinding still gives a slot back.
        let now = self.call.as_ref().map(|call| call.lease.core().site.now());
        if let (Some(call), Some(now)) = (self.call.take(), now) {
            let core = call.lease.core();
            core.settle(call.ticket, verdict, retry_after, call.admitted, now);
        }
    }
}

/// Ends a call with a verdict that may change more than a total.
#[cold]
fn settle(lease: Lease, ticket: Ticket, admitted: Tick, verdict: Verdict, retry_after: Option<Duration>) {
    Permit::new(lease, ticket, admitted).settle(verdict, retry_after);
}

/// Ends a call that was given up: as a failure, if it was given up late.
#[cold]
fn cancel(lease: Lease, ticket: Ticket, admitted: Tick) {
    let core = lease.core();
    let mut given_up = Some(ticket);
    if let Some(limit) = core.config.abandoned_after.filter(|_| !std::thread::panicking()) {
        // A drop never panics, whatever the clock does.
        contained(|| {
            let now = core.site.now();
            if now.since(admitted) >= limit {
                given_up = None;
                core.settle(ticket, Verdict::Failure(FailureKind::Abandoned), None, admitted, now);
            }
        });
    }
    let Some(ticket) = given_up else { return };
    if ticket.probe.is_some() {
        core.release(ticket);
    }
    lease.count_cancelled();
}

impl Drop for Permit {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(call) = self.call.take() {
            cancel(call.lease, call.ticket, call.admitted);
        }
    }
}
