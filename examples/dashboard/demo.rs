//! Upstreams that fail and recover in turn, and callers who do not tire, so that there is something to see.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use reqwest_circuit_breaker::{
    CircuitBreakerConfig, CircuitBreakerMiddleware, CircuitBreakerRegistry, KeyScheme, Route, TripPolicy,
};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::upstream::{Answer, Upstream};

/// How many breakers there will be.
pub(crate) const KEYS: usize = 6;

/// Who is called: host, route, pause between two calls in milliseconds.
const CALLS: [(&str, &str, u64); KEYS] = [
    ("stock.example", "", 40),
    ("pricing.example", "", 60),
    ("reviews.example", "", 80),
    ("search.example", "", 150),
    (
        "catalog.example",
        "/v2/categories/{category}/products/{product}/variants/{variant}/availability",
        200,
    ),
    ("catalog.example", "/tags/<b>{tag}</b>", 500),
];

/// It ends when it is dropped.
pub(crate) struct Demo {
    pub(crate) registry: CircuitBreakerRegistry,
    _tasks: JoinSet<()>,
}

impl Demo {
    pub(crate) async fn start() -> Result<Self> {
        let config = CircuitBreakerConfig::builder()
            .trip_on(TripPolicy::consecutive_failures(5))
            .trip_on(
                TripPolicy::failure_rate(50.0)
                    .over_last(Duration::from_secs(10))
                    .minimum_calls(20),
            )
            .recovery_timeout(Duration::from_secs(3))
            .recovery_backoff(1.5, Duration::from_secs(8))
            .half_open_successes(3)
            .build()?;
        let registry = CircuitBreakerRegistry::builder()
            .name("shop")
            .config(config)
            .key_scheme(KeyScheme::route())
            .build()?;

        let mut tasks = JoinSet::new();
        let mut plain = reqwest::Client::builder()
            .no_proxy()
            .timeout(Duration::from_millis(300));
        for (n, host) in ["stock", "pricing", "reviews", "search", "catalog"]
            .into_iter()
            .enumerate()
        {
            let upstream = Arc::new(Upstream::start().await);
            let address: SocketAddr = upstream.url("")["http://".len()..].parse()?;
            plain = plain.resolve(&format!("{host}.example"), address);
            tasks.spawn(live(n, upstream));
        }
        let client = ClientBuilder::new(plain.build()?)
            .with(CircuitBreakerMiddleware::new(registry.clone()))
            .build();
        for (host, route, pause) in CALLS {
            tasks.spawn(call(client.clone(), host, route, Duration::from_millis(pause)));
        }
        Ok(Self {
            registry,
            _tasks: tasks,
        })
    }
}

async fn call(client: ClientWithMiddleware, host: &'static str, route: &'static str, pause: Duration) {
    loop {
        let request = client.get(format!("http://{host}/")).with_extension(Route::new(route));
        // The outcome is the breaker's to tell.
        let _ = request.send().await;
        sleep(pause).await;
    }
}

/// Each has troubles of its own.
async fn live(n: usize, upstream: Arc<Upstream>) {
    let seconds = |seconds| sleep(Duration::from_secs(seconds));
    loop {
        match n {
            // Every tenth call fails, which is no reason to trip.
            0 => {
                let calls = std::sync::atomic::AtomicUsize::new(0);
                upstream.answer_with(move |_| {
                    let n = calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    Answer::Status(if n % 10 == 9 { 503 } else { 200 })
                });
                seconds(3600).await;
            }
            // Overloaded: two of three calls fail.
            1 => {
                upstream.answer(200);
                seconds(8).await;
                let calls = std::sync::atomic::AtomicUsize::new(0);
                upstream.answer_with(move |_| {
                    let n = calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    Answer::Status(if n % 3 == 0 { 200 } else { 503 })
                });
                seconds(9).await;
            }
            // Dies and comes back.
            2 => {
                upstream.kill().await;
                seconds(12).await;
                upstream.revive();
                seconds(15).await;
            }
            // Hangs now and then.
            3 => {
                seconds(5).await;
                upstream.hang();
                seconds(10).await;
                upstream.answer(200);
                seconds(10).await;
            }
            _ => seconds(3600).await,
        }
    }
}
