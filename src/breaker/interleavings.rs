//! Every interleaving of a few threads on one breaker, as loom finds them.
//!
//! `RUSTFLAGS="--cfg breaker_loom" cargo test --release --lib interleavings`

use std::sync::Mutex as Unmodelled;
use std::time::Duration;

use super::*;
use crate::observe::listener::Listeners;
use crate::observe::{Event, Totals};
use crate::state::RejectReason;
use crate::sync::spawn;
use crate::verdict::{FailureKind, Verdict};

const FAILURE: Verdict = Verdict::Failure(FailureKind::Timeout);
const PROBE_TIMEOUT: Duration = Duration::from_secs(60);

/// Runs a model in every order with at most so many preemptions as `LOOM_MAX_PREEMPTIONS` says, 3 unless it is set.
pub(crate) fn in_every_order(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(3);
    builder.check(model);
}

/// A breaker that trips at the `failures`-th failure in a row, its clock, and the moves that its listener heard of.
pub(crate) struct Bench {
    pub(crate) breaker: CircuitBreaker,
    clock: ManualClock,
    moves: std::sync::Arc<Unmodelled<Vec<(State, State)>>>,
}

impl Bench {
    pub(crate) fn new(failures: u32) -> Self {
        let clock = ManualClock::new();
        let moves = std::sync::Arc::new(Unmodelled::new(Vec::new()));
        let mut listeners = Listeners::default();
        let heard = std::sync::Arc::clone(&moves);
        listeners.add(move |event: &Event| {
            if let Event::Transition(transition) = event {
                heard.lock().unwrap().push((transition.from(), transition.to()));
            }
        });
        let config = CircuitBreakerConfig::builder()
            .trip_on(TripPolicy::consecutive_failures(failures))
            .probe_timeout(PROBE_TIMEOUT)
            .build()
            .unwrap();
        let site = Site::new("model".into(), listeners, Box::new(clock.clone()));
        let key = "https://stock.example".parse().unwrap();
        Self {
            breaker: CircuitBreaker::new(key, config.into(), site.into(), 0),
            clock,
            moves,
        }
    }

    /// One whose probe is due.
    fn due() -> Self {
        let bench = Self::new(1);
        bench.breaker.trip(Duration::ZERO);
        bench
    }

    fn moves_to(&self, state: State) -> usize {
        self.moves.lock().unwrap().iter().filter(|(_, to)| *to == state).count()
    }

    /// How many ended; checks that the sums agree and that nothing is in flight.
    fn ended(&self) -> Totals {
        let seen = self.breaker.snapshot();
        let Totals {
            started,
            success,
            failure,
            ignored,
            cancelled,
            late,
            ..
        } = seen.totals;
        assert_eq!(
            (started, seen.in_flight),
            (success + failure + ignored + cancelled + late, 0)
        );
        seen.totals
    }
}

fn call(breaker: &CircuitBreaker, verdict: Verdict) {
    if let Ok(permit) = breaker.try_acquire() {
        permit.record(verdict);
    }
}

#[test]
fn racing_failures_open_once() {
    in_every_order(|| {
        let bench = Bench::new(2);
        let other = bench.breaker.clone();
        let thread = spawn(1, move || {
            call(&other, FAILURE);
            call(&other, FAILURE);
        });
        call(&bench.breaker, FAILURE);
        thread.join().unwrap();
        assert_eq!(bench.breaker.state(), State::Open);
        assert_eq!(bench.moves_to(State::Open), 1);
        let totals = bench.ended();
        assert_eq!((totals.failure, totals.late + totals.rejected), (2, 1));
    });
}

#[test]
fn one_slot_admits_one_probe() {
    in_every_order(|| {
        let bench = Bench::due();
        let other = bench.breaker.clone();
        let thread = spawn(1, move || other.try_acquire());
        let answers = [bench.breaker.try_acquire(), thread.join().unwrap()];
        let admitted = answers
            .iter()
            .flatten()
            .inspect(|permit| assert!(permit.is_probe()))
            .count();
        let rejected = answers.iter().filter_map(|answer| answer.as_ref().err());
        assert!(rejected.map(CircuitOpenError::reason).eq([RejectReason::ProbeInFlight]));
        assert_eq!((admitted, bench.moves_to(State::HalfOpen)), (1, 1));
    });
}

#[test]
fn a_verdict_from_before_a_reset_is_void_and_one_before_it_is_undone() {
    in_every_order(|| {
        let bench = Bench::new(1);
        let permit = bench.breaker.try_acquire().unwrap();
        let thread = spawn(1, move || permit.record(FAILURE));
        bench.breaker.reset();
        thread.join().unwrap();
        let seen = bench.breaker.snapshot();
        assert_eq!((seen.state, seen.consecutive_failures), (State::Closed, 0));
        let totals = bench.ended();
        assert_eq!(totals.failure + totals.late, 1);
        assert_eq!(seen.generation, 1 + totals.failure, "a late failure moves nothing");
    });
}

