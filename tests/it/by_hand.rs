//! What somebody sets by hand stays until somebody resets it.

use std::time::Duration;

use reqwest_circuit_breaker::{CircuitBreaker, CircuitBreakerConfig, RejectReason, State, TransitionReason};

use crate::fixture::{F, Fixture, N, S, half_of_ten, secs};

type Move = (&'static str, fn(&CircuitBreaker), State);

const MOVES: [Move; 4] = [
    ("force_open", |breaker| breaker.force_open(), State::ForcedOpen),
    ("disable", |breaker| breaker.disable(), State::Disabled),
    ("reset", |breaker| breaker.reset(), State::Closed),
    ("trip", |breaker| breaker.trip(Duration::from_secs(10)), State::Open),
];

/// A breaker in each of the five states.
fn in_every_state() -> Vec<Fixture> {
    let half_open = Fixture::five().opened();
    half_open.at(30).probe().record(N);
    let (forced, disabled) = (Fixture::five(), Fixture::five());
    forced.breaker.force_open();
    disabled.breaker.disable();
    vec![Fixture::five(), Fixture::five().opened(), half_open, forced, disabled]
}

#[test]
fn every_move_leads_where_it_says_from_every_state() {
    for (name, by_hand, to) in MOVES {
        for it in in_every_state() {
            let (from, before) = (it.state(), it.snapshot().generation);
            by_hand(&it.breaker);
            let stays = match name {
                "trip" => matches!(from, State::ForcedOpen | State::Disabled),
                "reset" => false,
                _ => from == to,
            };
            let expected = if stays { (from, before) } else { (to, before + 1) };
            assert_eq!((it.state(), it.snapshot().generation), expected, "{name} from {from}");
            assert_eq!(it.events.transitions().len() as u64, expected.1, "{name} from {from}");
            if !stays {
                let step = it.events.transitions().pop().unwrap();
                assert_eq!(
                    (step.from(), step.to(), step.reason()),
                    (from, to, TransitionReason::Manual)
                );
            }
        }
    }
}

#[test]
fn forced_open_stays_whatever_comes() {
    let it = Fixture::five();
    let call = it.permit();
    it.breaker.force_open();
    call.record(S);
    for second in [0, 1, 31, 1000, 1_000_000] {
        let rejection = it.at(second).rejection();
        assert_eq!(
            (rejection.reason(), rejection.retry_after()),
            (RejectReason::ForcedOpen, None)
        );
        assert!(!it.breaker.would_admit() && !it.snapshot().probe_due);
    }
    it.breaker.trip(secs(1));
    assert_eq!(it.at(2_000_000).rejection().reason(), RejectReason::ForcedOpen);
    it.breaker.reset();
    assert_eq!((it.state(), it.snapshot().consecutive_failures), (State::Closed, 0));
    it.permit().record(S);
}

#[test]
fn disabled_lets_everything_pass_and_counts_nothing_for_tripping() {
    let it = Fixture::new(half_of_ten()).opened();
    it.breaker.disable();
    let generation = it.snapshot().generation;
    it.repeat(100, F);
    let snapshot = it.snapshot();
    assert_eq!((snapshot.state, snapshot.generation), (State::Disabled, generation));
    assert_eq!((snapshot.totals.failure, snapshot.totals.rejected), (110, 0));
    it.repeat(3, S).repeat(2, N);
    drop(it.permit());
    assert_eq!(it.ends(), [3, 110, 2, 1, 0], "its calls are in the totals all the same");
    it.breaker.reset();
    assert_eq!((it.state(), it.snapshot().windows[0].calls), (State::Closed, 0));
    it.repeat(9, F);
    assert_eq!(it.state(), State::Closed);
}

#[test]
fn a_reset_starts_every_count_from_nothing() {
    let it = Fixture::new(half_of_ten());
    it.repeat(9, F);
    it.breaker.reset();
    let snapshot = it.snapshot();
    assert_eq!((snapshot.consecutive_failures, snapshot.windows[0].calls), (0, 0));
    assert_eq!(snapshot.totals.failure, 9, "the totals go on");
    it.repeat(9, F);
    assert_eq!(it.state(), State::Closed);
}

#[test]
fn trip_opens_for_its_time_then_probes_as_usual() {
    let it = Fixture::five();
    it.breaker.trip(secs(7));
    assert_eq!(it.rejection().retry_after(), Some(secs(7)));
    it.at(7).probe().record(S);
    assert_eq!(it.state(), State::Closed);
    it.breaker.trip(secs(7));
    it.at(14).probe().record(F);
    assert_eq!(
        it.rejection().retry_after(),
        Some(secs(30)),
        "a failed probe opens as long as the config says"
    );
}

#[test]
fn trip_sets_a_new_deadline_also_an_earlier_one() {
    let it = Fixture::five().opened();
    it.breaker.trip(secs(100));
    assert_eq!(it.at(30).rejection().retry_after(), Some(secs(70)));
    it.breaker.trip(secs(1));
    it.at(31).probe().record(S);
    it.breaker.trip(Duration::ZERO);
    assert!(it.snapshot().probe_due);
    it.probe().record(S);
    assert_eq!(it.state(), State::Closed);
}

#[test]
fn a_move_while_probes_are_in_flight_takes_their_slots() {
    for (name, by_hand, to) in MOVES {
        for end in [Some(S), Some(F), Some(N), None] {
            let it = Fixture::new(CircuitBreakerConfig::builder().half_open_max_calls(3)).opened();
            let probes = [it.at(30).probe(), it.probe()];
            by_hand(&it.breaker);
            let generation = it.snapshot().generation;
            for probe in probes {
                match end {
                    Some(verdict) => probe.record(verdict),
                    None => drop(probe),
                }
            }
            assert_eq!(
                (it.state(), it.snapshot().generation),
                (to, generation),
                "{name} {end:?}"
            );
            assert!(it.events.probes().is_empty());
            if to == State::Open {
                let slots = [it.at(40).probe(), it.probe(), it.probe()];
                assert_eq!(it.rejection().reason(), RejectReason::ProbeInFlight, "{name} {end:?}");
                drop(slots);
            }
        }
    }
}

#[test]
fn forced_open_tells_how_long_and_how_many_when_it_is_reset() {
    let it = Fixture::five();
    it.breaker.force_open();
    for second in 1..=3 {
        let _ = it.at(second).rejection();
    }
    assert_eq!(it.snapshot().open_for, Some(secs(3)));
    it.breaker.reset();
    let step = it.events.transitions().pop().unwrap();
    assert_eq!((step.open_for(), step.rejected()), (Some(secs(3)), 3));
}
