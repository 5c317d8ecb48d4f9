//! Memory per breaker, and a registry at its limit.

#![allow(clippy::disallowed_methods, reason = "a benchmark measures the time that passes")]

use std::time::{Duration, Instant};

use allocation_counter::measure as count;
use reqwest_circuit_breaker::{
    CircuitBreakerConfig, CircuitBreakerRegistry, CircuitKey, FailureKind, TripPolicy, Verdict,
};

use super::rounds::{Rounds, nanos, on_two_threads, per_call};
use super::table::{Measured, Table, Unit};
use crate::support::keys::{self, call};

const BREAKERS: usize = 10_000;
const KEYS: usize = 1_000_000;

pub(crate) fn measure(table: &mut Table) {
    table.judge("memory per healthy breaker, default config", 640.0, Some(512.0), || {
        per_breaker(CircuitBreakerConfig::default())
    });
    let rate = TripPolicy::failure_rate(50.0).over_last(Duration::from_secs(30));
    let config = CircuitBreakerConfig::builder().trip_on(rate).build();
    table.judge(
        "memory per healthy breaker, 30 s window",
        1_792.0,
        Some(1_280.0),
        || per_breaker(config.expect("it is valid")),
    );
    if table.wants("1 000 000 keys") {
        let many = Many::measure();
        table.judge(
            "1 000 000 keys at a limit of 10 000, each",
            2_000.0,
            Some(1_000.0),
            || Measured::new(many.nanos, Unit::Nanos, "create, admit, one failure, evict"),
        );
        table.judge(
            "1 000 000 keys: last tenth / first tenth, time",
            1.2,
            Some(1.05),
            || Measured::new(many.slowdown, Unit::Plain, ""),
        );
        table.judge(
            "1 000 000 keys: last tenth / first tenth, memory",
            1.05,
            Some(1.0),
            || {
                let detail = format!("{:.0} B per breaker", many.bytes);
                Measured::new(many.growth, Unit::Plain, detail)
            },
        );
    }
    table.tell("1 000 keys: 2 threads / 1 thread, per call", a_thousand_keys);
}

/// Live bytes per breaker: the breaker, its key, its place in the map and in the queue.
fn per_breaker(config: CircuitBreakerConfig) -> Measured {
    // Keys have owners elsewhere only while a call is under way: they are made and dropped inside.
    let mut registry = None;
    let counted = count(|| {
        let filled = CircuitBreakerRegistry::builder()
            .config(config)
            .max_breakers(BREAKERS)
            .build();
        let filled = filled.expect("it is valid");
        for key in keys::origins(0..BREAKERS) {
            filled.get_or_create(&key).iter().for_each(call);
        }
        registry = Some(filled);
    });
    assert_eq!(registry.map(|registry| registry.len()), Some(BREAKERS));
    let per_breaker = counted.bytes_current as f64 / BREAKERS as f64;
    let allocations = counted.count_current as f64 / BREAKERS as f64;
    Measured::new(
        per_breaker,
        Unit::Bytes,
        format_args!("in {allocations:.1} allocations"),
    )
}

/// What a million keys through a registry of ten thousand cost.
struct Many {
    nanos: f64,
    slowdown: f64,
    growth: f64,
    bytes: f64,
}

impl Many {
    fn measure() -> Self {
        let registry = CircuitBreakerRegistry::builder().max_breakers(BREAKERS).build();
        let registry = registry.expect("it is valid");
        let (mut live, mut batches) = (0, Vec::new());
        for n in 0..KEYS / BREAKERS {
            let mut elapsed = Duration::ZERO;
            let counted = count(|| {
                let batch: Vec<CircuitKey> = keys::distinct(n * BREAKERS..(n + 1) * BREAKERS);
                let start = Instant::now();
                for key in &batch {
                    if let Some(Ok(permit)) = registry.get_or_create(key).map(|breaker| breaker.try_acquire()) {
                        permit.record(Verdict::Failure(FailureKind::Timeout));
                    }
                }
                elapsed = start.elapsed();
            });
            live += counted.bytes_current;
            batches.push((nanos(elapsed, BREAKERS), live as f64));
        }
        assert_eq!(registry.stats().created, KEYS as u64);
        let median = |tenth: &[(f64, f64)], of: fn(&(f64, f64)) -> f64| {
            let mut values: Vec<f64> = tenth.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        };
        // The first batch only fills the registry: eviction begins with the second.
        let batches = &batches[1..];
        let (first, last) = (&batches[..10], &batches[batches.len() - 10..]);
        Self {
            nanos: median(batches, |batch| batch.0),
            slowdown: median(last, |batch| batch.0) / median(first, |batch| batch.0),
            growth: median(last, |batch| batch.1) / median(first, |batch| batch.1),
            bytes: median(last, |batch| batch.1) / BREAKERS as f64,
        }
    }
}

fn a_thousand_keys() -> Measured {
    let registry = CircuitBreakerRegistry::default();
    let keys = keys::origins(0..1_000);
    let pass = || {
        let mut next = keys.iter().cycle();
        per_call(20_000, || {
            if let Some(breaker) = next.next().and_then(|key| registry.get_or_create(key)) {
                call(&breaker);
            }
        })
    };
    let rounds = Rounds::run(101, [&mut || on_two_threads(pass), &mut || pass()]);
    Measured::new(
        rounds.median(|[two, one]| two / one),
        Unit::Plain,
        format_args!(
            "{:.1} ns / {:.1} ns, look-up included",
            rounds.median(|round| round[0]),
            rounds.median(|round| round[1])
        ),
    )
}
