//! A rejection from end to end. With `RUST_BACKTRACE=1` in the environment it shows what a backtrace costs.

use divan::Bencher;

use crate::support::keys;
use crate::support::stack::{open_registry, protected, request, send};

#[divan::bench(threads = [1, 2])]
fn end_to_end(bencher: Bencher<'_, '_>) {
    let client = protected(&open_registry());
    bencher
        .with_inputs(request)
        .bench_values(|request| send(&client, request));
}

#[divan::bench]
fn by_hand(bencher: Bencher<'_, '_>) {
    let registry = open_registry();
    let breaker = keys::breaker(&registry);
    bencher.bench(|| breaker.try_acquire());
}
