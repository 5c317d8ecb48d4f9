//! A policy trips at its limit, not before it and not after.

use std::time::Duration;

use reqwest_circuit_breaker::{CircuitBreakerConfig, FailureKind, State, TransitionReason, TripPolicy, Verdict};

use crate::fixture::{F, Fixture, N, S, half_of_ten, millis, secs};

fn with(policy: TripPolicy) -> Fixture {
    Fixture::new(CircuitBreakerConfig::builder().trip_on(policy))
}

#[test]
fn the_fifth_failure_in_a_row_trips_by_default() {
    let it = Fixture::five();
    it.repeat(4, F);
    assert_eq!(it.state(), State::Closed);
    it.repeat(1, F);
    assert_eq!(it.state(), State::Open);
    assert_eq!(it.events.transitions()[0].reason(), TransitionReason::Tripped);
}

#[test]
fn a_success_breaks_a_run_and_what_is_ignored_does_not() {
    let it = Fixture::five();
    for _ in 0..100 {
        it.calls([F, F, F, F, S]);
    }
    assert_eq!((it.state(), it.snapshot().consecutive_failures), (State::Closed, 0));
    it.calls([F, N, F, N, F, N, F]);
    assert_eq!(it.snapshot().consecutive_failures, 4);
    it.repeat(1, F);
    assert_eq!(it.state(), State::Open);
}

#[test]
fn a_run_is_of_verdicts_in_the_order_they_came() {
    let it = Fixture::five();
    let slow = it.permit();
    it.repeat(4, F);
    slow.record(S);
    it.repeat(4, F);
    assert_eq!(it.state(), State::Closed, "an old call's success came in between");
}

#[test]
fn a_run_counts_anew_after_closing() {
    let it = Fixture::five().opened();
    it.at(30).probe().record(S);
    it.repeat(4, F);
    assert_eq!(it.state(), State::Closed);
    it.repeat(1, F);
    assert_eq!(it.state(), State::Open);
}

#[test]
fn kinds_of_failure_count_alike() {
    let it = Fixture::five();
    let kinds = [
        FailureKind::Connect,
        FailureKind::Slow,
        FailureKind::Other,
        FailureKind::Abandoned,
        FailureKind::Dns,
    ];
    it.calls(kinds.map(Verdict::Failure));
    assert_eq!(
        (it.state(), it.snapshot().last_failure),
        (State::Open, Some(FailureKind::Dns))
    );
}

#[test]
fn the_call_that_reaches_the_minimum_may_be_a_success() {
    let it = with(TripPolicy::failure_rate(50).minimum_calls(3));
    it.calls([F, F]);
    assert_eq!(it.state(), State::Closed);
    it.calls([S]);
    assert_eq!(it.state(), State::Open);
    let step = &it.events.transitions()[0];
    assert_eq!((step.windows()[0].calls, step.windows()[0].failures), (3, 2));
}

#[test]
fn a_minimum_below_the_count_window_is_enough() {
    let it = with(TripPolicy::failure_rate(50).over_last_calls(100).minimum_calls(10));
    it.repeat(9, F);
    assert_eq!(it.state(), State::Closed);
    it.repeat(1, F);
    assert_eq!(it.state(), State::Open, "at the tenth");
}

#[test]
fn the_limit_itself_trips() {
    for (percent, failures, calls, trips) in [
        (50.0, 5, 10, true),
        (50.0, 4, 10, false),
        (50.01, 5, 10, false),
        (33.33, 1, 3, true),
        (33.34, 1, 3, false),
        (66.67, 2, 3, false),
        (66.66, 2, 3, true),
        (100.0, 3, 3, true),
        (100.0, 2, 3, false),
        (0.01, 1, 10_000, true),
        (0.02, 1, 10_000, false),
    ] {
        let it = with(
            TripPolicy::failure_rate(percent)
                .over_last_calls(calls)
                .minimum_calls(calls),
        );
        it.repeat(failures, F).repeat(calls as usize - failures, S);
        assert_eq!(it.state() == State::Open, trips, "{failures} of {calls} at {percent} %");
    }
}

#[test]
fn a_success_may_trip_as_an_old_one_leaves_a_count_window() {
    let it = with(TripPolicy::failure_rate(60).over_last_calls(5).minimum_calls(5));
    it.calls([S, S, F, F, S]);
    assert_eq!(it.state(), State::Closed);
    it.calls([F]);
    assert_eq!(it.state(), State::Open, "S F F S F");
}

#[test]
fn any_of_several_policies_trips() {
    let both = || {
        CircuitBreakerConfig::builder()
            .trip_on(TripPolicy::consecutive_failures(3))
            .trip_on(TripPolicy::failure_rate(50).over_last_calls(10).minimum_calls(10))
    };
    let run = Fixture::new(both());
    run.calls([F, F, F]);
    assert_eq!(run.state(), State::Open);
    let rate = Fixture::new(both());
    rate.calls([F, S, F, S, F, S, F, S, F]);
    assert_eq!(rate.state(), State::Closed);
    rate.calls([S]);
    assert_eq!(rate.state(), State::Open);
}

