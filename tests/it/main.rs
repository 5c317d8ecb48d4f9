//! The integration tests: one binary, a file per rule, a scripted local server in `support`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

mod bodies;
mod callers_mistakes;
mod dropped_calls;
#[cfg(feature = "retry")]
mod experiments;
mod faults;
mod herd;
mod hung_upstream;
mod keys;
mod layers;
#[cfg(feature = "retry")]
mod misplaced;
mod redirects;
#[cfg(feature = "retry")]
mod retries;
mod retry_after;
mod sharing;
mod skip;
mod stale_connections;
mod statuses;
#[cfg(feature = "retry")]
mod stopping_retries;
mod support;
mod tls;
