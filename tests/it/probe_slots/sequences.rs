//! Every short sequence of probes, under every mix of settings, against the rule told in three lines: a success counts for
//! closing, a failure for opening, and anything else for nothing.

use std::time::Duration;

use reqwest_circuit_breaker::{CircuitBreakerConfig, State};

use crate::fixture::{F, Fixture, N, S, assert_panics, secs};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Ending {
    Success,
    Failure,
    Ignored,
    Dropped,
    Panicking,
    /// It succeeds after its timeout, while nobody wanted its slot.
    OverdueSuccess,
    /// It fails after its timeout, while nobody wanted its slot.
    OverdueFailure,
    /// It succeeds after another probe took its slot, which is then dropped.
    LostSuccess,
    /// It fails after another probe took its slot, which is then dropped.
    LostFailure,
    /// A call of the closed state fails while a probe is in flight, which is then dropped.
    StaleFailure,
}

const ENDINGS: [Ending; 10] = [
    Ending::Success,
    Ending::Failure,
    Ending::Ignored,
    Ending::Dropped,
    Ending::Panicking,
    Ending::OverdueSuccess,
    Ending::OverdueFailure,
    Ending::LostSuccess,
    Ending::LostFailure,
    Ending::StaleFailure,
];

#[derive(Clone, Copy, Debug)]
struct Setting {
    slots: u32,
    needed: u32,
    tolerated: u32,
    backoff: bool,
    report_only: bool,
}

fn settings() -> impl Iterator<Item = Setting> {
    (0..24).map(|n| Setting {
        slots: [1, 3][n % 2],
        needed: [1, 2, 3][n / 2 % 3],
        tolerated: [0, 1][n / 6 % 2],
        backoff: n / 12 == 1,
        report_only: n / 3 % 2 == 1,
    })
}

#[test]
fn every_sequence_of_probes_ends_where_the_rule_says() {
    for setting in settings() {
        for first in ENDINGS {
            for second in ENDINGS {
                for third in ENDINGS {
                    follow(setting, &[first, second, third]);
                }
            }
        }
    }
}

fn follow(setting: Setting, endings: &[Ending]) {
    let mut config = CircuitBreakerConfig::builder()
        .half_open_max_calls(setting.slots)
        .half_open_successes(setting.needed)
        .half_open_tolerated_failures(setting.tolerated)
        .report_only(setting.report_only);
    if setting.backoff {
        config = config.recovery_backoff(2, secs(300));
    }
    let it = Fixture::new(config);
    let mut stale: Vec<_> = (0..3).map(|_| it.permit()).collect();
    let it = it.opened();
    let mut now = secs(30);
    it.at_time(now);
    let (mut successes, mut failures, mut late, mut cancelled, mut opened) = (0, 0, 0, 0, 1);
    for (n, ending) in endings.iter().enumerate() {
        let probe = it.probe();
        match ending {
            Ending::Success => probe.record(S),
            Ending::Failure => probe.record(F),
            Ending::Ignored => probe.record(N),
            Ending::Dropped => drop(probe),
            Ending::Panicking => quietly(|| {
                let _probe = probe;
                std::panic::resume_unwind(Box::new(()));
            }),
            Ending::OverdueSuccess | Ending::OverdueFailure => {
                now += secs(61);
                it.at_time(now);
                probe.record(if *ending == Ending::OverdueSuccess { S } else { F });
            }
            Ending::LostSuccess | Ending::LostFailure => {
                now += secs(61);
                it.at_time(now);
                let others: Vec<_> = (0..setting.slots).map(|_| it.probe()).collect();
                probe.record(if *ending == Ending::LostSuccess { S } else { F });
                cancelled += others.len() as u64;
            }
            Ending::StaleFailure => {
                stale.pop().expect("one for each").record(F);
                drop(probe);
            }
        }
        match ending {
            Ending::Success | Ending::OverdueSuccess => successes += 1,
            Ending::Failure | Ending::OverdueFailure => failures += 1,
            Ending::Ignored => {}
            Ending::Dropped | Ending::Panicking => cancelled += 1,
            Ending::LostSuccess | Ending::LostFailure => late += 1,
            Ending::StaleFailure => {
                late += 1;
                cancelled += 1;
            }
        }
        let context = format!("{setting:?} {endings:?} at {n}");
        assert_eq!(
            [it.totals().late, it.totals().cancelled],
            [late, cancelled],
            "{context}"
        );
        if failures > setting.tolerated {
            opened += 1;
            let length = secs(if setting.backoff {
                (30 << (opened - 1)).min(300)
            } else {
                30
            });
            assert_eq!(it.state(), State::Open, "{context}");
            assert_eq!(it.snapshot().retry_after, Some(length), "{context}");
            now += length;
            it.at_time(now);
            (successes, failures) = (0, 0);
        } else if successes >= setting.needed {
            assert_eq!(it.state(), State::Closed, "{context}");
            return;
        } else {
            assert_eq!(it.state(), State::HalfOpen, "{context}");
            let half_open = it.half_open();
            assert_eq!(
                [half_open.in_flight, half_open.successes, half_open.failures],
                [0, successes, failures],
                "{context}"
            );
        }
    }
    drop(stale);
}

/// A panic without its message.
fn quietly(call: impl FnOnce()) {
    assert_panics(call);
}

#[test]
fn nothing_else_than_its_probes_moves_a_half_open_breaker() {
    let it = Fixture::new(
        CircuitBreakerConfig::builder()
            .half_open_max_calls(2)
            .half_open_successes(2),
    );
    let stale: Vec<_> = (0..20).map(|_| it.permit()).collect();
    let it = it.opened();
    it.at(30).probe().record(S);
    for (n, permit) in stale.into_iter().enumerate() {
        permit.record([S, F, N][n % 3]);
    }
    it.at_time(Duration::from_secs(1_000_000));
    let half_open = it.half_open();
    assert_eq!((half_open.successes, half_open.failures), (1, 0));
    assert_eq!(it.snapshot().generation, 2);
}
