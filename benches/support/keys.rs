//! Keys, by the thousand.

use std::hint::black_box;

use reqwest_circuit_breaker::{CircuitBreaker, CircuitBreakerRegistry, CircuitKey, Verdict};

/// Keys of one origin, told apart by their part.
pub(crate) fn distinct(numbers: std::ops::Range<usize>) -> Vec<CircuitKey> {
    let origin: CircuitKey = "https://inventory.prod.svc.cluster.local".parse().expect("a key");
    numbers.map(|n| origin.clone().with_part(format!("/{n}"))).collect()
}

/// Origins, each with a host of its own.
pub(crate) fn origins(numbers: std::ops::Range<usize>) -> Vec<CircuitKey> {
    numbers
        .map(|n| {
            let text = format!("https://inventory-{n:05}.prod.svc.cluster.local");
            text.parse().expect("a key")
        })
        .collect()
}

/// The breaker of a registry of its own.
pub(crate) fn breaker(registry: &CircuitBreakerRegistry) -> CircuitBreaker {
    let key = "https://stock.example".parse().expect("a key");
    registry.get_or_create(&key).expect("there is room")
}

/// A closed admission and a success.
#[inline]
pub(crate) fn call(breaker: &CircuitBreaker) {
    if let Ok(permit) = breaker.try_acquire() {
        permit.record(black_box(Verdict::Success));
    }
}
