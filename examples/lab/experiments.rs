//! The experiments, and what they share: upstreams, callers, tables.
//!
//! The integration tests run them too, so that the claims hold in every build.

use reqwest_circuit_breaker::{CircuitBreakerMiddleware, CircuitBreakerRegistry};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};

pub(crate) use self::table::Table;
pub(crate) use self::which_key::Scale;

mod calls;
mod one_breaker;
mod table;
#[path = "../support/upstream.rs"]
mod upstream;

pub(crate) mod one_client;
pub(crate) mod one_signal;
pub(crate) mod probe;
pub(crate) mod what_counts;
pub(crate) mod which_key;
pub(crate) mod whole_host;

/// A client of its own connections; everything is on this machine, whatever proxy there is.
fn plain() -> ClientBuilder {
    let client = reqwest::Client::builder().no_proxy().build();
    ClientBuilder::new(client.expect("a client without any options"))
}

/// A client with the breakers of a registry, as they should be.
fn protected(registry: &CircuitBreakerRegistry) -> ClientWithMiddleware {
    plain().with(CircuitBreakerMiddleware::new(registry.clone())).build()
}
