//! A verdict of a call that was admitted in an earlier state changes nothing, and is counted as late.

use std::time::Duration;

use reqwest_circuit_breaker::{CircuitBreakerConfig, CircuitSnapshot, State, TripPolicy};

use crate::fixture::{F, Fixture, N, S, half_of_ten, secs};

/// All that a late verdict must leave as it was.
fn without_totals(mut snapshot: CircuitSnapshot) -> String {
    snapshot.totals = Default::default();
    snapshot.in_flight = 0;
    format!("{snapshot:?}")
}

#[test]
fn a_failure_from_closed_does_not_decide_for_the_probe() {
    let it = Fixture::five();
    let old = it.permit();
    let it = it.opened();
    let probe = it.at(31).probe();
    it.at(32);
    old.record(F);
    assert_eq!((it.state(), it.totals().late), (State::HalfOpen, 1));
    probe.record(S);
    assert_eq!(it.state(), State::Closed, "the probe decides");
}

#[test]
fn a_success_from_closed_does_not_decide_for_the_probe() {
    let it = Fixture::five();
    let old = it.permit();
    let it = it.opened();
    let probe = it.at(31).probe();
    old.record(S);
    assert_eq!((it.state(), it.totals().late), (State::HalfOpen, 1));
    probe.record(F);
    assert_eq!(it.state(), State::Open, "the probe decides");
}

#[test]
fn a_success_from_closed_does_not_close_an_open_breaker() {
    let it = Fixture::five();
    let old = it.permit();
    let it = it.opened();
    it.at(40);
    old.record(S);
    assert_eq!((it.state(), it.snapshot().probe_due), (State::Open, true));
}

#[test]
fn a_call_from_the_last_closed_state_counts_nothing_in_the_next() {
    for late in [S, F, N] {
        let it = Fixture::new(
            CircuitBreakerConfig::builder()
                .trip_on(TripPolicy::consecutive_failures(5))
                .trip_on(TripPolicy::failure_rate(50).over_last_calls(10)),
        );
        let old = it.permit();
        let it = it.opened();
        it.at(31).probe().record(S);
        it.repeat(3, F);
        let before = without_totals(it.snapshot());
        old.record(late);
        assert_eq!(without_totals(it.snapshot()), before, "{late:?}");
        assert_eq!(it.totals().late, 1);
        it.repeat(1, F);
        assert_eq!(it.state(), State::Closed, "four");
        it.repeat(1, F);
        assert_eq!(it.state(), State::Open, "five");
    }
}

#[test]
fn late_failures_move_neither_the_deadline_nor_the_backoff() {
    let it = Fixture::new(CircuitBreakerConfig::builder().recovery_backoff(2, secs(600)));
    let late: Vec<_> = (0..15).map(|_| it.permit()).collect();
    let it = it.opened();
    for (n, permit) in late.into_iter().enumerate() {
        it.at(n as u64 + 1);
        permit.record_with_retry_after(F, secs(3600));
    }
    let snapshot = it.snapshot();
    assert_eq!(
        (snapshot.retry_after, snapshot.opened_in_a_row, snapshot.totals.late),
        (Some(secs(15)), 1, 15)
    );
    assert_eq!(it.events.path(), "closed>open");
    it.at(30).probe().record(F);
    assert_eq!(it.snapshot().retry_after, Some(secs(60)), "the second opening in a row");
}

#[test]
fn verdicts_from_before_a_reset_are_late() {
    let it = Fixture::five();
    let old = it.permit();
    it.repeat(4, F);
    it.at(1).breaker.reset();
    it.at(2);
    old.record(F);
    let snapshot = it.snapshot();
    assert_eq!(
        (snapshot.consecutive_failures, snapshot.state, snapshot.totals.late),
        (0, State::Closed, 1)
    );
}

#[test]
fn a_success_from_before_a_reset_does_not_break_the_new_run() {
    let it = Fixture::five();
    let old = it.permit();
    it.breaker.reset();
    it.repeat(4, F);
    old.record(S);
    assert_eq!(it.snapshot().consecutive_failures, 4);
    it.repeat(1, F);
    assert_eq!(it.state(), State::Open);
}

#[test]
fn a_quiet_breaker_tells_a_late_success_too() {
    let it = Fixture::five();
    let old = it.permit();
    it.breaker.reset();
    old.record(S);
    assert_eq!(
        it.ends(),
        [0, 0, 0, 0, 1],
        "nothing else happened, and still it is late"
    );
}

#[test]
fn a_probe_of_the_last_half_open_phase_decides_nothing_in_the_next() {
    let it = Fixture::new(CircuitBreakerConfig::builder().half_open_max_calls(2)).opened();
    let (first, old) = (it.at(30).probe(), it.probe());
    first.record(F);
    let new = it.at(60).probe();
    old.record(S);
    assert_eq!(
        (it.state(), it.half_open().in_flight, it.totals().late),
        (State::HalfOpen, 1, 1)
    );
    new.record(S);
    assert_eq!(it.state(), State::Closed);
}

#[test]
fn a_probe_of_the_last_half_open_phase_frees_no_slot_in_the_next() {
    for drops in [true, false] {
        let it = Fixture::new(CircuitBreakerConfig::builder().half_open_max_calls(2)).opened();
        let (first, old) = (it.at(30).probe(), it.probe());
        first.record(F);
        let slots = (it.at(60).probe(), it.probe());
        if drops {
            drop(old)
        } else {
            old.record(N)
        }
        assert_eq!(it.half_open().in_flight, 2);
        assert!(!it.breaker.would_admit());
        drop(slots);
    }
}

#[test]
fn a_second_probe_of_a_phase_that_closed_is_late() {
    let it = Fixture::new(CircuitBreakerConfig::builder().half_open_max_calls(3)).opened();
    let probes = [it.at(30).probe(), it.probe(), it.probe()];
    let [first, second, third] = probes;
    first.record(S);
    assert_eq!(it.state(), State::Closed);
    second.record(F);
    third.record(F);
    let snapshot = it.snapshot();
    assert_eq!((snapshot.consecutive_failures, snapshot.totals.late), (0, 2));
}

#[test]
fn failures_on_old_connections_after_a_recovery_do_not_open_again() {
    let it = Fixture::new(half_of_ten()).opened();
    it.at(31).probe().record(S);
    it.repeat(3, F).repeat(20, S);
    assert_eq!(it.state(), State::Closed, "old counts are gone, and the minimum holds");
}

#[test]
fn by_hand_every_move_fences_the_calls_in_flight() {
    type Move = fn(&reqwest_circuit_breaker::CircuitBreaker);
    let moves: [Move; 4] = [
        |breaker| breaker.force_open(),
        |breaker| breaker.disable(),
        |breaker| breaker.reset(),
        |breaker| breaker.trip(Duration::from_secs(1)),
    ];
    for (n, by_hand) in moves.into_iter().enumerate() {
        for late in [S, F, N] {
            for probing in [false, true] {
                let it = Fixture::five();
                let call = it.permit();
                let probe = probing.then(|| {
                    it.repeat(5, F);
                    it.at(30).probe()
                });
                by_hand(&it.breaker);
                let before = without_totals(it.snapshot());
                call.record(late);
                let ended = 1 + u64::from(probing);
                if let Some(probe) = probe {
                    probe.record(late);
                }
                assert_eq!(
                    without_totals(it.snapshot()),
                    before,
                    "move {n}, {late:?}, probing {probing}"
                );
                assert_eq!(it.totals().late, ended);
            }
        }
    }
}
