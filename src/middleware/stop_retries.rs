//! Ending the retries of a call whose breaker has opened meanwhile.

use async_trait::async_trait;
use http::Extensions;
use reqwest::{Request, Response};
use reqwest_middleware::{Error, Middleware, Next, Result};

use super::placement::MarkedCall;
use super::{SkipCircuitBreaker, hops, placement};
use crate::error::{CircuitOpenError, Rejected};
use crate::registry::CircuitBreakerRegistry;

/// The middleware that ends the remaining attempts of a call whose breaker has opened meanwhile. It stands **inside** the
/// retries.
///
/// Without it a call that was admitted retries to the end of its policy, whatever the other calls found out. It never
/// rejects a probe's attempts, nor anything that [`would_admit`](crate::CircuitBreaker::would_admit) lets pass, and it
/// counts nothing: the call as a whole was admitted outside.
///
/// # Examples
///
/// ```
/// use reqwest_circuit_breaker::{CircuitBreakerMiddleware, CircuitBreakerRegistry};
/// use reqwest_retry::{RetryTransientMiddleware, policies::ExponentialBackoff};
///
/// let registry = CircuitBreakerRegistry::default();
/// let retries = ExponentialBackoff::builder().build_with_max_retries(3);
/// let client = reqwest_middleware::ClientBuilder::new(reqwest::Client::new())
///     .with(CircuitBreakerMiddleware::new(registry.clone()))
///     .with(RetryTransientMiddleware::new_with_policy(retries))
///     .with(registry.stop_retries())
///     .build();
/// # let _ = client;
/// ```
#[derive(Clone, Debug)]
pub struct StopRetriesWhenOpen {
    registry: CircuitBreakerRegistry,
}

impl CircuitBreakerRegistry {
    /// Returns a middleware for the inside of the retries, which ends them once the breaker is open.
    ///
    /// # Examples
    ///
    /// ```
    /// use reqwest_circuit_breaker::{CircuitBreakerRegistry, CircuitOpenError};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let registry = CircuitBreakerRegistry::default();
    /// let client = reqwest_middleware::ClientBuilder::new(reqwest::Client::new())
    ///     // .with(the breaker), .with(the retries)
    ///     .with(registry.stop_retries())
    ///     .build();
    /// let breaker = registry.get_or_create(&"https://stock.example".parse()?).expect("there is room");
    /// breaker.force_open();
    ///
    /// let error = client.get("https://stock.example/items/7").send().await.expect_err("the breaker is open");
    /// assert!(CircuitOpenError::find(&error).is_some());
    /// assert_eq!(breaker.snapshot().totals.rejected, 0, "it counts nothing");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stop_retries(&self) -> StopRetriesWhenOpen {
        StopRetriesWhenOpen { registry: self.clone() }
    }
}

impl StopRetriesWhenOpen {
    fn rejection(&self, request: &Request, extensions: &Extensions) -> Option<CircuitOpenError> {
        if extensions.get::<SkipCircuitBreaker>().is_some() {
            return None;
        }
        self.registry.look_at(request, extensions, |breaker| {
            let rejection = breaker.peek()?;
            let probing = placement::of(extensions, &self.registry, breaker.key()) == Some(MarkedCall::Probing);
            (!probing).then_some(rejection)
        })
    }
}

#[async_trait]
impl Middleware for StopRetriesWhenOpen {
    async fn handle(&self, request: Request, extensions: &mut Extensions, next: Next<'_>) -> Result<Response> {
        if let Some(open) = self.rejection(&request, extensions) {
            return Err(Error::middleware(Rejected(open)));
        }
        hops::note(&self.registry, None);
        next.run(request, extensions).await
    }
}
