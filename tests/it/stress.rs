//! Threads that do anything at any time leave a legal history, sums that agree and no slot lost.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use reqwest_circuit_breaker::{
    CircuitBreaker, CircuitBreakerConfig, CircuitBreakerRegistry, CircuitKey, CircuitSnapshot, FailureKind,
    ManualClock, Permit, State, Totals, Transition, TripPolicy, Verdict,
};

use crate::dice::Dice;
use crate::fixture::{Events, assert_adds_up, assert_legal_path};

const THREADS: usize = 4;
const STEPS: usize = 20_000;
const KEYS: [&str; 3] = [
    "https://a.example",
    "https://b.example",
    "GET https://a.example /items/{id}",
];

/// What one thread did to each key.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Tally {
    admitted: u64,
    rejected: u64,
    recorded: u64,
    dropped: u64,
}

#[test]
fn a_storm_of_threads_leaves_a_legal_history_and_loses_no_slot() {
    let mut dice = Dice::roll();
    let (clock, events) = (ManualClock::new(), Events::default());
    let registry = CircuitBreakerRegistry::builder()
        .config(config())
        .clock(clock.clone())
        .listener(events.listener())
        .build()
        .unwrap();
    let over = AtomicBool::new(false);
    let tallies: Vec<_> = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                clock.advance(Duration::from_micros(10));
                std::thread::yield_now();
            }
        });
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                let (registry, clock, dice) = (registry.clone(), clock.clone(), dice.split());
                scope.spawn(move || storm(&registry, &clock, dice))
            })
            .collect();
        let tallies = threads.into_iter().map(|thread| thread.join()).collect();
        over.store(true, Ordering::Relaxed);
        tallies
    });
    let tallies: Vec<_> = tallies
        .into_iter()
        .map(|tally| tally.expect("no thread panics"))
        .collect();

    let mut reasons = BTreeSet::new();
    for (index, text) in KEYS.iter().enumerate() {
        let key: CircuitKey = text.parse().unwrap();
        let breaker = registry.get(&key).expect("it was used");
        let seen = breaker.snapshot();
        assert_eq!(seen.in_flight, 0, "{key}");
        let done = tallies.iter().fold(Tally::default(), |sum, tally| Tally {
            admitted: sum.admitted + tally[index].admitted,
            rejected: sum.rejected + tally[index].rejected,
            recorded: sum.recorded + tally[index].recorded,
            dropped: sum.dropped + tally[index].dropped,
        });
        assert_eq!(counted(&seen.totals), done, "{key}");
        assert_adds_up(&seen);
        reasons.extend(check_path(&events, &seen));
        check_recovery(&clock, &breaker);
    }
    let all = ["manual", "probes_failed", "probes_succeeded", "recovery_due", "tripped"];
    assert!(reasons.iter().eq(&all), "the storm was a calm: {reasons:?}");
}

fn config() -> CircuitBreakerConfig {
    CircuitBreakerConfig::builder()
        .trip_on(TripPolicy::consecutive_failures(4))
        .trip_on(TripPolicy::failure_rate(60).over_last_calls(20).minimum_calls(10))
        .recovery_timeout(Duration::from_millis(5))
        .half_open_max_calls(2)
        .half_open_successes(2)
        .half_open_tolerated_failures(1)
        .probe_timeout(Duration::from_millis(20))
        .build()
        .unwrap()
}

fn storm(registry: &CircuitBreakerRegistry, clock: &ManualClock, mut dice: Dice) -> [Tally; KEYS.len()] {
    let keys = KEYS.map(|key| key.parse::<CircuitKey>().unwrap());
    let mut tallies = [Tally::default(); KEYS.len()];
    let mut in_flight: Vec<(usize, Permit)> = Vec::new();
    for _ in 0..STEPS {
        let index = dice.below(KEYS.len());
        let breaker = registry.get_or_create(&keys[index]).expect("there is room");
        match dice.below(1_000) {
            0 => breaker.force_open(),
            1 => breaker.disable(),
            2 => breaker.trip(Duration::from_millis(3)),
            // The only way out of the first two, so it comes more often.
            3..=7 => breaker.reset(),
            // On a busy machine the clock's own thread may not come to it.
            8..=17 => clock.advance(Duration::from_millis(1)),
            18..=40 => assert_adds_up(&breaker.snapshot()),
            41..=400 => {
                if !in_flight.is_empty() {
                    let (index, permit) = in_flight.swap_remove(dice.below(in_flight.len()));
                    end(permit, &mut tallies[index], &mut dice);
                }
            }
            _ => match breaker.try_acquire() {
                Ok(permit) => {
                    tallies[index].admitted += 1;
                    in_flight.push((index, permit));
                }
                Err(_) => tallies[index].rejected += 1,
            },
        }
        if in_flight.len() > 8 {
            let (index, permit) = in_flight.remove(0);
            end(permit, &mut tallies[index], &mut dice);
        }
    }
    for (index, permit) in in_flight {
        end(permit, &mut tallies[index], &mut dice);
    }
    tallies
}

fn end(permit: Permit, tally: &mut Tally, dice: &mut Dice) {
    let verdict = match dice.below(10) {
        0 => {
            tally.dropped += 1;
            return drop(permit);
        }
        1 => Verdict::Ignored,
        2..=4 => Verdict::Failure(FailureKind::Timeout),
        _ => Verdict::Success,
    };
    tally.recorded += 1;
    permit.record(verdict);
}

fn counted(totals: &Totals) -> Tally {
    Tally {
        admitted: totals.started,
        rejected: totals.rejected,
        recorded: totals.success + totals.failure + totals.ignored + totals.late,
        dropped: totals.cancelled,
    }
}

/// Every generation was told once and the path is legal. Returns its reasons.
fn check_path(events: &Events, seen: &CircuitSnapshot) -> BTreeSet<&'static str> {
    let mut path = events.transitions();
    path.retain(|transition| transition.key() == &seen.key);
    path.sort_by_key(Transition::generation);
    assert_legal_path(&path);
    assert_eq!(path.len() as u64, seen.generation);
    assert_eq!(path.last().map(Transition::to), Some(seen.state));
    path.iter().map(|transition| transition.reason().as_str()).collect()
}

/// Two good probes close it, wherever the storm left it, and no slot is taken before the first.
fn check_recovery(clock: &ManualClock, breaker: &CircuitBreaker) {
    match breaker.state() {
        State::HalfOpen => {}
        State::Open => clock.advance(breaker.snapshot().retry_after.unwrap_or_default()),
        _ => {
            breaker.reset();
            breaker.trip(Duration::ZERO);
        }
    }
    let probes = [breaker.try_acquire().unwrap(), breaker.try_acquire().unwrap()];
    for probe in probes {
        assert!(probe.is_probe());
        if breaker.state() == State::HalfOpen {
            probe.record(Verdict::Success);
        }
    }
    assert_eq!(breaker.state(), State::Closed);
}