#[test]
fn a_success_of_closed_never_closes_what_opened_meanwhile() {
    in_every_order(|| {
        let bench = Bench::new(1);
        let permit = bench.breaker.try_acquire().unwrap();
        let thread = spawn(1, move || permit.record(Verdict::Success));
        call(&bench.breaker, FAILURE);
        thread.join().unwrap();
        assert_eq!(bench.breaker.state(), State::Open);
        let totals = bench.ended();
        assert_eq!((totals.success + totals.late, totals.failure), (1, 1));
    });
}

#[test]
fn a_late_release_frees_no_other_probes_slot() {
    in_every_order(|| {
        let bench = Bench::due();
        let old = bench.breaker.try_acquire().unwrap();
        let thread = spawn(1, move || drop(old));
        bench.breaker.trip(Duration::ZERO);
        let new = bench.breaker.try_acquire().unwrap();
        thread.join().unwrap();
        assert!(new.is_probe());
        assert_eq!(
            bench.breaker.try_acquire().unwrap_err().reason(),
            RejectReason::ProbeInFlight
        );
        new.record(Verdict::Success);
        assert_eq!(bench.breaker.state(), State::Closed);
        assert_eq!(bench.ended().cancelled, 1);
    });
}

#[test]
fn a_cancelled_probe_frees_its_slot() {
    in_every_order(|| {
        let bench = Bench::due();
        let probe = bench.breaker.try_acquire().unwrap();
        let other = bench.breaker.clone();
        let thread = spawn(1, move || other.try_acquire());
        drop(probe);
        let second = thread.join().unwrap();
        if second.is_err() {
            drop(second);
            call(&bench.breaker, Verdict::Success);
        } else {
            second.unwrap().record(Verdict::Success);
        }
        assert_eq!(bench.breaker.state(), State::Closed);
        assert_eq!(bench.ended().cancelled, 1);
    });
}

#[test]
fn an_overdue_probe_is_heard_or_loses_its_slot_and_never_both() {
    in_every_order(|| {
        let bench = Bench::due();
        let probe = bench.breaker.try_acquire().unwrap();
        bench.clock.advance(PROBE_TIMEOUT);
        let thread = spawn(1, move || probe.record(Verdict::Success));
        let next = bench
            .breaker
            .try_acquire()
            .expect("a slot is free, overdue or not needed");
        thread.join().unwrap();
        let seen = bench.breaker.snapshot();
        if next.is_probe() {
            assert_eq!((seen.state, seen.totals.late), (State::HalfOpen, 1));
            assert_eq!(seen.half_open.map(|phase| phase.in_flight), Some(1));
        } else {
            assert_eq!((seen.state, seen.totals.late), (State::Closed, 0));
        }
    });
}

#[test]
fn no_count_is_lost_while_counters_spread() {
    in_every_order(|| {
        let bench = Bench::new(1);
        let other = bench.breaker.clone();
        let thread = spawn(1, move || {
            call(&other, Verdict::Success);
            drop(other.try_acquire());
        });
        call(&bench.breaker, Verdict::Success);
        call(&bench.breaker, Verdict::Success);
        thread.join().unwrap();
        let totals = bench.ended();
        assert_eq!((totals.started, totals.success, totals.cancelled), (4, 3, 1));
        assert!(!bench.breaker.in_use(1));
    });
}

#[test]
fn no_reader_sees_more_ended_than_started() {
    in_every_order(|| {
        let bench = Bench::new(2);
        let other = bench.breaker.clone();
        let thread = spawn(1, move || {
            call(&other, Verdict::Success);
            call(&other, FAILURE);
        });
        let Totals {
            started,
            success,
            failure,
            ..
        } = bench.breaker.snapshot().totals;
        assert!(success + failure <= started, "{success} + {failure} of {started}");
        thread.join().unwrap();
        assert_eq!(bench.ended().started, 2);
    });
}

#[test]
fn a_reader_beside_two_writers_sees_no_more_ended_than_started() {
    in_every_order(|| {
        let bench = Bench::new(2);
        let (one, two) = (bench.breaker.clone(), bench.breaker.clone());
        let writers = [
            spawn(1, move || call(&one, Verdict::Success)),
            spawn(2, move || drop(two.try_acquire())),
        ];
        let seen = bench.breaker.snapshot();
        assert!(seen.totals.success + seen.totals.cancelled <= seen.totals.started);
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        assert_eq!(bench.ended().started, 2);
    });
}

/// Whoever calls one after the other has at most one call in flight: two would be a start and an end of two moments.
#[test]
fn a_reader_beside_one_caller_sees_one_moment() {
    in_every_order(|| {
        let bench = Bench::new(1);
        let other = bench.breaker.clone();
        let thread = spawn(1, move || {
            call(&other, Verdict::Success);
            call(&other, Verdict::Success);
        });
        let in_flight = bench.breaker.snapshot().in_flight;
        assert!(in_flight <= 1, "{in_flight}");
        thread.join().unwrap();
        assert_eq!(bench.ended().started, 2);
    });
}
