//! A request between two cores, with a breaker and with an empty middleware.

use divan::Bencher;
use reqwest_circuit_breaker::{CircuitBreakerMiddleware, CircuitBreakerRegistry};
use reqwest_middleware::Middleware;

use crate::support::loopback::Loopback;
use crate::support::stack::Empty;

#[divan::bench(sample_count = 1_000)]
fn empty(bencher: Bencher<'_, '_>) {
    bench(bencher, Empty);
}

#[divan::bench(sample_count = 1_000)]
fn breaker(bencher: Bencher<'_, '_>) {
    bench(
        bencher,
        CircuitBreakerMiddleware::new(CircuitBreakerRegistry::default()),
    );
}

fn bench(bencher: Bencher<'_, '_>, middleware: impl Middleware) {
    let loopback = Loopback::start();
    let client = loopback.client(middleware);
    bencher.bench_local(|| loopback.get(&client));
}
