//! The real breaker and the reference, side by side under one clock.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use reqwest_circuit_breaker::{
    CircuitBreaker, CircuitBreakerRegistry, CircuitKey, Event, HalfOpenSnapshot, Permit, State, Transition, Verdict,
    WindowSnapshot,
};

use super::clock::{AnyClock, lock};
use super::history::{Step, Wait};
use super::reference::{Move, Reference, Ticket, Told, Window};
use super::settings::{Settings, Span};

type Checked = Result<(), TestCaseError>;

pub(super) struct Bench {
    settings: Settings,
    clock: AnyClock,
    breaker: CircuitBreaker,
    told: Arc<Mutex<Vec<Told>>>,
    reference: Reference,
    in_flight: Vec<(Permit, Ticket)>,
    history: VecDeque<Move>,
    /// What the history came through.
    seen: BTreeSet<String>,
}

impl Bench {
    pub(super) fn new(settings: Settings, key: &CircuitKey) -> Self {
        let clock = AnyClock::new();
        let told = Arc::new(Mutex::new(Vec::new()));
        let hear = Arc::clone(&told);
        let registry = CircuitBreakerRegistry::builder()
            .config(settings.config())
            .clock(clock.clone())
            .listener(move |event: &Event| lock(&hear).push(told_by(event)))
            .build()
            .expect("a registry");
        Self {
            breaker: registry.get_or_create(key).expect("there is room"),
            reference: Reference::new(settings.clone()),
            settings,
            clock,
            told,
            in_flight: Vec::new(),
            history: VecDeque::new(),
            seen: BTreeSet::new(),
        }
    }

    /// Does one step with both and compares all there is to see.
    pub(super) fn take(&mut self, step: &Step) -> Checked {
        let now = self.clock.ticks();
        match step {
            Step::Admit => self.admit()?,
            Step::Calls(n, verdict) => {
                for _ in 0..*n {
                    let before = self.in_flight.len();
                    self.admit()?;
                    if self.in_flight.len() > before {
                        self.record(before, *verdict, None)?;
                    }
                }
            }
            Step::Record(nth, verdict, wish) => {
                if let Some(index) = nth.checked_rem(self.in_flight.len()) {
                    self.record(index, *verdict, *wish)?;
                }
            }
            Step::Drop(nth) => {
                if let Some(index) = nth.checked_rem(self.in_flight.len()) {
                    let (permit, ticket) = self.in_flight.remove(index);
                    drop(permit);
                    self.reference.drop(ticket, now);
                    self.settle_deadline()?;
                }
            }
            Step::Wait(wait) => self.clock.advance(self.length_of(wait)),
            Step::GoBack(by) => self.clock.go_back(*by),
            Step::ForceOpen => {
                self.breaker.force_open();
                self.reference.force_open(now);
            }
            Step::Disable => {
                self.breaker.disable();
                self.reference.disable(now);
            }
            Step::Reset => {
                self.breaker.reset();
                self.reference.reset(now);
            }
            Step::Trip(length) => {
                self.breaker.trip(*length);
                self.reference.trip(*length, now);
            }
        }
        self.compare()
    }

    /// Drops what is still in flight, and returns what the history came through.
    pub(super) fn finish(mut self) -> Result<Vec<String>, TestCaseError> {
        while !self.in_flight.is_empty() {
            self.take(&Step::Drop(0))?;
        }
        let sums = &self.reference.sums;
        let sums = [
            ("ignored", sums.ignored),
            ("cancelled", sums.cancelled),
            ("late", sums.late),
        ];
        let slow_calls = self
            .breaker
            .snapshot()
            .windows
            .iter()
            .map(|window| window.slow_calls)
            .sum();
        let counted = sums
            .into_iter()
            .chain([("slow_calls", slow_calls)])
            .filter(|(_, n)| *n > 0);
        Ok(counted.map(|(name, _)| name.to_owned()).chain(self.seen).collect())
    }

    fn admit(&mut self) -> Checked {
        let now = self.clock.ticks();
        let expected = self.reference.admit(now);
        match (self.breaker.try_acquire(), expected) {
            (Ok(permit), Ok(ticket)) => {
                prop_assert_eq!(permit.is_probe(), ticket.is_probe());
                self.in_flight.push((permit, ticket));
            }
            (Err(error), Err(rejection)) => {
                let retry_after = rejection.1;
                prop_assert_eq!((error.reason(), error.retry_after()), rejection);
                prop_assert_ne!(retry_after, Some(Duration::ZERO));
                prop_assert_eq!(error.last_failure(), self.reference.last_failure);
            }
            (real, expected) => prop_assert!(false, "admission: {:?}, expected {:?}", real, expected),
        }
        Ok(())
    }

    fn record(&mut self, index: usize, verdict: Verdict, wish: Option<Duration>) -> Checked {
        let now = self.clock.ticks();
        let (permit, ticket) = self.in_flight.remove(index);
        match wish {
            None => permit.record(verdict),
            Some(wish) => permit.record_with_retry_after(verdict, wish),
        }
        self.reference.record(ticket, verdict, wish, now);
        self.settle_deadline()
    }

    fn settle_deadline(&mut self) -> Checked {
        let wait = self.breaker.snapshot().retry_after.unwrap_or_default();
        let within = self.reference.settle_deadline(wait, self.clock.ticks());
        prop_assert!(within, "an opening of {:?}", wait);
        Ok(())
    }

