//! A window counts exactly the calls it covers, whatever the clock does.

use std::time::Duration;

use proptest::prelude::*;
use reqwest_circuit_breaker::{CircuitBreakerConfig, FailureKind, State, TripPolicy, Verdict, WindowSnapshot};

use crate::clock::SetClock;
use crate::fixture::{F, Fixture, N, S, half_of_ten, secs};

const BUCKETS: u64 = 32;

fn window(it: &Fixture) -> WindowSnapshot {
    it.snapshot().windows.remove(0)
}

#[test]
fn an_idle_gap_empties_it() {
    let it = Fixture::new(half_of_ten());
    it.repeat(9, F);
    it.at(25).repeat(1, F);
    assert_eq!((it.state(), window(&it).calls), (State::Closed, 1));
}

#[test]
fn an_idle_gap_of_any_length_leaves_it_usable() {
    for gap in [
        secs(10),
        secs(11),
        secs(1_000_000),
        Duration::from_nanos(u64::MAX / 2),
        Duration::MAX,
    ] {
        let it = Fixture::new(half_of_ten());
        it.repeat(9, F);
        it.clock.advance(gap);
        it.repeat(9, F);
        assert_eq!((it.state(), window(&it).calls), (State::Closed, 9), "{gap:?}");
        it.repeat(1, F);
        assert_eq!(it.state(), State::Open, "{gap:?}");
    }
}

#[test]
fn a_clock_that_goes_back_counts_each_call_once() {
    let clock = SetClock::default();
    let given = clock.clone();
    let it = Fixture::with(half_of_ten(), |registry| registry.clock(given));
    clock.set(secs(5));
    it.repeat(5, S).repeat(4, F);
    clock.set(secs(3));
    it.repeat(1, F);
    clock.set(secs(5));
    let window = window(&it);
    assert_eq!((it.state(), window.calls, window.failures), (State::Open, 10, 5));
    let wait = it.rejection().retry_after().unwrap();
    assert!(
        (secs(28)..=secs(30)).contains(&wait),
        "the deadline is from 33 to 35, {wait:?} to go"
    );
}

#[test]
fn ignored_and_late_calls_are_not_in_it() {
    let it = Fixture::new(half_of_ten());
    let late = it.permit();
    it.breaker.reset();
    it.calls([N, N, S, F, N]);
    late.record(F);
    let window = window(&it);
    assert_eq!((window.calls, window.failures), (2, 1));
}

#[test]
fn there_is_no_rate_below_the_minimum() {
    let it = Fixture::new(half_of_ten().trip_on(TripPolicy::slow_call_rate(50, secs(1)).over_last_calls(10)));
    for calls in 0..10 {
        for window in it.snapshot().windows {
            assert_eq!(
                (window.calls, window.failure_rate, window.slow_call_rate),
                (calls, None, None)
            );
        }
        it.repeat(1, S);
    }
    let windows = it.snapshot().windows;
    assert_eq!((windows[0].failure_rate, windows[0].slow_call_rate), (Some(0.0), None));
    assert_eq!(
        (windows[1].failure_rate, windows[1].slow_call_rate),
        (Some(0.0), Some(0.0))
    );
}

#[test]
fn a_rate_ends_when_the_calls_that_made_it_have_left() {
    let it = Fixture::new(half_of_ten());
    it.repeat(6, S).repeat(4, F);
    assert_eq!(window(&it).failure_rate, Some(40.0));
    it.at(20);
    assert_eq!((window(&it).calls, window(&it).failure_rate), (0, None));
}

#[test]
fn a_new_closed_state_starts_from_nothing() {
    let it = Fixture::new(half_of_ten().trip_on(TripPolicy::failure_rate(100).over_last_calls(20))).opened();
    it.at(30).probe().record(S);
    assert!(
        it.snapshot().windows.iter().all(|window| window.calls == 0),
        "the probe is in no window"
    );
    it.repeat(9, F);
    assert_eq!(it.state(), State::Closed);
    it.repeat(1, F);
    assert_eq!(it.state(), State::Open);
}

#[test]
fn every_policy_has_a_window_of_its_own() {
    let it = Fixture::new(
        CircuitBreakerConfig::builder()
            .trip_on(TripPolicy::failure_rate(50).over_last_calls(3).minimum_calls(3))
            .trip_on(TripPolicy::consecutive_failures(50))
            .trip_on(
                TripPolicy::slow_call_rate(50, secs(5))
                    .over_last(secs(32))
                    .minimum_calls(100),
            ),
    );
    it.calls([S, S, S, F, S, S]);
    let slow = it.permit();
    it.at(6);
    slow.record(S);
    let windows = it.snapshot().windows;
    assert_eq!(windows.len(), 2, "in the order of the policies");
    assert_eq!(
        (windows[0].calls, windows[0].failures, windows[0].slow_calls),
        (3, 0, 0)
    );
    assert_eq!(
        (windows[1].calls, windows[1].failures, windows[1].slow_calls),
        (7, 1, 1)
    );
}

