//! A probe slot is held by one probe at a time, and always comes back.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Duration;

use reqwest_circuit_breaker::{CircuitBreakerConfig, FailureKind, Permit, RejectReason, State, Verdict};

use crate::fixture::{F, Fixture, N, S, assert_panics, millis, secs};

mod sequences;

#[test]
fn a_dropped_probe_gives_its_slot_back() {
    let it = Fixture::five().opened();
    let probe = it.at(30).probe();
    it.at(31);
    drop(probe);
    assert_eq!(
        (it.state(), it.snapshot().generation),
        (State::HalfOpen, 2),
        "no transition"
    );
    assert_eq!(it.ends(), [0, 5, 0, 1, 0]);
    assert_eq!(it.events.probes(), [], "a dropped probe tells nobody");
    it.probe().record(S);
    assert_eq!(it.state(), State::Closed);
}

#[test]
fn an_ignored_probe_gives_its_slot_back_without_a_new_wait() {
    let it = Fixture::five().opened();
    it.at(30).probe().record(N);
    assert_eq!(it.state(), State::HalfOpen);
    assert_eq!(it.half_open().in_flight, 0);
    assert!(it.breaker.would_admit());
    it.probe().record(S);
    assert_eq!(it.state(), State::Closed);
    assert_eq!(it.events.probes(), [N, S]);
}

#[test]
fn probes_that_never_reached_the_upstream_decide_nothing() {
    let it = Fixture::five().opened();
    it.at(30);
    for _ in 0..3 {
        it.probe().record(N);
    }
    assert_eq!((it.state(), it.totals().ignored), (State::HalfOpen, 3));
    it.probe().record(F);
    assert_eq!(it.state(), State::Open, "the fourth decides");
}

#[test]
fn a_silent_probe_loses_its_slot_at_its_timeout_and_not_before() {
    let it = Fixture::five().opened();
    let silent = it.at(30).probe();
    assert_eq!(it.at(89).rejection().reason(), RejectReason::ProbeInFlight);
    let last_moment = secs(90) - Duration::from_nanos(1);
    assert_eq!(
        it.at_time(last_moment).rejection().reason(),
        RejectReason::ProbeInFlight
    );
    assert!(!it.breaker.would_admit());
    let second = it.at(90).probe();
    assert_eq!(
        it.rejection().reason(),
        RejectReason::ProbeInFlight,
        "the slot is the second one's now"
    );
    drop((silent, second));
}

#[test]
fn a_lost_probe_frees_nobody_elses_slot() {
    for late in [Some(F), Some(S), Some(N), None] {
        let it = Fixture::five().opened();
        let lost = it.at(30).probe();
        let second = it.at(91).probe();
        it.at(92);
        let cancelled = u64::from(late.is_none());
        match late {
            Some(verdict) => lost.record(verdict),
            None => drop(lost),
        }
        assert_eq!(it.state(), State::HalfOpen, "{late:?}");
        assert_eq!(it.half_open().in_flight, 1);
        assert_eq!(it.rejection().reason(), RejectReason::ProbeInFlight);
        assert_eq!(it.ends(), [0, 5, 0, cancelled, 1 - cancelled]);
        assert_eq!(it.events.probes(), [], "what a lost probe says is no verdict");
        second.record(S);
        assert_eq!(it.state(), State::Closed);
    }
}

#[test]
fn an_overdue_probe_still_counts_while_nobody_took_its_slot() {
    for (verdict, state) in [(S, State::Closed), (F, State::Open), (N, State::HalfOpen)] {
        let it = Fixture::five().opened();
        let overdue = it.at(30).probe();
        assert_eq!(it.at(1000).half_open().in_flight, 1);
        overdue.record(verdict);
        assert_eq!(it.state(), state, "{verdict:?}");
        assert_eq!(it.totals().late, 0);
    }
}

#[test]
fn asking_does_not_take_an_overdue_slot() {
    let it = Fixture::five().opened();
    let overdue = it.at(30).probe();
    assert!(it.at(90).breaker.would_admit());
    let _ = it.snapshot();
    overdue.record(S);
    assert_eq!(it.state(), State::Closed);
}

