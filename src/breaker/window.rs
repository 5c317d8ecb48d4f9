//! What a rate is a rate of: exact counts of the last calls.
//!
//! Both kinds of window keep their sums up to date, so that a verdict costs the same whatever the window's length, and
//! neither allocates after it was made.

mod calls;
mod time;

use std::time::Duration;

use self::calls::CallWindow;
use self::time::TimeWindow;
use super::clock::Tick;
use super::config::trip_policy::{RateRule, Span};
use crate::observe::WindowSnapshot;

/// Sums over a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) calls: u64,
    pub(crate) failures: u64,
    pub(crate) slow: u64,
}

/// One counted verdict, as a window sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) failed: bool,
    pub(crate) slow: bool,
}

/// The window of one rate policy.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    rule: RateRule,
    ring: Ring,
}

#[derive(Clone, Debug)]
enum Ring {
    Time(TimeWindow),
    Calls(CallWindow),
}

impl Window {
    pub(crate) fn new(rule: RateRule) -> Self {
        let ring = match rule.span {
            Span::Time(length) => Ring::Time(TimeWindow::new(length)),
            Span::Calls(n) => Ring::Calls(CallWindow::new(n)),
        };
        Self { rule, ring }
    }

    /// Counts a verdict and returns `true` if the policy's limit is reached with it.
    pub(crate) fn record(&mut self, now: Tick, failed: bool, elapsed: Duration) -> bool {
        let slow = self.rule.slower_than.is_some_and(|limit| elapsed > limit);
        let sample = Sample { failed, slow };
        let counts = match &mut self.ring {
            Ring::Time(ring) => ring.record(now, sample),
            Ring::Calls(ring) => ring.record(sample),
        };
        let part = if self.rule.slower_than.is_some() {
            counts.slow
        } else {
            counts.failures
        };
        self.rule.is_reached(part, counts.calls)
    }

    pub(crate) fn clear(&mut self) {
        match &mut self.ring {
            Ring::Time(ring) => ring.clear(),
            Ring::Calls(ring) => ring.clear(),
        }
    }

    pub(crate) fn snapshot(&self, now: Tick) -> WindowSnapshot {
        let counts = match &self.ring {
            Ring::Time(ring) => ring.counts(now),
            Ring::Calls(ring) => ring.counts(),
        };
        let rated = counts.calls >= u64::from(self.rule.minimum);
        let rate = |part: u64| rated.then(|| part as f64 * 100.0 / counts.calls as f64);
        WindowSnapshot {
            calls: counts.calls,
            failures: counts.failures,
            slow_calls: counts.slow,
            failure_rate: rate(counts.failures),
            slow_call_rate: self.rule.slower_than.and_then(|_| rate(counts.slow)),
        }
    }
}
