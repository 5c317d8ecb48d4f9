//! A healthy call through a stack without sockets: with a breaker under each key scheme, and with an empty middleware.

use divan::Bencher;
use reqwest_circuit_breaker::{CircuitBreakerRegistry, KeyScheme};
use reqwest_middleware::ClientWithMiddleware;

use crate::support::stack::{Empty, answered, protected, request, send};

#[divan::bench(threads = [1, 2])]
fn empty(bencher: Bencher<'_, '_>) {
    bench(bencher, &answered(Empty));
}

#[divan::bench(threads = [1, 2])]
fn by_origin(bencher: Bencher<'_, '_>) {
    bench_scheme(bencher, KeyScheme::origin());
}

#[divan::bench]
fn by_method(bencher: Bencher<'_, '_>) {
    bench_scheme(bencher, KeyScheme::method());
}

#[divan::bench]
fn by_inferred_route(bencher: Bencher<'_, '_>) {
    bench_scheme(bencher, KeyScheme::route().infer_routes());
}

#[divan::bench]
fn by_inferred_endpoint(bencher: Bencher<'_, '_>) {
    bench_scheme(bencher, KeyScheme::endpoint().infer_routes());
}

fn bench_scheme(bencher: Bencher<'_, '_>, scheme: KeyScheme) {
    let registry = CircuitBreakerRegistry::builder().key_scheme(scheme).build();
    bench(bencher, &protected(&registry.expect("it is valid")));
}

fn bench(bencher: Bencher<'_, '_>, client: &ClientWithMiddleware) {
    bencher
        .with_inputs(request)
        .bench_values(|request| send(client, request));
}
