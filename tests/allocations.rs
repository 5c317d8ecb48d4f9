//! What a call may allocate. A binary of its own, since it counts with an allocator of its own.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::backtrace::{Backtrace, BacktraceStatus};
use std::borrow::Cow;
use std::process::Command;
use std::time::Duration;

use allocation_counter::measure;
use async_trait::async_trait;
use futures_util::FutureExt;
use http::Extensions;
use reqwest::{Client, Method, Request, Response};
use reqwest_circuit_breaker::{
    CircuitBreakerConfig, CircuitBreakerMiddleware, CircuitBreakerRegistry, CircuitKey, CircuitOpenError, KeyScheme,
    Route, TripPolicy, Verdict,
};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Middleware, Next, Result};

/// What every middleware costs.
struct Empty;

#[async_trait]
impl Middleware for Empty {
    async fn handle(&self, request: Request, extensions: &mut Extensions, next: Next<'_>) -> Result<Response> {
        next.run(request, extensions).await
    }
}

/// Answers at once, instead of the network.
struct Answer;

#[async_trait]
impl Middleware for Answer {
    async fn handle(&self, _: Request, _: &mut Extensions, _: Next<'_>) -> Result<Response> {
        Ok(Response::from(http::Response::new("")))
    }
}

fn stack(middleware: impl Middleware) -> ClientWithMiddleware {
    ClientBuilder::new(Client::new()).with(middleware).with(Answer).build()
}

fn protected(registry: &CircuitBreakerRegistry) -> ClientWithMiddleware {
    stack(CircuitBreakerMiddleware::new(registry.clone()))
}

fn request() -> Request {
    Request::new(Method::GET, "https://stock.example/items/42".parse().unwrap())
}

/// Sends one request, and counts the allocations from there to the end.
fn send(client: &ClientWithMiddleware, extensions: &mut Extensions) -> (u64, Result<Response>) {
    let (request, mut result) = (request(), None);
    let counted = measure(|| result = client.execute_with_extensions(request, extensions).now_or_never());
    (counted.count_total, result.expect("the stack answers at once"))
}

/// The allocations of a call after the first.
fn of_a_later_call(client: &ClientWithMiddleware, extensions: &Extensions) -> u64 {
    send(client, &mut extensions.clone()).1.unwrap();
    let (allocations, result) = send(client, &mut extensions.clone());
    result.unwrap();
    allocations
}

#[test]
fn a_healthy_call_allocates_as_much_as_with_an_empty_middleware() {
    let label = |_: &Request, _: &Extensions| Some(Cow::Borrowed("eu-west"));
    let mut routed = Extensions::new();
    routed.insert(Route::new("/items/{id}"));
    for (scheme, extensions) in [
        (KeyScheme::origin(), Extensions::new()),
        (KeyScheme::method(), Extensions::new()),
        (KeyScheme::route(), routed.clone()),
        (KeyScheme::endpoint(), routed),
        (KeyScheme::route().infer_routes(), Extensions::new()),
        (KeyScheme::endpoint().infer_routes(), Extensions::new()),
        (KeyScheme::custom(label), Extensions::new()),
    ] {
        let name = format!("{scheme:?}");
        let registry = CircuitBreakerRegistry::builder().key_scheme(scheme).build().unwrap();
        let own = of_a_later_call(&protected(&registry), &extensions);
        let empty = of_a_later_call(&stack(Empty), &extensions);
        assert_eq!(own, empty, "{name}");
        assert_eq!(registry.len(), 1, "{name}: it was protected");
    }
}

#[test]
fn neither_a_clock_nor_a_window_makes_a_healthy_call_allocate() {
    let config = CircuitBreakerConfig::builder()
        .trip_on(TripPolicy::failure_rate(50.0))
        .trip_on(TripPolicy::slow_call_rate(50.0, Duration::from_secs(1)).over_last_calls(100))
        .abandoned_after(Duration::from_secs(1))
        .build()
        .unwrap();
    let registry = CircuitBreakerRegistry::builder()
        .config(config)
        .idle_timeout(Duration::from_secs(60))
        .build()
        .unwrap();
    let own = of_a_later_call(&protected(&registry), &Extensions::new());
    assert_eq!(own, of_a_later_call(&stack(Empty), &Extensions::new()));
}

#[test]
fn a_healthy_call_leaves_nothing_in_the_extensions() {
    let client = protected(&CircuitBreakerRegistry::default());
    for _ in 0..2 {
        let mut extensions = Extensions::new();
        send(&client, &mut extensions).1.unwrap();
        assert!(extensions.is_empty());
    }
}

#[test]
fn a_healthy_call_by_hand_allocates_nothing_its_look_up_included() {
    let registry = CircuitBreakerRegistry::default();
    let key: CircuitKey = "https://stock.example".parse().unwrap();
    let call = || {
        let breaker = registry.get_or_create(&key).unwrap();
        breaker.try_acquire().unwrap().record(Verdict::Success);
    };
    call();
    assert_eq!(measure(call).count_total, 0);
}

#[test]
fn a_rejection_allocates_its_future_and_its_error() {
    const NAME: &str = "a_rejection_allocates_its_future_and_its_error";
    if Backtrace::capture().status() != BacktraceStatus::Disabled {
        // A backtrace in the error is the environment's wish, and the standard library asks for it only once.
        let mut without = Command::new(std::env::current_exe().unwrap());
        without.args(["--exact", NAME]).env("RUST_LIB_BACKTRACE", "0");
        assert!(without.output().unwrap().status.success());
        return;
    }
    // With it the series are registered once. Without one they are offered to each rejection's recorder, and made anew.
    #[cfg(feature = "metrics")]
    metrics_exporter_prometheus::PrometheusBuilder::new()
        .install_recorder()
        .unwrap();
    let registry = CircuitBreakerRegistry::default();
    let key = registry.key_of(&request(), &Extensions::new()).unwrap();
    registry.get_or_create(&key).unwrap().trip(Duration::from_secs(60));
    let client = protected(&registry);
    send(&client, &mut Extensions::new()).1.unwrap_err();
    for _ in 0..2 {
        let (allocations, result) = send(&client, &mut Extensions::new());
        assert!(CircuitOpenError::find(&result.unwrap_err()).is_some());
        assert_eq!(allocations, 2);
    }
}
