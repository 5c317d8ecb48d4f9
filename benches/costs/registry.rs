//! Looking up among many keys, and creating at the limit.

use divan::Bencher;
use divan::counter::ItemsCount;
use reqwest_circuit_breaker::{CircuitBreakerRegistry, CircuitKey, FailureKind, Verdict};

use crate::support::keys;

const LIMIT: usize = 10_000;

#[divan::bench(threads = [1, 2])]
fn a_thousand_keys(bencher: Bencher<'_, '_>) {
    let registry = CircuitBreakerRegistry::default();
    let all = keys::origins(0..1_000);
    let call = |key: &CircuitKey| registry.get_or_create(key).iter().for_each(keys::call);
    bencher
        .counter(ItemsCount::new(all.len()))
        .bench(|| all.iter().for_each(call));
}

/// Ten thousand new keys per iteration, each with one failure, through a registry that is full.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn distinct_keys_at_the_limit(bencher: Bencher<'_, '_>) {
    let registry = CircuitBreakerRegistry::builder().max_breakers(LIMIT).build();
    let registry = registry.expect("it is valid");
    let mut next = 0;
    let failing = |key: &CircuitKey| {
        let breaker = registry.get_or_create(key);
        if let Some(Ok(permit)) = breaker.map(|breaker| breaker.try_acquire()) {
            permit.record(Verdict::Failure(FailureKind::Timeout));
        }
    };
    bencher
        .counter(ItemsCount::new(LIMIT))
        .with_inputs(|| {
            next += LIMIT;
            keys::distinct(next..next + LIMIT)
        })
        .bench_local_refs(|keys| keys.iter().for_each(failing));
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn a_thousand_healthy_breakers(bencher: Bencher<'_, '_>) {
    bencher
        .counter(ItemsCount::new(1_000_usize))
        .with_inputs(|| (CircuitBreakerRegistry::default(), keys::origins(0..1_000)))
        .bench_local_values(|(registry, keys)| {
            for key in &keys {
                let _ = divan::black_box(registry.get_or_create(key));
            }
            registry
        });
}
