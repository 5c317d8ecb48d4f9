//! A call under a rate policy, by the length of its window.

use std::time::Duration;

use divan::Bencher;
use reqwest_circuit_breaker::{CircuitBreakerConfig, CircuitBreakerRegistry, TripPolicy};

use crate::support::keys;

#[divan::bench(args = [10, 3_600])]
fn seconds(bencher: Bencher<'_, '_>, length: u64) {
    bench(
        bencher,
        TripPolicy::failure_rate(50.0).over_last(Duration::from_secs(length)),
    );
}

#[divan::bench(args = [100, 100_000])]
fn calls(bencher: Bencher<'_, '_>, length: u32) {
    bench(bencher, TripPolicy::failure_rate(50.0).over_last_calls(length));
}

fn bench(bencher: Bencher<'_, '_>, policy: TripPolicy) {
    let config = CircuitBreakerConfig::builder().trip_on(policy).build();
    let registry = CircuitBreakerRegistry::new(config.expect("it is valid"));
    let breaker = keys::breaker(&registry);
    bencher.bench(|| keys::call(&breaker));
}
