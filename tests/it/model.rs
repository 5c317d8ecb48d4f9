//! No history breaks the breaker: whatever happens to it, it does what a naive one does that keeps every verdict.
//!
//! `CIRCUIT_BREAKER_HISTORIES=1000000 cargo test --release --test it model` runs more of them. A history that failed is
//! shrunk, printed, and its seed kept in `model/regressions.txt`, which every later run tries first.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{FileFailurePersistence, TestCaseError, TestRunner};
use reqwest_circuit_breaker::{CircuitKey, State};

use self::bench::Bench;
use self::history::{Step, history};
use self::settings::{Settings, settings};

mod bench;
mod choices;
mod clock;
mod history;
mod reference;
mod settings;

const LONGEST: usize = 60;
const WORKERS: u32 = 2;

/// Lives one history and returns what it came through.
fn replay(settings: Settings, steps: &[Step]) -> Result<Vec<String>, TestCaseError> {
    let key: CircuitKey = "https://stock.example".parse().expect("a key");
    let mut bench = Bench::new(settings, &key);
    for step in steps {
        bench.take(step)?;
    }
    bench.finish()
}

fn histories() -> u32 {
    let asked = std::env::var("CIRCUIT_BREAKER_HISTORIES");
    asked.map_or(20_000, |n| n.parse().expect("CIRCUIT_BREAKER_HISTORIES is a number"))
}

#[test]
fn every_history_of_every_config_is_as_the_naive_breaker_has_it() {
    let config = ProptestConfig {
        cases: histories().div_ceil(WORKERS),
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(
            "tests/it/model/regressions.txt",
        ))),
        ..ProptestConfig::default()
    };
    let work = || {
        let each = |(settings, steps): (Settings, Vec<Step>)| replay(settings, &steps).map(drop);
        let outcome = TestRunner::new(config.clone()).run(&(settings(), history(LONGEST)), each);
        outcome.map_err(|failure| failure.to_string())
    };
    let outcomes = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().expect("a worker"))
            .collect::<Vec<_>>()
    });
    for outcome in outcomes {
        outcome.unwrap();
    }
}

/// The test above is worth what its histories come through.
#[test]
fn the_histories_get_around() {
    let mut runner = TestRunner::deterministic();
    let mut seen = BTreeSet::new();
    for _ in 0..2_000 {
        let (settings, steps) = (settings(), history(LONGEST)).new_tree(&mut runner).unwrap().current();
        seen.extend(replay(settings, &steps).unwrap());
    }
    let own_moves = [
        (State::Closed, State::Open, "tripped"),
        (State::Open, State::HalfOpen, "recovery_due"),
        (State::HalfOpen, State::Closed, "probes_succeeded"),
        (State::HalfOpen, State::Open, "probes_failed"),
    ];
    let states = [
        State::Closed,
        State::Open,
        State::HalfOpen,
        State::ForcedOpen,
        State::Disabled,
    ];
    let by_hand = states.into_iter().flat_map(|from| {
        let possible = move |to: &State| match to {
            State::Closed => true,
            State::Open => !matches!(from, State::ForcedOpen | State::Disabled),
            State::HalfOpen => false,
            to => *to != from,
        };
        states.into_iter().filter(possible).map(move |to| (from, to, "manual"))
    });
    for (from, to, reason) in own_moves.into_iter().chain(by_hand) {
        assert!(
            seen.remove(&format!("{from} to {to}: {reason}")),
            "no history went from {from} to {to}: {reason}"
        );
    }
    for other in ["open", "probe_in_flight", "forced_open"] {
        for enforced in [true, false] {
            let rejected = format!("rejected: {other}, enforced: {enforced}");
            assert!(seen.remove(&rejected), "no history had a call {rejected}");
        }
    }
    for verdict in [
        "Success",
        "Ignored",
        "Failure(Slow)",
        "Failure(Timeout)",
        "Failure(Abandoned)",
        "Failure(Status(503))",
    ] {
        assert!(seen.remove(&format!("probed: {verdict}")), "no probe said {verdict}");
    }
    for sum in ["ignored", "cancelled", "late", "slow_calls"] {
        assert!(seen.remove(sum), "no history counted {sum}");
    }
    assert_eq!(seen, BTreeSet::new(), "and nothing else happens");
}
