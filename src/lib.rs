//! A circuit breaker for HTTP clients built on [`reqwest`] and [`reqwest_middleware`]: one upstream, one verdict.
//!
//! A service calls several upstreams through one client. When one of them is down, calls to *it* fail at once, locally,
//! and calls to the others do not notice. Two lines attach it, and the defaults are right:
//!
//! ```
//! use reqwest_circuit_breaker::{CircuitBreakerMiddleware, CircuitBreakerRegistry, CircuitOpenError};
//! use reqwest_retry::{RetryTransientMiddleware, policies::ExponentialBackoff};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let registry = CircuitBreakerRegistry::default(); // one per application; every clone is the same registry
//! let retries = ExponentialBackoff::builder().build_with_max_retries(2);
//! let client = reqwest_middleware::ClientBuilder::new(reqwest::Client::new())
//!     .with(CircuitBreakerMiddleware::new(registry.clone())) // outside ...
//!     .with(RetryTransientMiddleware::new_with_policy(retries)) // ... the retries
//!     .build();
//!
//! # let url = "data:,stock";
//! match client.get(url).send().await {
//!     Ok(response) => println!("{}", response.status()), // the upstream's answer, a 503 included, untouched
//!     Err(error) => match CircuitOpenError::find(&error) {
//!         Some(open) => println!("{} is down, next probe in {:?}", open.key(), open.retry_after()),
//!         None => println!("the upstream's failure, untouched: {error}"),
//!     },
//! }
//! for snapshot in registry.snapshots() {
//!     println!("{} {}", snapshot.key, snapshot.state);
//! }
//! # });
//! ```
//!
//! # The rules
//!
//! 1. **One upstream, one verdict.** A breaker belongs to a normalized origin (scheme, host, port), or to a narrower part
//!    of one, never to a client. State lives in the registry, which outlives clients.
//! 2. **One signal per logical call.** The middleware stands outside the retries and hears the call's final outcome, once.
//! 3. **Only signs that the upstream cannot answer count**: timeouts, connect, DNS and TLS errors, disconnects, protocol
//!    errors, 5xx. Every other answer (404, 429, 3xx) is the upstream working. The caller's own fault is neither.
//! 4. **A call that was given up is forgotten.** A dropped future gives its probe slot back and says nothing.
//! 5. **Only the probe decides** whether traffic resumes. Results of calls admitted in an earlier state change nothing.
//!
//! # The states
//!
//! ```text
//!                     a policy trips                 more probes failed than tolerated
//!          ┌───────────────────────────────┐     ┌──────────────────────────────────┐
//!          │                               ▼     ▼                                  │
//!       closed                              open ───────────────────────────────▶ half-open
//!          ▲                                   first call after the recovery timeout │
//!          └────────────────────────────────────────────────────────────────────────┘
//!                                enough probes succeeded
//! ```
//!
//! Nothing runs between calls: no task, no timer. All moves are made by the calls themselves, or by hand
//! ([`force_open`](CircuitBreaker::force_open), [`disable`](CircuitBreaker::disable), [`reset`](CircuitBreaker::reset),
//! [`trip`](CircuitBreaker::trip)).
//!
//! # Where to go from here
//!
//! - [The stack, and what the caller must know](guide::stack): timeouts, streaming bodies, redirects, proxies.
//! - [Choosing policies](guide::policies) from the traffic.
//! - [Choosing keys](guide::keys), and a host layer in front of endpoints.
//! - [Testing a service](guide::testing) with a fake clock.
//! - [How it compares](guide::comparison) with breakers you know.
//! - [`CircuitBreakerMiddleware`], [`CircuitBreakerRegistry`] and [`CircuitBreakerConfig`] are what you set up;
//!   [`CircuitOpenError`], [`CircuitSnapshot`] and [`Event`] are what you look at.
//! - [`CircuitBreaker`] works by hand around any call, HTTP or not.
//!
//! # Features
//!
//! | feature | default | brings |
//! |---|---|---|
//! | `retry` | yes | sees through `reqwest_retry::RetryError`; without it, failures under reqwest-retry can't be seen |
//! | `http2` | yes | tells HTTP/2 faults apart |
//! | `tracing` | no | transitions and rejections as events |
//! | `metrics` | no | counters and gauges through the `metrics` facade |
//! | `serde` | no | `Serialize` for snapshots and stats |
//!
//! All are additive. reqwest is used without its default features: you choose TLS.
//!
//! # Panics
//!
//! No function of this crate panics on input. What you bring may: a panic in a listener is contained; one in a
//! classifier, a key function or the inner stack passes through, and the call counts as cancelled.

#[cfg(target_family = "wasm")]
compile_error!(
    "reqwest-circuit-breaker needs hyper, which reqwest does not use on wasm: there are no connections to tell apart"
);

mod breaker;
mod error;
mod foreign;
#[cfg(any(doc, doctest))]
pub mod guide;
mod key;
mod middleware;
mod observe;
mod outcome;
mod registry;
mod state;
mod sync;
mod verdict;

pub use breaker::{
    CircuitBreaker, CircuitBreakerConfig, CircuitBreakerConfigBuilder, Clock, InvalidConfig, ManualClock, Permit,
    SystemClock, TripPolicy,
};
pub use error::CircuitOpenError;
pub use key::{CircuitKey, InvalidKey, KeyScheme, Origin, Route};
pub use middleware::{CircuitBreakerMiddleware, SkipCircuitBreaker, StopRetriesWhenOpen};
pub use observe::{
    CircuitSnapshot, Event, Evicted, EvictionReason, HalfOpenSnapshot, KeysGrow, Listener, Misplaced, Overflowed,
    ProbeFinished, RegistryStats, Rejected, Totals, Transition, WindowSnapshot,
};
pub use outcome::{Classifier, ConnectionFailures, DefaultClassifier, Outcome, VerdictAt};
pub use registry::{CircuitBreakerRegistry, CircuitBreakerRegistryBuilder};
pub use state::{RejectReason, State, TransitionReason};
pub use verdict::{FailureKind, Verdict};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
