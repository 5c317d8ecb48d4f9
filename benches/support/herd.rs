//! Many callers at the very moment when a breaker may be probed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use http::Extensions;
use reqwest::{Client, Request, Response};
use reqwest_circuit_breaker::{CircuitBreakerMiddleware, CircuitBreakerRegistry, ManualClock};
use reqwest_middleware::{ClientBuilder, Middleware, Next, Result};
use tokio::sync::Notify;

use super::stack::request;

/// The upstream: counts, and answers once everybody else was rejected.
#[derive(Clone, Default)]
struct Upstream {
    requests: Arc<AtomicUsize>,
    may_answer: Arc<Notify>,
}

#[async_trait]
impl Middleware for Upstream {
    async fn handle(&self, _: Request, _: &mut Extensions, _: Next<'_>) -> Result<Response> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.may_answer.notified().await;
        Ok(Response::from(http::Response::new("")))
    }
}

/// How many of the callers reach the upstream at the instant at which an opening ends.
pub(crate) fn requests_at_the_deadline(callers: usize) -> usize {
    let clock = ManualClock::new();
    let registry = CircuitBreakerRegistry::builder().clock(clock.clone()).build();
    let registry = registry.expect("it is valid");
    let upstream = Upstream::default();
    let client = ClientBuilder::new(Client::new())
        .with(CircuitBreakerMiddleware::new(registry.clone()))
        .with(upstream.clone())
        .build();
    let key = registry.key_of(&request(), &Extensions::new());
    let breaker = key.and_then(|key| registry.get_or_create(&key));
    breaker.expect("there is room").trip(Duration::from_secs(30));
    clock.advance(Duration::from_secs(30));

    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build();
    runtime.expect("a runtime").block_on(async {
        let rejected = Arc::new(AtomicUsize::new(0));
        let calls = (0..callers).map(|_| {
            let (client, rejected) = (client.clone(), Arc::clone(&rejected));
            let may_answer = Arc::clone(&upstream.may_answer);
            tokio::spawn(async move {
                if client.execute(request()).await.is_err() && rejected.fetch_add(1, Ordering::Relaxed) + 2 == callers {
                    may_answer.notify_one();
                }
            })
        });
        // Two at the upstream would wait for each other: the count tells.
        let _ = tokio::time::timeout(Duration::from_secs(60), join_all(calls)).await;
    });
    upstream.requests.load(Ordering::Relaxed)
}
