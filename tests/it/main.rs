//! The integration tests: one binary, a file per rule.

mod abandoned;
mod by_hand;
mod cancellation;
mod clock;
mod events;
mod eviction;
mod fixture;
mod idle;
mod keys;
mod keys_grow;
mod opening_length;
mod probe_slots;
mod reading;
mod registry;
mod rejection;
mod report_only;
mod stale_verdicts;
mod totals;
mod trip_policies;
mod windows;
