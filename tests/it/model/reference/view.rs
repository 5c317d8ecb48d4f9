//! What there is to see of the naive breaker, counted anew each time.

use std::time::Duration;

use reqwest_circuit_breaker::{RejectReason, State};

use super::super::settings::{Policy, Rate, Span};
use super::{Counted, END, Reference, Rejection, Ticket, Window};

const BUCKETS: u128 = 32;

impl Reference {
    pub(in crate::model) fn wait(&self, now: u128) -> Duration {
        nanos(self.deadline.start().saturating_sub(now))
    }

    pub(in crate::model) fn is_due(&self, now: u128) -> bool {
        self.state == State::Open && *self.deadline.start() <= now
    }

    pub(in crate::model) fn deadline(&self) -> u128 {
        *self.deadline.start()
    }

    /// Probes that hold a slot, that succeeded, that failed.
    pub(in crate::model) fn half_open(&self) -> Option<(u32, u32, u32)> {
        let phase = (self.slots.len() as u32, self.probes_succeeded, self.probes_failed);
        (self.state == State::HalfOpen).then_some(phase)
    }

    pub(in crate::model) fn oldest_counted(&self) -> Option<u128> {
        self.counted.first().map(|counted| counted.at)
    }

    pub(in crate::model) fn would_admit(&self, now: u128) -> bool {
        self.settings.report_only || self.is_due(now) || self.rejection(now).is_none()
    }

    pub(in crate::model) fn open_for(&self, now: u128) -> Option<Duration> {
        let is_open = matches!(self.state, State::Open | State::HalfOpen | State::ForcedOpen);
        is_open.then(|| nanos(now.saturating_sub(self.opened_at)))
    }

    pub(in crate::model) fn windows(&self, now: u128) -> Vec<Window> {
        self.settings.rates().map(|rate| self.window(rate, now)).collect()
    }

    /// Why a caller would be rejected, if the breaker is not open with its probe due.
    pub(super) fn rejection(&self, now: u128) -> Option<Rejection> {
        match self.state {
            State::Open => Some((RejectReason::Open, Some(self.wait(now)))),
            State::ForcedOpen => Some((RejectReason::ForcedOpen, None)),
            State::HalfOpen => {
                let free = self.slots.len() < self.settings.max_calls;
                let overdue = self.slots.iter().any(|probe| self.is_overdue(probe, now));
                (!free && !overdue).then_some((RejectReason::ProbeInFlight, None))
            }
            _ => None,
        }
    }

    pub(super) fn is_overdue(&self, probe: &Ticket, now: u128) -> bool {
        now.saturating_sub(probe.admitted) >= self.settings.probe_timeout.as_nanos()
    }

    pub(super) fn trips(&self, now: u128) -> bool {
        self.settings.policies.iter().any(|policy| match policy {
            Policy::Consecutive(n) => self.run >= *n,
            Policy::Rate(rate) => {
                let window = self.window(rate, now);
                let part = if rate.slower_than.is_some() {
                    window.slow_calls
                } else {
                    window.failures
                };
                window.calls >= rate.minimum as u64 && part * 10_000 >= window.calls * u64::from(rate.basis_points)
            }
        })
    }

    pub(super) fn window(&self, rate: &Rate, now: u128) -> Window {
        let seen: Vec<&Counted> = match rate.span {
            Span::Calls(n) => self.counted.iter().rev().take(n).collect(),
            Span::Time(window) => {
                let width = (END.min(window.as_nanos()) / BUCKETS).max(1);
                let youngest = self.counted.iter().map(|counted| counted.at).fold(now, u128::max) / width;
                let covers = |counted: &&Counted| counted.at / width + BUCKETS > youngest;
                self.counted.iter().filter(covers).collect()
            }
        };
        let is_slow = |counted: &Counted| rate.slower_than.is_some_and(|limit| counted.elapsed > limit.as_nanos());
        let calls = seen.len() as u64;
        let failures = seen.iter().filter(|counted| counted.failed).count() as u64;
        let slow_calls = seen.iter().filter(|counted| is_slow(counted)).count() as u64;
        let percent = |part: u64| (calls >= rate.minimum as u64).then(|| part as f64 * 100.0 / calls as f64);
        Window {
            calls,
            failures,
            slow_calls,
            failure_rate: percent(failures),
            slow_call_rate: rate.slower_than.and_then(|_| percent(slow_calls)),
        }
    }
}

fn nanos(nanos: u128) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}
