//! The integration tests: one binary, a file per rule.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

mod keys;
#[cfg(feature = "metrics")]
mod observe_metrics;
#[cfg(feature = "serde")]
mod observe_serde;
#[cfg(all(feature = "tracing", feature = "retry"))]
mod observe_tracing;
