//! One breaker by hand, and what its policies cost.

use std::time::Duration;

use reqwest_circuit_breaker::{CircuitBreakerConfig, CircuitBreakerRegistry, TripPolicy};

use super::rounds::{Rounds, on_two_threads, per_call};
use super::table::{Measured, Table, Unit};
use crate::support::keys::call;
use crate::support::{keys, peers};

const ROUNDS: usize = 201;
const ROUNDS_OF_TWO: usize = 41;
const CALLS: usize = 20_000;
/// Few enough that two threads may run them without an interruption, enough for the first fights to be over soon.
const CALLS_OF_TWO: usize = 40_000;
/// How much longer a peer's call takes with a second thread, where two threads really fight.
const FIGHT: f64 = 2.0;

pub(crate) fn measure(table: &mut Table) {
    table.judge("by hand, 1 thread / recloser", 1.5, Some(1.0), one_thread);
    table.judge(
        "by hand, 2 threads, one breaker / recloser",
        0.5,
        Some(0.25),
        two_threads,
    );
    let hour = TripPolicy::failure_rate(50.0).over_last(Duration::from_secs(3_600));
    let seconds = TripPolicy::failure_rate(50.0).over_last(Duration::from_secs(10));
    table.judge("rate window of 1 h / of 10 s", 1.05, Some(1.0), || {
        windows(hour, seconds)
    });
    let many = TripPolicy::failure_rate(50.0).over_last_calls(100_000);
    let few = TripPolicy::failure_rate(50.0).over_last_calls(100);
    table.judge("rate window of 100 000 calls / of 100 calls", 1.05, Some(1.0), || {
        windows(many, few)
    });
}

fn one_thread() -> Measured {
    let registry = CircuitBreakerRegistry::default();
    let breaker = keys::breaker(&registry);
    let (recloser, failsafe, mut tower) = (peers::recloser(), peers::failsafe(), peers::tower());
    let rounds = Rounds::run(
        ROUNDS,
        [
            &mut || per_call(CALLS, || call(&breaker)),
            &mut || per_call(CALLS, || peers::call_recloser(&recloser)),
            &mut || per_call(CALLS, || peers::call_failsafe(&failsafe)),
            &mut || per_call(CALLS, || peers::call_tower(&mut tower)),
        ],
    );
    Measured::new(
        rounds.median(|[own, recloser, ..]| own / recloser),
        Unit::Plain,
        format_args!(
            "{:.1} ns; recloser {:.1}, failsafe {:.1}, tower-resilience {:.0}",
            rounds.median(|round| round[0]),
            rounds.median(|round| round[1]),
            rounds.median(|round| round[2]),
            rounds.median(|round| round[3]),
        ),
    )
}

fn two_threads() -> Measured {
    let registry = CircuitBreakerRegistry::default();
    let breaker = keys::breaker(&registry);
    let (recloser, failsafe) = (peers::recloser(), peers::failsafe());
    let tower = peers::tower();
    let rounds = Rounds::run(
        ROUNDS_OF_TWO,
        [
            &mut || on_two_threads(|| per_call(CALLS_OF_TWO, || call(&breaker))),
            &mut || on_two_threads(|| per_call(CALLS_OF_TWO, || peers::call_recloser(&recloser))),
            &mut || on_two_threads(|| per_call(CALLS, || peers::call_failsafe(&failsafe))),
            &mut || {
                on_two_threads(|| {
                    let mut tower = tower.clone();
                    per_call(CALLS, || peers::call_tower(&mut tower))
                })
            },
            &mut || per_call(CALLS, || peers::call_recloser(&recloser)),
        ],
    );
    // Two processors that are halves of one core share its cache, and nothing fights over a line of it.
    let fight = rounds.median(|[_, together, .., alone]| together / alone);
    Measured::new(
        rounds.median(|[own, recloser, ..]| own / recloser),
        Unit::Plain,
        format_args!(
            "{:.1} ns; recloser {:.1} ({fight:.1} x alone), failsafe {:.1}, tower-resilience {:.0}",
            rounds.median(|round| round[0]),
            rounds.median(|round| round[1]),
            rounds.median(|round| round[2]),
            rounds.median(|round| round[3]),
        ),
    )
    .judged_if(fight > FIGHT)
}

fn windows(long: TripPolicy, short: TripPolicy) -> Measured {
    let breaker = |policy: TripPolicy| {
        let config = CircuitBreakerConfig::builder().trip_on(policy).build();
        let registry = CircuitBreakerRegistry::new(config.expect("it is valid"));
        let breaker = keys::breaker(&registry);
        // Full, so that the oldest call leaves with each new one.
        (0..100_000).for_each(|_| call(&breaker));
        breaker
    };
    let (long, short) = (breaker(long), breaker(short));
    let rounds = Rounds::run(
        ROUNDS,
        [&mut || per_call(CALLS, || call(&long)), &mut || {
            per_call(CALLS, || call(&short))
        }],
    );
    Measured::new(
        rounds.median(|[long, short]| long / short),
        Unit::Plain,
        format_args!(
            "{:.1} ns / {:.1} ns",
            rounds.median(|round| round[0]),
            rounds.median(|round| round[1])
        ),
    )
}