#[test]
fn the_first_policy_replaces_the_default() {
    let it = Fixture::new(half_of_ten());
    it.repeat(9, F);
    assert_eq!(it.state(), State::Closed, "nine in a row are no matter here");
}

fn slow() -> TripPolicy {
    TripPolicy::slow_call_rate(50, secs(2))
        .over_last_calls(4)
        .minimum_calls(4)
}

fn last(it: &Fixture, length: Duration, verdict: Verdict) {
    let permit = it.permit();
    it.clock.advance(length);
    permit.record(verdict);
}

#[test]
fn calls_are_slow_beyond_the_limit_whatever_their_verdict() {
    let it = with(slow());
    last(&it, secs(2), S);
    last(&it, secs(2), S);
    last(&it, millis(2001), S);
    let window = &it.snapshot().windows[0];
    assert_eq!(
        (window.calls, window.slow_calls, window.failures),
        (3, 1, 0),
        "at the limit is not beyond it"
    );
    last(&it, millis(2001), F);
    assert_eq!(it.state(), State::Open);
}

#[test]
fn a_slow_success_is_a_success_for_a_failure_rate_and_for_a_run() {
    let config = CircuitBreakerConfig::builder()
        .trip_on(TripPolicy::failure_rate(50).over_last_calls(2))
        .trip_on(TripPolicy::consecutive_failures(2))
        .trip_on(slow());
    let it = Fixture::new(config);
    for _ in 0..3 {
        last(&it, secs(9), S);
    }
    assert_eq!((it.state(), it.ends()), (State::Closed, [3, 0, 0, 0, 0]));
    last(&it, secs(9), S);
    assert_eq!(it.state(), State::Open);
    assert_eq!(it.ends(), [4, 0, 0, 0, 0], "and it stays one");
}

#[test]
fn a_slow_probe_is_a_failed_probe() {
    let it = with(slow());
    for _ in 0..4 {
        last(&it, secs(3), S);
    }
    it.clock.advance(secs(30));
    last(&it, millis(2001), S);
    assert_eq!(
        (it.state(), it.snapshot().last_failure),
        (State::Open, Some(FailureKind::Slow))
    );
    assert_eq!(it.events.probes(), [Verdict::Failure(FailureKind::Slow)]);
    assert_eq!(it.totals().failures_by_kind["slow"], 1);
    it.clock.advance(secs(30));
    last(&it, secs(2), S);
    assert_eq!(it.state(), State::Closed, "at the limit is not beyond it");
}

#[test]
fn a_slow_probe_keeps_its_own_fault_and_a_slow_ignored_one_says_nothing() {
    let it = with(slow());
    it.breaker.trip(secs(1));
    it.clock.advance(secs(1));
    last(&it, secs(9), N);
    assert_eq!(it.state(), State::HalfOpen);
    last(&it, secs(9), F);
    assert_eq!(
        (it.state(), it.snapshot().last_failure),
        (State::Open, Some(FailureKind::Timeout))
    );
}

#[test]
fn the_shortest_of_several_slow_limits_judges_a_probe() {
    let it = Fixture::new(
        CircuitBreakerConfig::builder()
            .trip_on(slow())
            .trip_on(TripPolicy::slow_call_rate(90, millis(500))),
    );
    it.breaker.trip(secs(1));
    it.clock.advance(secs(1));
    last(&it, secs(1), S);
    assert_eq!(it.state(), State::Open);
}

#[test]
fn without_a_slow_policy_no_probe_is_too_slow() {
    let it = Fixture::five().opened();
    it.at(30);
    last(&it, secs(1_000_000), S);
    assert_eq!(it.state(), State::Closed);
}

#[test]
fn a_senseless_policy_names_its_setter() {
    let field = |policy: TripPolicy| {
        CircuitBreakerConfig::builder()
            .trip_on(policy)
            .build()
            .unwrap_err()
            .field()
    };
    assert_eq!(
        field(TripPolicy::consecutive_failures(5).over_last(secs(1))),
        "over_last"
    );
    assert_eq!(
        field(TripPolicy::consecutive_failures(5).over_last_calls(9)),
        "over_last_calls"
    );
    assert_eq!(
        field(TripPolicy::consecutive_failures(5).minimum_calls(9)),
        "minimum_calls"
    );
    assert_eq!(
        field(TripPolicy::failure_rate(50).over_last_calls(9).minimum_calls(10)),
        "minimum_calls"
    );
    assert_eq!(field(TripPolicy::failure_rate(0.004)), "failure_rate");
    assert_eq!(field(TripPolicy::failure_rate(100.01)), "failure_rate");
}
