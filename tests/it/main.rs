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
mod bodies;
mod callers_mistakes;
mod dropped_calls;
mod herd;
mod hung_upstream;
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
mod tls;
