//! Every call is in exactly one total, at every instant.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use reqwest_circuit_breaker::{CircuitBreakerConfig, FailureKind, TripPolicy, Verdict};

use crate::fixture::{F, Fixture, N, S, assert_adds_up, dice, millis, secs};

const KINDS: [FailureKind; 11] = [
    FailureKind::Connect,
    FailureKind::ConnectTimeout,
    FailureKind::Dns,
    FailureKind::Tls,
    FailureKind::Timeout,
    FailureKind::Disconnect,
    FailureKind::Protocol,
    FailureKind::Body,
    FailureKind::Slow,
    FailureKind::Abandoned,
    FailureKind::Other,
];

#[test]
fn failures_are_counted_by_the_name_of_their_kind() {
    let it = Fixture::new(CircuitBreakerConfig::builder().trip_on(TripPolicy::consecutive_failures(u32::MAX)));
    for (n, kind) in KINDS.into_iter().enumerate() {
        it.repeat(n + 1, Verdict::Failure(kind));
    }
    for code in [500, 503, 503, 429] {
        it.calls([Verdict::Failure(FailureKind::Status(
            http::StatusCode::from_u16(code).unwrap(),
        ))]);
    }
    let by_kind = it.totals().failures_by_kind;
    for (n, kind) in KINDS.into_iter().enumerate() {
        assert_eq!(by_kind[kind.as_str()], n as u64 + 1);
    }
    assert_eq!((by_kind["status"], by_kind.len()), (4, 12));
}

#[test]
fn kinds_that_never_happened_are_left_out() {
    let it = Fixture::five();
    assert!(it.totals().failures_by_kind.is_empty());
    it.repeat(1, F);
    assert_eq!(
        it.totals().failures_by_kind.into_iter().collect::<Vec<_>>(),
        [("timeout", 1)]
    );
}

#[test]
fn they_add_up_after_every_single_step() {
    let it = Fixture::new(
        CircuitBreakerConfig::builder()
            .half_open_max_calls(2)
            .abandoned_after(secs(40)),
    );
    let mut permits = Vec::new();
    for step in 0..20_000_u64 {
        let dice = dice(step) >> 33;
        match dice % 8 {
            0..=3 => permits.extend(it.breaker.try_acquire()),
            4 | 5 if !permits.is_empty() => {
                let permit = permits.swap_remove(dice as usize / 64 % permits.len());
                permit.record([F, F, S, N, F][dice as usize / 8 % 5]);
            }
            6 if !permits.is_empty() => drop(permits.swap_remove(dice as usize / 64 % permits.len())),
            _ => match dice / 8 % 97 {
                0 => it.breaker.reset(),
                1 => it.breaker.trip(secs(3)),
                2 => it.breaker.disable(),
                3 => it.breaker.force_open(),
                _ => it.clock.advance(millis(dice / 8 % 9_000)),
            },
        }
        let snapshot = it.snapshot();
        assert_adds_up(&snapshot);
        assert_eq!(snapshot.in_flight, permits.len() as u64);
        if step % 500 == 0 {
            it.breaker.reset();
        }
    }
    let path = it.events.path();
    for step in [
        "closed>open",
        "half_open>open",
        "half_open>closed",
        "half_open>forced_open",
        "half_open>disabled",
    ] {
        assert!(path.contains(step), "{step}");
    }
    assert!(it.ends().iter().all(|end| *end > 0));
}

#[test]
fn they_add_up_at_every_instant_under_threads() {
    let it = Fixture::new(
        CircuitBreakerConfig::builder()
            .half_open_max_calls(2)
            .recovery_timeout(millis(1)),
    );
    let (done, started) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        let callers: Vec<_> = (0..4_usize)
            .map(|thread| {
                let (it, started) = (&it, &started);
                scope.spawn(move || {
                    for n in 0..5000_usize {
                        let dice = dice((n * 4 + thread) as u64);
                        // Every now and then nothing succeeds for a while.
                        let dice = if n / 50 % 2 == 0 { 4 } else { dice };
                        if let Ok(permit) = it.breaker.try_acquire() {
                            started.fetch_add(1, Ordering::Relaxed);
                            match dice % 10 {
                                0..=3 => permit.record(S),
                                4..=7 => permit.record(F),
                                8 => permit.record(N),
                                _ => drop(permit),
                            }
                        } else {
                            it.clock.advance(millis(1));
                        }
                        if n % 1000 == 999 {
                            it.breaker.reset();
                        }
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            let (mut last_started, mut exact) = (0, 0_u32);
            while !done.load(Ordering::Relaxed) {
                let snapshot = it.snapshot();
                assert_adds_up(&snapshot);
                exact += u32::from(snapshot.in_flight <= 4);
                assert!(snapshot.totals.started >= last_started, "totals never go back");
                last_started = snapshot.totals.started;
            }
            assert!(exact > 0, "there are four callers, with a call each");
        });
        let results: Vec<_> = callers.into_iter().map(thread::ScopedJoinHandle::join).collect();
        done.store(true, Ordering::Relaxed);
        assert!(results.iter().all(Result::is_ok));
    });
    let snapshot = it.snapshot();
    assert_eq!((snapshot.in_flight, snapshot.totals.started), (0, started.into_inner()));
    assert!(
        snapshot.totals.rejected > 0 && snapshot.generation > 100,
        "{snapshot:?}"
    );
}
