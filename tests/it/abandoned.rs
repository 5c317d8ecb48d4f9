//! With `abandoned_after`, a call that was given up late is a failure; without it, never.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use reqwest_circuit_breaker::{
    CircuitBreakerConfig, CircuitBreakerConfigBuilder, Clock, FailureKind, ManualClock, State, TripPolicy, Verdict,
};

use crate::events::Bomb;
use crate::fixture::{F, Fixture, S, assert_panics, secs};

fn after_ten() -> CircuitBreakerConfigBuilder {
    CircuitBreakerConfig::builder().abandoned_after(secs(10))
}

fn abandon(it: &Fixture, after: Duration) {
    let permit = it.permit();
    it.clock.advance(after);
    drop(permit);
}

#[test]
fn without_it_the_latest_drop_is_forgotten() {
    let it = Fixture::five();
    for _ in 0..10 {
        abandon(&it, secs(1_000_000));
    }
    assert_eq!((it.state(), it.ends()), (State::Closed, [0, 0, 0, 10, 0]));
}

#[test]
fn a_drop_at_the_limit_is_a_failure_and_before_it_is_forgotten() {
    let it = Fixture::new(after_ten());
    abandon(&it, secs(10) - Duration::from_nanos(1));
    assert_eq!(it.ends(), [0, 0, 0, 1, 0]);
    abandon(&it, secs(10));
    assert_eq!(it.ends(), [0, 1, 0, 1, 0]);
    assert_eq!(it.snapshot().last_failure, Some(FailureKind::Abandoned));
    assert_eq!(it.totals().failures_by_kind["abandoned"], 1);
}

#[test]
fn abandoned_calls_trip_and_tell() {
    let it = Fixture::new(after_ten());
    for _ in 0..5 {
        abandon(&it, secs(20));
    }
    assert_eq!(it.state(), State::Open);
    assert_eq!(it.events.transitions()[0].last_failure(), Some(FailureKind::Abandoned));
}

#[test]
fn abandoned_calls_are_in_every_window() {
    let policy = TripPolicy::failure_rate(50).over_last_calls(10);
    let slow = TripPolicy::slow_call_rate(100, secs(5)).over_last_calls(10);
    let it = Fixture::new(after_ten().trip_on(policy).trip_on(slow));
    abandon(&it, secs(10));
    let windows = it.snapshot().windows;
    assert_eq!(
        (windows[0].calls, windows[0].failures, windows[1].slow_calls),
        (1, 1, 1)
    );
}

#[test]
fn an_abandoned_probe_opens_again() {
    let it = Fixture::new(after_ten()).opened();
    it.at(30);
    abandon(&it, secs(10));
    assert_eq!((it.state(), it.snapshot().opened_in_a_row), (State::Open, 2));
    assert_eq!(it.events.probes(), [Verdict::Failure(FailureKind::Abandoned)]);
}

#[test]
fn a_probe_dropped_early_only_gives_its_slot_back() {
    let it = Fixture::new(after_ten()).opened();
    it.at(30);
    abandon(&it, secs(9));
    assert_eq!((it.state(), it.half_open().in_flight), (State::HalfOpen, 0));
    assert!(it.events.probes().is_empty());
}

#[test]
fn an_abandoned_call_of_an_earlier_state_is_late() {
    let it = Fixture::new(after_ten());
    let old = it.permit();
    let it = it.opened();
    it.at(30);
    let probe = it.probe();
    drop(old);
    assert_eq!((it.state(), it.ends()), (State::HalfOpen, [0, 5, 0, 0, 1]));
    probe.record(S);
}

#[test]
fn an_abandoned_probe_that_lost_its_slot_is_late() {
    let it = Fixture::new(after_ten()).opened();
    let lost = it.at(30).probe();
    let second = it.at(90).probe();
    drop(lost);
    assert_eq!(
        (it.state(), it.half_open().in_flight, it.totals().late),
        (State::HalfOpen, 1, 1)
    );
    second.record(S);
    assert_eq!(it.state(), State::Closed);
}

#[test]
fn a_panicking_thread_abandons_nothing() {
    let it = Fixture::new(after_ten());
    assert_panics(|| {
        let _permit = it.permit();
        it.clock.advance(secs(100));
        panic!("the call");
    });
    let it = it.opened();
    it.clock.advance(secs(30));
    assert_panics(|| {
        let _probe = it.probe();
        it.clock.advance(secs(100));
        panic!("the probe");
    });
    assert_eq!((it.state(), it.half_open().in_flight), (State::HalfOpen, 0));
    assert_eq!(it.ends(), [0, 5, 0, 2, 0]);
}

#[test]
fn a_late_answer_is_no_abandonment() {
    let it = Fixture::new(after_ten());
    for verdict in [S, F] {
        let permit = it.permit();
        it.clock.advance(secs(100));
        permit.record(verdict);
    }
    assert_eq!(it.ends(), [1, 1, 0, 0, 0]);
    assert_eq!(it.snapshot().last_failure, Some(FailureKind::Timeout));
}

#[test]
fn an_endless_limit_is_legal() {
    let it = Fixture::new(CircuitBreakerConfig::builder().abandoned_after(Duration::MAX));
    abandon(&it, secs(1 << 30));
    assert_eq!(it.ends(), [0, 0, 0, 1, 0]);
}

/// A clock that, while armed, panics with something that panics when it is dropped.
#[derive(Clone, Default)]
struct ArmedClock {
    sound: ManualClock,
    armed: Arc<AtomicBool>,
}

impl Clock for ArmedClock {
    fn now(&self) -> Instant {
        if self.armed.load(Ordering::SeqCst) {
            std::panic::resume_unwind(Box::new(Bomb));
        }
        self.sound.now()
    }
}

#[test]
fn a_drop_never_panics_whatever_the_clock_panics_with() {
    let clock = ArmedClock::default();
    let given = clock.clone();
    let it = Fixture::with(after_ten(), |registry| registry.clock(given));
    let permit = it.permit();
    clock.armed.store(true, Ordering::SeqCst);
    drop(permit);
    clock.armed.store(false, Ordering::SeqCst);
    assert_eq!(it.ends(), [0, 0, 0, 1, 0]);
}
