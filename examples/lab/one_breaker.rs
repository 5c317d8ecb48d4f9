//! The breakers that the experiments warn of.

use async_trait::async_trait;
use http::Extensions;
use reqwest::{Request, Response};
use reqwest_circuit_breaker::{
    CircuitBreaker, CircuitBreakerConfig, CircuitBreakerRegistry, CircuitKey, FailureKind, TripPolicy, Verdict,
};
use reqwest_middleware::{Error, Middleware, Next, Result};

/// One breaker around every call that comes along, whichever upstream it is for.
pub(crate) struct OneBreaker(CircuitBreaker);

impl OneBreaker {
    /// Five failures within the last twenty calls open it, once there are so many.
    pub(crate) fn new(minimum_calls: u32) -> Self {
        let policy = TripPolicy::failure_rate(25)
            .over_last_calls(20)
            .minimum_calls(minimum_calls);
        let config = CircuitBreakerConfig::builder()
            .trip_on(policy)
            .build()
            .expect("a valid config");
        let key: CircuitKey = "http://any.example".parse().expect("a valid key");
        let registry = CircuitBreakerRegistry::new(config);
        Self(registry.get_or_create(&key).expect("room for the first breaker"))
    }

    /// A handle to the same breaker.
    pub(crate) fn handle(&self) -> CircuitBreaker {
        self.0.clone()
    }
}

#[async_trait]
impl Middleware for OneBreaker {
    async fn handle(&self, request: Request, extensions: &mut Extensions, next: Next<'_>) -> Result<Response> {
        let permit = self.0.try_acquire().map_err(Error::middleware)?;
        let ended = next.run(request, extensions).await;
        permit.record(match &ended {
            Ok(response) if response.status().is_server_error() => {
                Verdict::Failure(FailureKind::Status(response.status()))
            }
            Ok(_) => Verdict::Success,
            Err(error) => FailureKind::of(error).map_or(Verdict::Ignored, Verdict::Failure),
        });
        ended
    }
}
