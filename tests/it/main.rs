//! The integration tests: one binary, a file per rule, a scripted local server in `support`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

mod abandoned;
mod api;
mod bodies;
mod by_hand;
mod callers_mistakes;
mod cancellation;
#[cfg(feature = "retry")]
mod chaos;
mod clock;
mod dice;
mod dropped_calls;
mod events;
mod eviction;
#[cfg(feature = "retry")]
mod experiments;
mod faults;
mod fixture;
mod herd;
mod hung_upstream;
mod idle;
mod in_stack;
mod keys;
mod keys_grow;
mod layers;
#[cfg(feature = "retry")]
mod misplaced;
mod mock;
mod model;
#[cfg(feature = "metrics")]
mod observe_metrics;
#[cfg(feature = "serde")]
mod observe_serde;
mod one_upstream;
mod opening_length;
mod placement;
mod probe_slots;
mod reading;
mod redirects;
mod registry;
mod rejection;
mod report_only;
#[cfg(feature = "retry")]
mod retries;
mod retry_after;
mod sharing;
mod skip;
mod stale_connections;
mod stale_verdicts;
mod statuses;
#[cfg(feature = "retry")]
mod stopping_retries;
mod stress;
mod support;
mod tls;
mod totals;
mod trip_policies;
mod windows;