    fn length_of(&self, wait: &Wait) -> Duration {
        let oldest = |nth: &usize| {
            nth.checked_rem(self.in_flight.len())
                .map(|index| self.in_flight[index].1.admitted)
        };
        let after = |start: Option<u128>, length: Option<Duration>| Some(start? + length?.as_nanos());
        let (target, nudge) = match wait {
            Wait::For(length) => return *length,
            Wait::UntilDeadline(nudge) => (Some(self.reference.deadline()), nudge),
            Wait::UntilOverdue(nth, nudge) => (after(oldest(nth), Some(self.settings.probe_timeout)), nudge),
            Wait::UntilSlow(nth, nudge) => (after(oldest(nth), self.settings.slower_than()), nudge),
            Wait::UntilAbandoned(nth, nudge) => (after(oldest(nth), self.settings.abandoned_after), nudge),
            Wait::UntilForgotten(nth, nudge) => {
                let span = self.settings.rates().nth(*nth).map(|rate| rate.span);
                let window = if let Some(Span::Time(window)) = span {
                    Some(window)
                } else {
                    None
                };
                (after(self.reference.oldest_counted(), window), nudge)
            }
        };
        let target = target.unwrap_or_default().saturating_add_signed(i128::from(*nudge));
        let length = target.saturating_sub(self.clock.ticks());
        Duration::from_nanos(u64::try_from(length).unwrap_or(u64::MAX))
    }

    fn compare(&mut self) -> Checked {
        let (now, reference) = (self.clock.ticks(), &mut self.reference);
        let told = std::mem::take(&mut *lock(&self.told));
        prop_assert_eq!(&told, &std::mem::take(&mut reference.told));
        for told in told {
            self.seen.insert(told.to_string());
            if let Told::Moved(step) = told {
                self.history.push_back(step);
            }
        }
        self.history.drain(..self.history.len().saturating_sub(8));

        let seen = self.breaker.snapshot();
        let is_open = reference.state == State::Open;
        prop_assert_eq!(self.breaker.state(), reference.state);
        prop_assert_eq!(self.breaker.would_admit(), reference.would_admit(now));
        prop_assert_eq!((seen.state, seen.generation), (reference.state, reference.generation));
        prop_assert_eq!(seen.consecutive_failures, reference.run);
        prop_assert_eq!(
            seen.windows.iter().map(Window::from).collect::<Vec<_>>(),
            reference.windows(now)
        );
        prop_assert_eq!(seen.in_flight, self.in_flight.len() as u64);
        prop_assert_eq!(seen.open_for, reference.open_for(now));
        prop_assert_eq!(seen.probe_due, reference.is_due(now));
        prop_assert_eq!(
            seen.retry_after,
            (is_open && !seen.probe_due).then(|| reference.wait(now))
        );
        prop_assert_eq!(seen.last_failure, reference.last_failure);
        prop_assert_eq!(seen.opened_in_a_row, reference.opened_in_a_row);
        let phase = |HalfOpenSnapshot {
                         in_flight,
                         successes,
                         failures,
                         ..
                     }| (in_flight, successes, failures);
        prop_assert_eq!(seen.half_open.map(phase), reference.half_open());

        let (totals, sums) = (&seen.totals, &reference.sums);
        prop_assert_eq!(
            (totals.started, totals.success, totals.failure),
            (sums.started, sums.success, sums.failure)
        );
        prop_assert_eq!((totals.ignored, totals.cancelled), (sums.ignored, sums.cancelled));
        prop_assert_eq!((totals.late, totals.rejected), (sums.late, sums.rejected));
        prop_assert_eq!(&totals.failures_by_kind, &sums.by_kind);
        let ended = totals.success + totals.failure + totals.ignored + totals.cancelled + totals.late;
        prop_assert_eq!(totals.started, ended + seen.in_flight);

        prop_assert_eq!(seen.history.len(), self.history.len());
        for (transition, step) in seen.history.iter().zip(&self.history) {
            prop_assert_eq!(&Move::from(transition), step);
        }
        Ok(())
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Moved(step) => write!(f, "{} to {}: {}", step.from, step.to, step.reason),
            Self::Rejected(reason, _, enforced) => write!(f, "rejected: {reason}, enforced: {enforced}"),
            Self::Probed(verdict) => write!(f, "probed: {verdict:?}"),
        }
    }
}

fn told_by(event: &Event) -> Told {
    match event {
        Event::Transition(transition) => Told::Moved(transition.into()),
        Event::Rejected(event) => Told::Rejected(event.reason(), event.retry_after(), event.enforced()),
        Event::ProbeFinished(event) => Told::Probed(event.verdict()),
        event => panic!("no history makes {event:?}"),
    }
}

impl From<&Transition> for Move {
    fn from(transition: &Transition) -> Self {
        Self {
            from: transition.from(),
            to: transition.to(),
            generation: transition.generation(),
            reason: transition.reason(),
            run: transition.consecutive_failures(),
            windows: transition.windows().iter().map(Window::from).collect(),
            open_for: transition.open_for(),
            rejected: transition.rejected(),
            last_failure: transition.last_failure(),
        }
    }
}

impl From<&WindowSnapshot> for Window {
    fn from(window: &WindowSnapshot) -> Self {
        Self {
            calls: window.calls,
            failures: window.failures,
            slow_calls: window.slow_calls,
            failure_rate: window.failure_rate,
            slow_call_rate: window.slow_call_rate,
        }
    }
}
