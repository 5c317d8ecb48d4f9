//! A closed admission and a success of one breaker, beside its peers.

use divan::Bencher;
use reqwest_circuit_breaker::CircuitBreakerRegistry;

use crate::support::{keys, peers};

#[divan::bench(threads = [1, 2])]
fn breaker(bencher: Bencher<'_, '_>) {
    let registry = CircuitBreakerRegistry::default();
    let breaker = keys::breaker(&registry);
    bencher.bench(|| keys::call(&breaker));
}

#[divan::bench(threads = [1, 2])]
fn recloser(bencher: Bencher<'_, '_>) {
    let recloser = peers::recloser();
    bencher.bench(|| peers::call_recloser(&recloser));
}

#[divan::bench(threads = [1, 2])]
fn failsafe(bencher: Bencher<'_, '_>) {
    let failsafe = peers::failsafe();
    bencher.bench(|| peers::call_failsafe(&failsafe));
}

#[divan::bench(threads = [1, 2])]
fn tower_resilience(bencher: Bencher<'_, '_>) {
    let tower = peers::tower();
    // A tower service is called by one owner; its clones share the circuit.
    bencher.with_inputs(|| tower.clone()).bench_refs(peers::call_tower);
}
