//! The upstream fails twice per call and then answers; three attempts make every call good.
//!
//! A breaker inside the retries counts attempts, and opens on an upstream that serves everybody. Outside it counts calls.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use reqwest_circuit_breaker::{CircuitBreakerMiddleware, CircuitBreakerRegistry};
use reqwest_retry::{RetryTransientMiddleware, policies::ExponentialBackoff};

use super::calls::{Tally, calls};
use super::one_breaker::OneBreaker;
use super::plain;
use super::table::{Cell, Table, exactly};
use super::upstream::{Answer, Upstream};

const CALLS: usize = 10;

pub(crate) async fn run() -> Table {
    let mut table = Table::new(
        "One signal per logical call: two attempts of each call fail, the third is good; ten calls",
        &["good", "rejected", "requests", "transitions"],
    );

    let upstream = failing_twice().await;
    let inside = OneBreaker::new(7);
    let breaker = inside.handle();
    let client = plain().with(retries()).with(inside).build();
    let tally = calls(CALLS, &client, &upstream.url("/")).await;
    table.row(
        "inside the retries, counting attempts",
        row([2, 8, 7, 1], &tally, &upstream, breaker.snapshot().generation),
    );

    let upstream = failing_twice().await;
    let registry = CircuitBreakerRegistry::default();
    let client = plain()
        .with(CircuitBreakerMiddleware::new(registry.clone()))
        .with(retries())
        .build();
    let tally = calls(CALLS, &client, &upstream.url("/")).await;
    let transitions = registry.snapshots().iter().map(|breaker| breaker.generation).sum();
    table.row(
        "outside the retries, counting calls",
        row([10, 0, 30, 0], &tally, &upstream, transitions),
    );
    table
}

async fn failing_twice() -> Upstream {
    let upstream = Upstream::start().await;
    let requests = AtomicUsize::new(0);
    upstream.answer_with(move |_| match requests.fetch_add(1, Ordering::SeqCst) % 3 {
        2 => Answer::Status(200),
        _ => Answer::Status(503),
    });
    upstream
}

fn retries() -> RetryTransientMiddleware<ExponentialBackoff> {
    let twice_more = ExponentialBackoff::builder()
        .retry_bounds(Duration::from_millis(1), Duration::from_millis(2))
        .build_with_max_retries(2);
    RetryTransientMiddleware::new_with_policy(twice_more)
}

fn row(
    [good, rejected, requests, transitions]: [usize; 4],
    tally: &Tally,
    upstream: &Upstream,
    moved: u64,
) -> [Cell; 4] {
    [
        exactly(good, tally.good),
        exactly(rejected, tally.rejected()),
        exactly(requests, upstream.hits()),
        exactly(transitions as u64, moved),
    ]
}