#[test]
fn the_largest_and_the_smallest_windows_work() {
    let policies = [
        TripPolicy::failure_rate(100).over_last(Duration::MAX),
        TripPolicy::failure_rate(100).over_last(Duration::from_nanos(1)),
        TripPolicy::failure_rate(100).over_last_calls(1_000_000),
    ];
    for policy in policies {
        let it = Fixture::new(CircuitBreakerConfig::builder().trip_on(policy.minimum_calls(3)));
        it.repeat(2, F);
        assert_eq!(window(&it).failures, 2);
        it.repeat(1, F);
        assert_eq!(it.state(), State::Open);
    }
    let last = TripPolicy::failure_rate(100).over_last_calls(1);
    let it = Fixture::new(CircuitBreakerConfig::builder().trip_on(last));
    it.repeat(3, S).repeat(1, F);
    assert_eq!(it.state(), State::Open);
}

/// One call of a random history.
#[derive(Clone, Debug)]
struct Call {
    at: u64,
    verdict: Verdict,
}

/// Instants that lie on, before and after the boundaries of buckets, in and out of order, near and far.
fn history(width: u64) -> impl Strategy<Value = Vec<Call>> {
    let step = prop_oneof![
        6 => (0..3 * width).prop_map(|by| by as i64),
        3 => (0..40_u64).prop_map(move |n| (n * width) as i64),
        2 => Just(0_i64),
        2 => Just(-1_i64),
        2 => (0..50 * width).prop_map(|by| -(by as i64)),
        1 => (0..1_000_000 * width).prop_map(|by| by as i64),
        1 => i64::MAX / 8..i64::MAX / 4,
    ];
    let aligned = prop_oneof![3 => Just(None), 1 => Just(Some(0_u64)), 1 => Just(Some(width - 1))];
    let verdict = prop_oneof![
        4 => Just(S),
        4 => Just(F),
        1 => Just(N),
        1 => Just(Verdict::Failure(FailureKind::Dns))
    ];
    proptest::collection::vec((step, aligned, verdict), 0..200).prop_map(move |steps| {
        let mut at = 0_u64;
        let calls = steps.into_iter().map(|(step, aligned, verdict)| {
            at = at.saturating_add_signed(step);
            if let Some(offset) = aligned {
                at = (at / width * width).saturating_add(offset);
            }
            Call { at, verdict }
        });
        calls.collect()
    })
}

/// Calls and failures of a time window, from the list of all outcomes: a late one counts in the bucket that was the
/// youngest when it came, and the window is the last buckets up to the one of `now`, or up to the youngest.
fn naive_time(outcomes: &[Call], width: u64, now: u64) -> (u64, u64) {
    let mut youngest = 0;
    let mut placed = Vec::new();
    for call in outcomes.iter().filter(|call| call.verdict != N) {
        youngest = youngest.max(call.at / width);
        placed.push((youngest, call.verdict != S));
    }
    let last = youngest.max(now / width);
    let inside = placed.iter().filter(|(bucket, _)| last - bucket < BUCKETS);
    (
        inside.clone().count() as u64,
        inside.filter(|(_, failed)| *failed).count() as u64,
    )
}

fn naive_calls(outcomes: &[Call], length: usize) -> (u64, u64) {
    let counted: Vec<_> = outcomes.iter().filter(|call| call.verdict != N).collect();
    let last = &counted[counted.len().saturating_sub(length)..];
    (
        last.len() as u64,
        last.iter().filter(|call| call.verdict != S).count() as u64,
    )
}

fn agrees(seen: &WindowSnapshot, (calls, failures): (u64, u64), minimum: u64) -> Result<(), TestCaseError> {
    let rate = (calls >= minimum).then(|| failures as f64 * 100.0 / calls as f64);
    prop_assert_eq!((seen.calls, seen.failures, seen.failure_rate), (calls, failures, rate));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn they_agree_with_a_list_of_all_outcomes(
        (width, outcomes) in prop_oneof![Just(1_u64), Just(7), 1..1_000_000_000_u64]
            .prop_flat_map(|width| (Just(width), history(width))),
        length in 1..70_u32,
        ask_later in 0..100_u64,
    ) {
        let clock = SetClock::default();
        let given = clock.clone();
        // Nothing here ever trips: the minimum of the windows is out of reach, and so is the run.
        let config = CircuitBreakerConfig::builder()
            .trip_on(TripPolicy::failure_rate(100).over_last(Duration::from_nanos(width * BUCKETS)).minimum_calls(1000))
            .trip_on(TripPolicy::slow_call_rate(100, Duration::MAX).over_last_calls(length).minimum_calls(length.min(5)))
            .trip_on(TripPolicy::consecutive_failures(1000));
        let it = Fixture::with(config, |registry| registry.clock(given));
        for (n, call) in outcomes.iter().enumerate() {
            clock.set(Duration::from_nanos(call.at));
            it.repeat(1, call.verdict);
            let so_far = &outcomes[..=n];
            let windows = it.snapshot().windows;
            agrees(&windows[0], naive_time(so_far, width, call.at), 1000)?;
            agrees(&windows[1], naive_calls(so_far, length as usize), u64::from(length.min(5)))?;
            // Reading at another time tells the window of that time, and changes nothing.
            let later = call.at.saturating_add(ask_later * width);
            clock.set(Duration::from_nanos(later));
            agrees(&it.snapshot().windows[0], naive_time(so_far, width, later), 1000)?;
        }
        prop_assert_eq!(it.state(), State::Closed);
    }
}
