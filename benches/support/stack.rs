//! A middleware stack that answers by itself: what is left is the cost of the stack.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::FutureExt;
use http::Extensions;
use reqwest::{Client, Method, Request, Response, ResponseBuilderExt};
use reqwest_circuit_breaker::{CircuitBreakerMiddleware, CircuitBreakerRegistry};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Middleware, Next, Result};

/// The request's address. Nothing is ever sent there.
pub(crate) const URL: &str = "https://stock.example/items/7";

/// What every middleware costs: a boxed future, and the call through a trait object.
pub(crate) struct Empty;

#[async_trait]
impl Middleware for Empty {
    async fn handle(&self, request: Request, extensions: &mut Extensions, next: Next<'_>) -> Result<Response> {
        next.run(request, extensions).await
    }
}

/// Answers at once, instead of the network, and from the URL that was asked.
struct Answer;

#[async_trait]
impl Middleware for Answer {
    async fn handle(&self, request: Request, _: &mut Extensions, _: Next<'_>) -> Result<Response> {
        let response = http::Response::builder().url(request.url().clone()).body("");
        Ok(Response::from(response.expect("it is valid")))
    }
}

/// A stack of one middleware that answers by itself.
pub(crate) fn answered(middleware: impl Middleware) -> ClientWithMiddleware {
    ClientBuilder::new(Client::new())
        .with_arc(Arc::new(middleware))
        .with(Answer)
        .build()
}

/// The same stack with the breaker of a registry.
pub(crate) fn protected(registry: &CircuitBreakerRegistry) -> ClientWithMiddleware {
    answered(CircuitBreakerMiddleware::new(registry.clone()))
}

/// A registry in which the breaker of [`URL`] is open.
pub(crate) fn open_registry() -> CircuitBreakerRegistry {
    let registry = CircuitBreakerRegistry::default();
    let key = registry.key_of(&request(), &Extensions::new());
    let breaker = key.and_then(|key| registry.get_or_create(&key));
    breaker
        .expect("there is room")
        .trip(std::time::Duration::from_secs(86_400));
    registry
}

pub(crate) fn request() -> Request {
    Request::new(Method::GET, URL.parse().expect("a URL"))
}

/// Sends a request through a stack that answers by itself, hence never waits.
#[inline]
pub(crate) fn send(client: &ClientWithMiddleware, request: Request) -> Result<Response> {
    let sent = client.execute(request).now_or_never();
    sent.expect("the stack answers at once")
}
