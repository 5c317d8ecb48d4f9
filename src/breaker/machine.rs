//! The state machine, pure: time is an argument, a verdict is a value, and nothing here locks, waits or calls out.
//!
//! What makes it right is the *generation*. It rises by one with every transition and never otherwise, and every call
//! carries the one it was admitted in. A verdict from another generation is late: it is counted as such and changes
//! nothing else. So no answer from before an outage can close a breaker, no failure from before can extend one, and only
//! the probe of the present half-open phase decides.

mod half_open;
mod moves;
mod reading;
mod tally;

use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use self::tally::MachineTotals;

use self::half_open::HalfOpen;
use super::clock::Tick;
use super::config::CircuitBreakerConfig;
use super::config::trip_policy::Rule;
use super::recovery::Jitter;
use super::window::Window;
use crate::observe::transition::Step;
use crate::state::{RejectReason, TransitionReason};
use crate::verdict::{FailureKind, Verdict};

/// One breaker's state and counts.
#[derive(Debug)]
pub(crate) struct Machine {
    phase: Phase,
    generation: u64,
    consecutive_failures: u32,
    windows: Box<[Window]>,
    opened_at: Tick,
    opened_in_a_row: u32,
    rejected_since_opened: u64,
    last_failure: Option<FailureKind>,
    jitter: Jitter,
    totals: MachineTotals,
    history: VecDeque<Arc<Step>>,
}

#[derive(Debug)]
enum Phase {
    Closed,
    Open { until: Tick },
    HalfOpen(HalfOpen),
    ForcedOpen,
    Disabled,
}

/// What an admitted call carries: the generation of its admission, and its slot if it is a probe. Two plain words, so that
/// it travels in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(crate) generation: u64,
    pub(crate) probe: Option<ProbeId>,
}

/// Tells the probes of one half-open phase apart.
pub(crate) type ProbeId = NonZeroU64;

/// The generation of a call that only `report_only` let through. It never is the present one: its verdict is late from the
/// start.
const NEVER: u64 = u64::MAX;

/// Why a call may not go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rejection {
    pub(crate) reason: RejectReason,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) last_failure: Option<FailureKind>,
}

/// The answer to one call.
#[derive(Debug)]
pub(crate) struct Admission {
    pub(crate) decision: Result<Ticket, Rejection>,
    /// The rejection that `report_only` spared an admitted call.
    pub(crate) spared: Option<Rejection>,
    pub(crate) step: Option<Arc<Step>>,
}

/// What a verdict did.
#[derive(Debug, Default)]
pub(crate) struct Settlement {
    /// The verdict as it was counted; `None` if it came late.
    pub(crate) counted: Option<Verdict>,
    /// Whether it was a probe's.
    pub(crate) of_probe: bool,
    pub(crate) step: Option<Arc<Step>>,
}

impl Machine {
    pub(crate) fn new(config: &CircuitBreakerConfig, jitter_seed: u64) -> Self {
        let windows = config.rules().iter().filter_map(|rule| match rule {
            Rule::Rate(rate) => Some(Window::new(*rate)),
            Rule::Consecutive(_) => None,
        });
        Self {
            phase: Phase::Closed,
            generation: 0,
            consecutive_failures: 0,
            windows: windows.collect(),
            opened_at: Tick::ZERO,
            opened_in_a_row: 0,
            rejected_since_opened: 0,
            last_failure: None,
            jitter: Jitter::new(jitter_seed),
            totals: MachineTotals::default(),
            history: VecDeque::new(),
        }
    }

    // --- a call comes --------------------------------------------------------------------------------------------

    /// Decides about one call. `patience` is how long the call itself may take, if it said so.
    pub(crate) fn admit(&mut self, config: &CircuitBreakerConfig, now: Tick, patience: Option<Duration>) -> Admission {
        if let Some(rejection) = self.rejection(now) {
            self.count_rejection();
            // Nobody is rejected under `report_only`; the call then plays no part in any generation.
            return if config.report_only {
                Admission {
                    decision: Ok(Ticket {
                        generation: NEVER,
                        probe: None,
                    }),
                    spared: Some(rejection),
                    step: None,
                }
            } else {
                Admission {
                    decision: Err(rejection),
                    spared: None,
                    step: None,
                }
            };
        }
        let step = matches!(self.phase, Phase::Open { .. }).then(|| {
            let half_open = Phase::HalfOpen(HalfOpen::new(config.half_open_max_calls));
            self.enter(half_open, TransitionReason::RecoveryDue, now)
        });
        let probe = match &mut self.phase {
            Phase::HalfOpen(phase) => {
                let allowed = config.probe_timeout.max(patience.unwrap_or_default());
                Some(phase.take_slot(now, allowed))
            }
            _ => None,
        };
        Admission {
            decision: Ok(Ticket {
                generation: self.generation,
                probe,
            }),
            spared: None,
            step,
        }
    }

