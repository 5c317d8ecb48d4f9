//! With `idle_timeout`, closed breakers that nobody uses retire when a call passes by.

use std::time::Duration;

use reqwest_circuit_breaker::{CircuitBreakerRegistry, CircuitKey, Event, EvictionReason, ManualClock, State};

use crate::fixture::{Events, F, key, secs};

const TEN_MINUTES: Duration = Duration::from_secs(600);

fn retiring(timeout: Duration) -> (CircuitBreakerRegistry, ManualClock, Events) {
    let (clock, events) = (ManualClock::new(), Events::default());
    let builder = CircuitBreakerRegistry::builder()
        .idle_timeout(timeout)
        .clock(clock.clone());
    (
        builder.listener(events.listener()).build().expect("a registry"),
        clock,
        events,
    )
}

fn nth(n: usize) -> CircuitKey {
    key(&format!("http://h{n}.test"))
}

#[test]
fn the_idle_retire_and_what_is_held_open_stays() {
    let (registry, clock, events) = retiring(TEN_MINUTES);
    for n in 0..1000 {
        registry
            .get_or_create(&nth(n))
            .unwrap()
            .try_acquire()
            .unwrap()
            .record(F);
    }
    registry.get(&nth(500)).unwrap().force_open();
    clock.advance(secs(660));
    assert_eq!(registry.len(), 1000, "there is no timer");
    registry.get_or_create(&nth(2000)).unwrap();
    assert_eq!(registry.len(), 2);
    assert_eq!(registry.get(&nth(500)).unwrap().state(), State::ForcedOpen);
    let reasons = events.all().into_iter().filter_map(|event| match event {
        Event::Evicted(event) => Some(event.reason()),
        _ => None,
    });
    let reasons: Vec<_> = reasons.collect();
    assert_eq!((reasons.len(), registry.stats().evicted), (999, 999));
    assert!(reasons.iter().all(|reason| *reason == EvictionReason::Idle));
}

#[test]
fn by_default_nobody_retires() {
    let clock = ManualClock::new();
    let registry = CircuitBreakerRegistry::builder().clock(clock.clone()).build().unwrap();
    registry.get_or_create(&nth(0)).unwrap();
    clock.advance(Duration::MAX);
    registry.get_or_create(&nth(1)).unwrap();
    assert_eq!(registry.len(), 2);
}

#[test]
fn only_whole_timeouts_count_and_every_use_starts_anew() {
    let (registry, clock, _) = retiring(TEN_MINUTES);
    for n in 0..3 {
        registry.get_or_create(&nth(n)).unwrap();
    }
    clock.advance(secs(599));
    registry.get_or_create(&nth(0)).unwrap();
    assert_eq!(registry.len(), 3);
    clock.advance(secs(1));
    registry.get_or_create(&nth(0)).unwrap();
    assert_eq!(registry.len(), 1);
    assert_eq!(registry.stats().created, 3, "and it is still the same");
    clock.advance(secs(599));
    registry.get_or_create(&nth(9)).unwrap();
    assert!(registry.get(&nth(0)).is_some());
}

#[test]
fn the_idle_are_looked_for_at_most_sixty_four_times_per_timeout() {
    let (registry, clock, _) = retiring(secs(640));
    registry.get_or_create(&nth(0)).unwrap();
    clock.advance(secs(5));
    registry.get_or_create(&nth(1)).unwrap();
    let mut now = 5;
    for (at, idle) in [(640, 1), (645, 1), (649, 1), (650, 0)] {
        clock.advance(secs(at - now));
        now = at;
        registry.get_or_create(&nth(9)).unwrap();
        assert_eq!(registry.len(), idle + 1, "at {at} s");
    }
}

#[test]
fn whoever_is_in_use_open_or_by_hand_stays() {
    let (registry, clock, _) = retiring(TEN_MINUTES);
    let make = |n: usize| registry.get_or_create(&nth(n)).unwrap();
    let permit = make(0).try_acquire().unwrap();
    let handle = make(1);
    make(2).trip(secs(1));
    make(3).disable();
    make(4);
    for _ in 0..5 {
        clock.advance(secs(100_000));
        make(9);
        assert_eq!(registry.len(), 5);
    }
    drop((permit, handle));
    clock.advance(secs(100_000));
    make(9);
    assert_eq!(registry.len(), 3, "two are used no more");
}

#[test]
fn a_long_call_ends_a_use_and_not_only_its_admission() {
    let (registry, clock, _) = retiring(secs(20));
    for _ in 0..5 {
        let permit = registry.get_or_create(&nth(0)).unwrap().try_acquire().unwrap();
        // A hung upstream, and a timeout above the idle one.
        clock.advance(secs(30));
        permit.record(F);
    }
    assert_eq!(registry.get_or_create(&nth(0)).unwrap().state(), State::Open);
}

#[test]
fn a_breaker_that_retired_comes_back_fresh() {
    let (registry, clock, _) = retiring(TEN_MINUTES);
    registry
        .get_or_create(&nth(0))
        .unwrap()
        .try_acquire()
        .unwrap()
        .record(F);
    clock.advance(TEN_MINUTES);
    let snapshot = registry.get_or_create(&nth(0)).unwrap().snapshot();
    assert_eq!((snapshot.totals.started, snapshot.consecutive_failures), (0, 0));
    assert_eq!(registry.stats().created, 2);
}

#[test]
fn reading_retires_nobody_and_is_no_use() {
    let (registry, clock, _) = retiring(TEN_MINUTES);
    registry.get_or_create(&nth(0)).unwrap();
    clock.advance(TEN_MINUTES);
    let _ = (registry.snapshots(), registry.get(&nth(0)), registry.stats());
    assert_eq!(registry.len(), 1);
    registry.get_or_create(&nth(1)).unwrap();
    assert!(registry.get(&nth(0)).is_none());
}
