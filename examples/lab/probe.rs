//! An upstream fails, is left alone for half a second, and is tried again by exactly one call.
//!
//! A breaker that lets everybody back at once sends the whole crowd to an upstream that may just be getting up.

use std::time::Duration;

use futures_util::future::join_all;
use reqwest_circuit_breaker::{CircuitBreakerConfig, CircuitBreakerRegistry, State, TripPolicy};
use reqwest_middleware::ClientWithMiddleware;

use super::calls::{Tally, calls};
use super::protected;
use super::table::{Cell, Table, exactly, nothing, within};
use super::upstream::{Answer, Upstream};

const RECOVERY: Duration = Duration::from_millis(500);
const CROWD: usize = 50;

/// One upstream, and a client that opens after three failures.
struct Bench {
    upstream: Upstream,
    registry: CircuitBreakerRegistry,
    client: ClientWithMiddleware,
}

pub(crate) async fn run() -> Table {
    let mut table = Table::new(
        "The probe: three failures open for half a second",
        &["answered", "rejected", "requests", "retry after, ms", "state"],
    );

    let bench = Bench::new(1).await;
    bench.upstream.answer(503);
    let tally = bench.calls(3).await;
    table.row(
        "three calls, and it fails",
        bench.row([3, 0, 3], &tally, nothing(), State::Open),
    );

    let tally = bench.calls(1).await;
    let wait = tally
        .rejections
        .first()
        .and_then(|open| open.retry_after())
        .unwrap_or_default();
    table.row(
        "the next call",
        bench.row(
            [0, 1, 3],
            &tally,
            within(1..=RECOVERY.as_millis(), wait.as_millis()),
            State::Open,
        ),
    );

    bench.upstream.answer(200);
    // Exactly as long as the rejection said.
    tokio::time::sleep(wait).await;
    let tally = bench.calls(1).await;
    table.row(
        "the first call after that: the probe",
        bench.row([1, 0, 4], &tally, nothing(), State::Closed),
    );
    let tally = bench.calls(1).await;
    table.row("the next call", bench.row([1, 0, 5], &tally, nothing(), State::Closed));

    let bench = Bench::new(1).await;
    let tally = bench.crowd_at_the_deadline().await;
    table.row(
        "fifty callers at that moment",
        bench.row([1, 49, 4], &tally, nothing(), State::Closed),
    );

    let bench = Bench::new(u32::try_from(CROWD).unwrap_or(u32::MAX)).await;
    let tally = bench.crowd_at_the_deadline().await;
    table.row(
        "the same, if all may probe",
        bench.row([50, 0, 53], &tally, nothing(), State::Closed),
    );
    table
}

impl Bench {
    async fn new(probes: u32) -> Self {
        let config = CircuitBreakerConfig::builder()
            .trip_on(TripPolicy::consecutive_failures(3))
            .recovery_timeout(RECOVERY)
            .half_open_max_calls(probes)
            .build()
            .expect("a valid config");
        let registry = CircuitBreakerRegistry::new(config);
        Self {
            upstream: Upstream::start().await,
            client: protected(&registry),
            registry,
        }
    }

    async fn calls(&self, n: usize) -> Tally {
        calls(n, &self.client, &self.upstream.url("/")).await
    }

    /// Opens the breaker, waits until its time is over, and lets a crowd in.
    async fn crowd_at_the_deadline(&self) -> Tally {
        self.upstream.answer(503);
        self.calls(3).await;
        // Slow enough for all to ask before the first has its answer.
        self.upstream
            .answer_with(|_| Answer::Slow(Duration::from_millis(300), 200));
        tokio::time::sleep(RECOVERY).await;
        let mut all = Tally::default();
        for tally in join_all((0..CROWD).map(|_| self.calls(1))).await {
            all.add(tally);
        }
        all
    }

    fn row(&self, [answered, rejected, requests]: [usize; 3], tally: &Tally, wait: Cell, state: State) -> [Cell; 5] {
        let seen = self.registry.snapshots();
        let states: Vec<String> = seen.iter().map(|breaker| format!("{:?}", breaker.state)).collect();
        [
            exactly(answered, tally.answered()),
            exactly(rejected, tally.rejected()),
            exactly(requests, self.upstream.hits()),
            wait,
            exactly(format!("{state:?}"), states.join(", ")),
        ]
    }
}
