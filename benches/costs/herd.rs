//! Callers at the very moment when a breaker may be probed: one of them is the probe.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};

use crate::support::herd;

#[divan::bench(args = [100, 10_000], sample_count = 10, sample_size = 1)]
fn callers_at_the_deadline(bencher: Bencher<'_, '_>, callers: usize) {
    bencher.counter(ItemsCount::new(callers)).bench_local(|| {
        assert_eq!(black_box(herd::requests_at_the_deadline(callers)), 1);
    });
}
