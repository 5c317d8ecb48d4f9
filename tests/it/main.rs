//! The integration tests: one binary, a file per rule, a scripted local server in `support`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

mod abandoned;
mod by_hand;
mod cancellation;
mod clock;
mod events;
mod faults;
mod fixture;
mod keys;
#[cfg(feature = "metrics")]
mod observe_metrics;
#[cfg(feature = "serde")]
mod observe_serde;
#[cfg(all(feature = "tracing", feature = "retry"))]
mod observe_tracing;
mod opening_length;
mod probe_slots;
mod reading;
mod rejection;
mod report_only;
mod stale_verdicts;
mod support;
mod totals;
mod trip_policies;
mod windows;