    /// Why a call would be rejected now; `None` if it would be admitted. Changes nothing.
    pub(crate) fn rejection(&self, now: Tick) -> Option<Rejection> {
        let (reason, retry_after) = match &self.phase {
            Phase::Open { until } if now < *until => (RejectReason::Open, Some(until.since(now))),
            Phase::HalfOpen(phase) if !phase.has_slot(now) => (RejectReason::ProbeInFlight, None),
            Phase::ForcedOpen => (RejectReason::ForcedOpen, None),
            Phase::Closed | Phase::Disabled | Phase::Open { .. } | Phase::HalfOpen(_) => return None,
        };
        Some(Rejection {
            reason,
            retry_after,
            last_failure: self.last_failure,
        })
    }

    pub(crate) fn count_rejection(&mut self) {
        self.totals.rejected += 1;
        self.rejected_since_opened += 1;
    }

    // --- a call ends ---------------------------------------------------------------------------------------------

    /// Takes a verdict. `elapsed` is the time since the admission, `retry_after` the upstream's own wish.
    pub(crate) fn settle(
        &mut self,
        config: &CircuitBreakerConfig,
        ticket: Ticket,
        verdict: Verdict,
        retry_after: Option<Duration>,
        elapsed: Duration,
        now: Tick,
    ) -> Settlement {
        if !self.is_current(ticket) {
            self.totals.late += 1;
            return Settlement::default();
        }
        if let Some(probe) = ticket.probe {
            return self.settle_probe(config, probe, verdict, retry_after, elapsed, now);
        }
        self.count(verdict);
        let tripped = matches!(self.phase, Phase::Closed) && self.trips(config, verdict, elapsed, now);
        let step = tripped.then(|| self.open(config, TransitionReason::Tripped, retry_after, now));
        Settlement {
            counted: Some(verdict),
            of_probe: false,
            step,
        }
    }

    /// Gives a dropped call's slot back. That is all a dropped call does.
    pub(crate) fn release(&mut self, ticket: Ticket) {
        if let (true, Some(probe)) = (self.is_current(ticket), ticket.probe) {
            self.free_slot(probe);
        }
    }

    /// Whether a ticket still has a say: its generation is the present one, and a probe's slot is still its own.
    fn is_current(&self, ticket: Ticket) -> bool {
        ticket.generation == self.generation
            && match (ticket.probe, &self.phase) {
                (None, _) => true,
                (Some(probe), Phase::HalfOpen(phase)) => phase.holds(probe),
                (Some(_), _) => false,
            }
    }

    fn free_slot(&mut self, probe: ProbeId) {
        if let Phase::HalfOpen(phase) = &mut self.phase {
            phase.free_slot(probe);
        }
    }

    fn settle_probe(
        &mut self,
        config: &CircuitBreakerConfig,
        probe: ProbeId,
        verdict: Verdict,
        retry_after: Option<Duration>,
        elapsed: Duration,
        now: Tick,
    ) -> Settlement {
        let too_slow = config.slower_than().is_some_and(|limit| elapsed > limit);
        let verdict = match verdict {
            Verdict::Success if too_slow => Verdict::Failure(FailureKind::Slow),
            verdict => verdict,
        };
        self.free_slot(probe);
        self.count(verdict);
        self.count_in_a_row(verdict);
        let Phase::HalfOpen(phase) = &mut self.phase else {
            return Settlement::default();
        };
        phase.count(verdict);
        let step = if phase.failures() > config.half_open_tolerated_failures {
            Some(self.open(config, TransitionReason::ProbesFailed, retry_after, now))
        } else if phase.successes() >= config.half_open_successes {
            Some(self.close(TransitionReason::ProbesSucceeded, now))
        } else {
            None
        };
        Settlement {
            counted: Some(verdict),
            of_probe: true,
            step,
        }
    }

    /// Counts a verdict of the closed state and returns `true` if any policy's limit is reached with it.
    fn trips(&mut self, config: &CircuitBreakerConfig, verdict: Verdict, elapsed: Duration, now: Tick) -> bool {
        let failed = match verdict {
            Verdict::Ignored => return false,
            Verdict::Success => false,
            Verdict::Failure(_) => true,
        };
        self.count_in_a_row(verdict);
        let mut reached = config.rules().iter().any(|rule| match rule {
            Rule::Consecutive(n) => self.consecutive_failures >= *n,
            Rule::Rate(_) => false,
        });
        // No short cut: every window counts every verdict.
        for window in &mut self.windows {
            reached |= window.record(now, failed, elapsed);
        }
        reached
    }

    /// Counts a verdict that is in time, in whatever state.
    fn count(&mut self, verdict: Verdict) {
        self.totals.count(verdict);
        if let Verdict::Failure(kind) = verdict {
            self.last_failure = Some(kind);
        }
    }

    fn count_in_a_row(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Success => self.consecutive_failures = 0,
            Verdict::Failure(_) => self.consecutive_failures = self.consecutive_failures.saturating_add(1),
            Verdict::Ignored => {}
        }
    }
}
