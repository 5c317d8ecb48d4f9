//! A circuit breaker that is nothing but right: it keeps every verdict and counts anew whenever somebody asks.
//!
//! Instants are nanoseconds since the registry began. What the real breaker does with rings, packed words and atomics,
//! this one does with lists.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use reqwest_circuit_breaker::{FailureKind, RejectReason, State, TransitionReason, Verdict};

use super::settings::Settings;

mod moves;
mod view;

/// Time ends here, 584 years after the registry began.
const END: u128 = u64::MAX as u128;

/// What a listener is told.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Told {
    Moved(Move),
    Rejected(RejectReason, Option<Duration>, bool),
    Probed(Verdict),
}

/// Why not, and how long to wait.
type Rejection = (RejectReason, Option<Duration>);

/// A transition, with the numbers from before the move.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Move {
    pub(super) from: State,
    pub(super) to: State,
    pub(super) generation: u64,
    pub(super) reason: TransitionReason,
    pub(super) run: u32,
    pub(super) windows: Vec<Window>,
    pub(super) open_for: Option<Duration>,
    pub(super) rejected: u64,
    pub(super) last_failure: Option<FailureKind>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Window {
    pub(super) calls: u64,
    pub(super) failures: u64,
    pub(super) slow_calls: u64,
    pub(super) failure_rate: Option<f64>,
    pub(super) slow_call_rate: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ticket {
    id: u64,
    generation: u64,
    pub(super) admitted: u128,
    role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Role {
    Call,
    Probe,
    /// Would have been rejected, but nothing is under `report_only`.
    Unheard,
}

impl Ticket {
    pub(super) fn is_probe(self) -> bool {
        self.role == Role::Probe
    }
}

/// One verdict that counted while closed.
#[derive(Clone, Copy, Debug)]
struct Counted {
    at: u128,
    elapsed: u128,
    failed: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sums {
    pub(super) started: u64,
    pub(super) success: u64,
    pub(super) failure: u64,
    pub(super) ignored: u64,
    pub(super) cancelled: u64,
    pub(super) late: u64,
    pub(super) rejected: u64,
    pub(super) by_kind: BTreeMap<&'static str, u64>,
}

pub(super) struct Reference {
    settings: Settings,
    pub(super) state: State,
    pub(super) generation: u64,
    /// Failures in a row.
    pub(super) run: u32,
    counted: Vec<Counted>,
    pub(super) opened_in_a_row: u32,
    opened_at: u128,
    /// The deadline of an opening, which jitter and rounding leave a little open.
    deadline: RangeInclusive<u128>,
    rejected_since_opening: u64,
    pub(super) last_failure: Option<FailureKind>,
    /// The probes that hold a slot, oldest first.
    slots: Vec<Ticket>,
    probes_succeeded: u32,
    probes_failed: u32,
    pub(super) sums: Sums,
    pub(super) told: Vec<Told>,
    next_id: u64,
}

impl Reference {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            settings,
            state: State::Closed,
            generation: 0,
            run: 0,
            counted: Vec::new(),
            opened_in_a_row: 0,
            opened_at: 0,
            deadline: 0..=0,
            rejected_since_opening: 0,
            last_failure: None,
            slots: Vec::new(),
            probes_succeeded: 0,
            probes_failed: 0,
            sums: Sums::default(),
            told: Vec::new(),
            next_id: 0,
        }
    }
}

/// # Calls
impl Reference {
    pub(super) fn admit(&mut self, now: u128) -> Result<Ticket, Rejection> {
        if self.is_due(now) {
            self.move_to(State::HalfOpen, TransitionReason::RecoveryDue, now);
        }
        match self.rejection(now) {
            Some((reason, wait)) => {
                self.sums.rejected += 1;
                self.rejected_since_opening += 1;
                let enforced = !self.settings.report_only;
                self.told.push(Told::Rejected(reason, wait, enforced));
                if enforced {
                    Err((reason, wait))
                } else {
                    Ok(self.start(Role::Unheard, now))
                }
            }
            None if self.state == State::HalfOpen => {
                if self.slots.len() == self.settings.max_calls {
                    // All wait equally long for their probe: the one admitted first is the longest overdue.
                    let first = self.slots.iter().map(|probe| probe.admitted).min();
                    let lost = self.slots.iter().position(|probe| Some(probe.admitted) == first);
                    self.slots.remove(lost.expect("somebody holds the slots"));
                }
                let probe = self.start(Role::Probe, now);
                self.slots.push(probe);
                Ok(probe)
            }
            None => Ok(self.start(Role::Call, now)),
        }
    }

    pub(super) fn record(&mut self, ticket: Ticket, verdict: Verdict, wish: Option<Duration>, now: u128) {
        let elapsed = now.saturating_sub(ticket.admitted);
        if !self.is_heard(ticket) {
            self.sums.late += 1;
        } else if ticket.role == Role::Probe {
            self.free_slot(ticket);
            let slow = self
                .settings
                .slower_than()
                .is_some_and(|limit| elapsed > limit.as_nanos());
            let verdict = match verdict {
                Verdict::Success if slow => Verdict::Failure(FailureKind::Slow),
                verdict => verdict,
            };
            self.sum_up(verdict);
            self.told.push(Told::Probed(verdict));
            self.judge_probe(verdict, wish, now);
        } else {
            self.sum_up(verdict);
            if self.state == State::Closed && verdict != Verdict::Ignored {
                let failed = verdict != Verdict::Success;
                self.count_in_run(failed);
                // An instant that comes late belongs to the youngest.
                let at = self.counted.iter().map(|counted| counted.at).fold(now, u128::max);
                self.counted.push(Counted { at, elapsed, failed });
                if self.trips(now) {
                    self.open(TransitionReason::Tripped, wish, now);
                }
            }
        }
    }

    pub(super) fn drop(&mut self, ticket: Ticket, now: u128) {
        let elapsed = now.saturating_sub(ticket.admitted);
        if self
            .settings
            .abandoned_after
            .is_some_and(|limit| elapsed >= limit.as_nanos())
        {
            return self.record(ticket, Verdict::Failure(FailureKind::Abandoned), None, now);
        }
        self.sums.cancelled += 1;
        if self.is_heard(ticket) {
            self.free_slot(ticket);
        }
    }

    fn start(&mut self, role: Role, now: u128) -> Ticket {
        self.sums.started += 1;
        self.next_id += 1;
        Ticket {
            id: self.next_id,
            generation: self.generation,
            admitted: now,
            role,
        }
    }

    fn is_heard(&self, ticket: Ticket) -> bool {
        ticket.generation == self.generation
            && match ticket.role {
                Role::Call => true,
                Role::Probe => self.slots.contains(&ticket),
                Role::Unheard => false,
            }
    }

    fn free_slot(&mut self, ticket: Ticket) {
        self.slots.retain(|probe| *probe != ticket);
    }

    fn sum_up(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Success => self.sums.success += 1,
            Verdict::Failure(kind) => {
                self.sums.failure += 1;
                *self.sums.by_kind.entry(kind.as_str()).or_default() += 1;
                self.last_failure = Some(kind);
            }
            _ => self.sums.ignored += 1,
        }
    }

    fn count_in_run(&mut self, failed: bool) {
        self.run = if failed { self.run + 1 } else { 0 };
    }

    fn judge_probe(&mut self, verdict: Verdict, wish: Option<Duration>, now: u128) {
        match verdict {
            Verdict::Success => {
                self.count_in_run(false);
                self.probes_succeeded += 1;
                if self.probes_succeeded == self.settings.successes {
                    self.move_to(State::Closed, TransitionReason::ProbesSucceeded, now);
                }
            }
            Verdict::Failure(_) => {
                self.count_in_run(true);
                self.probes_failed += 1;
                if self.probes_failed > self.settings.tolerated_failures {
                    self.open(TransitionReason::ProbesFailed, wish, now);
                }
            }
            _ => {}
        }
    }
}
