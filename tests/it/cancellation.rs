//! A call that was given up is forgotten.

use reqwest_circuit_breaker::{CircuitBreakerConfig, State, TripPolicy};

use crate::fixture::{F, Fixture, S, assert_panics, half_of_ten, secs};

#[test]
fn dropped_calls_say_nothing() {
    let it = Fixture::five();
    for _ in 0..100 {
        drop(it.permit());
    }
    assert_eq!(
        (it.state(), it.ends(), it.snapshot().in_flight),
        (State::Closed, [0, 0, 0, 100, 0], 0)
    );
    assert!(it.events.all().is_empty());
}

#[test]
fn dropped_calls_do_not_break_a_run() {
    let it = Fixture::five();
    it.repeat(4, F);
    drop(it.permit());
    assert_eq!(it.snapshot().consecutive_failures, 4);
    it.repeat(1, F);
    assert_eq!(it.state(), State::Open);
}

#[test]
fn dropped_calls_are_not_in_any_window() {
    let it = Fixture::new(half_of_ten().trip_on(TripPolicy::slow_call_rate(50, secs(1)).over_last_calls(10)));
    for _ in 0..20 {
        let permit = it.permit();
        it.clock.advance(secs(5));
        drop(permit);
    }
    assert!(it.snapshot().windows.iter().all(|window| window.calls == 0));
}

#[test]
fn a_dropped_call_of_an_earlier_state_is_cancelled_not_late() {
    let it = Fixture::five();
    let old = it.permit();
    let it = it.opened();
    drop(old);
    assert_eq!(it.ends(), [0, 5, 0, 1, 0]);
}

#[test]
fn a_dropped_probe_leaves_every_number_of_its_phase() {
    let config = CircuitBreakerConfig::builder()
        .half_open_successes(3)
        .half_open_tolerated_failures(1);
    let it = Fixture::new(config).opened();
    it.at(30).probe().record(S);
    it.probe().record(F);
    for _ in 0..10 {
        drop(it.probe());
    }
    let half_open = it.half_open();
    assert_eq!(
        (half_open.successes, half_open.failures, half_open.in_flight),
        (1, 1, 0)
    );
    assert_eq!(it.snapshot().generation, 2);
}

#[test]
fn an_unwinding_call_is_forgotten() {
    let it = Fixture::five();
    for _ in 0..10 {
        assert_panics(|| {
            let _permit = it.permit();
            panic!("the call");
        });
    }
    assert_eq!((it.state(), it.ends()), (State::Closed, [0, 0, 0, 10, 0]));
}

#[test]
fn a_permit_outlives_its_registry() {
    let it = Fixture::five();
    let permit = it.permit();
    let breaker = it.breaker.clone();
    drop(it);
    permit.record(F);
    assert_eq!(breaker.snapshot().totals.failure, 1);
}