#[test]
fn the_longest_overdue_of_several_probes_loses_its_slot_first() {
    let it = Fixture::new(
        CircuitBreakerConfig::builder()
            .half_open_max_calls(2)
            .half_open_successes(2),
    )
    .opened();
    let first = it.at(30).probe();
    let second = it.at(40).probe();
    assert_eq!(it.rejection().reason(), RejectReason::ProbeInFlight);
    let third = it.at(100).probe();
    first.record(F);
    assert_eq!(
        (it.state(), it.totals().late),
        (State::HalfOpen, 1),
        "the first was overdue since 90"
    );
    second.record(S);
    third.record(S);
    assert_eq!(
        it.state(),
        State::Closed,
        "the second was overdue too, but nobody took its slot"
    );
}

#[test]
fn a_free_slot_is_taken_before_an_overdue_one() {
    let it = Fixture::new(CircuitBreakerConfig::builder().half_open_max_calls(2)).opened();
    let overdue = it.at(30).probe();
    let other = it.at(100).probe();
    overdue.record(F);
    assert_eq!((it.state(), it.totals().late), (State::Open, 0));
    drop(other);
}

#[test]
fn a_panicking_thread_gives_its_slot_back() {
    let it = Fixture::five().opened();
    it.at(30);
    assert_panics(|| {
        let _probe = it.probe();
        panic!("the probed call");
    });
    assert_eq!((it.state(), it.half_open().in_flight), (State::HalfOpen, 0));
    assert_eq!(it.ends(), [0, 5, 0, 1, 0]);
    it.probe().record(S);
    assert_eq!(it.state(), State::Closed);
}

#[test]
fn of_many_threads_at_the_deadline_one_gets_the_probe() {
    for slots in [1, 3] {
        let it = Fixture::new(CircuitBreakerConfig::builder().half_open_max_calls(slots)).opened();
        it.at(30);
        let (admitted, start) = (Mutex::new(Vec::new()), Barrier::new(64));
        let rejected = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..64 {
                scope.spawn(|| {
                    start.wait();
                    match it.breaker.try_acquire() {
                        Ok(permit) => admitted.lock().unwrap().push(permit),
                        Err(error) => {
                            assert_eq!(error.reason(), RejectReason::ProbeInFlight);
                            assert_eq!(error.retry_after(), None, "no time is known");
                            rejected.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        let admitted = admitted.into_inner().unwrap();
        assert!(admitted.iter().all(Permit::is_probe));
        assert_eq!(admitted.len(), slots as usize);
        assert_eq!(rejected.into_inner(), 64 - slots as usize);
        assert_eq!(it.events.path(), "closed>open open>half_open");
    }
}

#[test]
fn a_hung_upstream_gets_one_probe_per_timeout_and_opening() {
    let it = Fixture::new(CircuitBreakerConfig::builder());
    let mut in_flight: Vec<(Duration, Permit)> = Vec::new();
    let (mut probes, mut opened_at) = (Vec::new(), None);
    // A hundred calls per second; the request's timeout is 30 s.
    for tick in 0..30_000 {
        let now = millis(tick * 10);
        it.at_time(now);
        while in_flight.first().is_some_and(|(start, _)| *start + secs(30) <= now) {
            in_flight.remove(0).1.record(Verdict::Failure(FailureKind::Timeout));
        }
        if let Ok(permit) = it.breaker.try_acquire() {
            if permit.is_probe() {
                let other_probes = in_flight.iter().filter(|(_, permit)| permit.is_probe()).count();
                assert_eq!(other_probes, 0, "a second probe at {now:?}");
                probes.push(now);
            } else {
                assert!(opened_at.is_none(), "an ordinary call at {now:?}, after the opening");
            }
            in_flight.push((now, permit));
        }
        if it.state() != State::Closed {
            opened_at = opened_at.or(Some(now));
        }
    }
    assert!(probes.len() >= 4, "{probes:?}");
    assert!(
        probes.windows(2).all(|pair| pair[1] - pair[0] >= secs(60)),
        "{probes:?}"
    );
    drop(in_flight);
}

#[test]
fn a_slot_count_beyond_all_callers_is_legal() {
    let config = CircuitBreakerConfig::builder()
        .half_open_max_calls(u32::MAX)
        .half_open_successes(u32::MAX);
    let it = Fixture::new(config).opened();
    it.at(30);
    let probes: Vec<Permit> = (0..100).map(|_| it.probe()).collect();
    assert_eq!(it.half_open().in_flight, 100);
    drop(probes);
    assert_eq!(it.half_open().in_flight, 0);
}
