//! A breaker around a client, on a clock that stands still, and what came of a call.

use std::time::Duration;

use reqwest_circuit_breaker::{
    CircuitBreaker, CircuitBreakerConfig, CircuitBreakerMiddleware, CircuitBreakerRegistry,
    CircuitBreakerRegistryBuilder, CircuitKey, CircuitOpenError, CircuitSnapshot, FailureKind, ManualClock, Origin,
    RejectReason, TripPolicy,
};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, RequestBuilder};

use super::client::client;

/// The default recovery timeout.
pub(crate) const RECOVERY: Duration = Duration::from_secs(30);

/// A registry with a clock of its own and the defaults: five failures in a row open.
pub(crate) struct World {
    pub(crate) registry: CircuitBreakerRegistry,
    pub(crate) clock: ManualClock,
}

impl World {
    pub(crate) fn new() -> Self {
        Self::with(|builder| builder)
    }

    /// One whose breakers open at so many failures in a row.
    pub(crate) fn opening_at(failures: u32) -> Self {
        Self::with(|builder| builder.config(opening_at(failures)))
    }

    pub(crate) fn with(change: impl FnOnce(CircuitBreakerRegistryBuilder) -> CircuitBreakerRegistryBuilder) -> Self {
        let clock = ManualClock::new();
        let builder = CircuitBreakerRegistry::builder().clock(clock.clone());
        Self {
            registry: change(builder).build().unwrap(),
            clock,
        }
    }

    /// The middleware.
    pub(crate) fn breaker(&self) -> CircuitBreakerMiddleware {
        CircuitBreakerMiddleware::new(self.registry.clone())
    }

    /// A client with the middleware and nothing else.
    pub(crate) fn client(&self) -> ClientWithMiddleware {
        self.around(client())
    }

    pub(crate) fn around(&self, client: reqwest::Client) -> ClientWithMiddleware {
        ClientBuilder::new(client).with(self.breaker()).build()
    }

    /// A client with the middleware outside of some retries.
    #[cfg(feature = "retry")]
    pub(crate) fn retrying(&self, retries: u32) -> ClientWithMiddleware {
        ClientBuilder::new(client())
            .with(self.breaker())
            .with(super::client::retry(retries))
            .build()
    }

    /// The breaker of a URL's origin, which must exist.
    pub(crate) fn of(&self, url: &str) -> CircuitBreaker {
        self.registry.get(&key(url)).expect("a breaker of this origin")
    }

    /// The same, made if need be.
    pub(crate) fn make(&self, url: &str) -> CircuitBreaker {
        self.registry.get_or_create(&key(url)).expect("room for a breaker")
    }

    pub(crate) fn seen(&self, url: &str) -> CircuitSnapshot {
        self.of(url).snapshot()
    }

    /// Opens the breaker of a URL and lets its recovery timeout pass: the next call is the probe.
    pub(crate) fn make_probe_due(&self, url: &str) -> CircuitBreaker {
        let breaker = self.make(url);
        breaker.trip(RECOVERY);
        self.clock.advance(RECOVERY);
        assert!(breaker.snapshot().probe_due);
        breaker
    }
}

pub(crate) fn opening_at(failures: u32) -> CircuitBreakerConfig {
    CircuitBreakerConfig::builder()
        .trip_on(TripPolicy::consecutive_failures(failures))
        .build()
        .unwrap()
}

/// The key of a URL's origin.
pub(crate) fn key(url: &str) -> CircuitKey {
    Origin::of(&url.parse().unwrap()).expect("an origin").into()
}

/// What came of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Answered(u16),
    Rejected(RejectReason),
    /// An error, and what the crate makes of it.
    Failed(Option<FailureKind>),
}

/// Gets a URL. The body is not read.
pub(crate) async fn get(client: &ClientWithMiddleware, url: &str) -> End {
    end(client.get(url)).await
}

pub(crate) async fn end(request: RequestBuilder) -> End {
    match request.send().await {
        Ok(response) => End::Answered(response.status().as_u16()),
        Err(error) => match CircuitOpenError::find(&error) {
            Some(open) => End::Rejected(open.reason()),
            None => End::Failed(FailureKind::of(&error)),
        },
    }
}

/// Waits until it is so, for as long as the slowest machine may take.
pub(crate) async fn until(mut holds: impl FnMut() -> bool) {
    for _ in 0..30_000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("it never came to be");
}
