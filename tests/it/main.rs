//! The integration tests: one binary, a file per rule, a scripted local server in `support`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

mod faults;
mod keys;
#[cfg(feature = "metrics")]
mod observe_metrics;
#[cfg(feature = "serde")]
mod observe_serde;
#[cfg(all(feature = "tracing", feature = "retry"))]
mod observe_tracing;
mod support;
