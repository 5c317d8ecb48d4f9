//! The integration tests: one binary, a file per rule.

mod abandoned;
mod api;
mod by_hand;
mod cancellation;
mod clock;
mod events;
mod eviction;
mod fixture;
mod idle;
mod in_stack;
mod keys;
mod keys_grow;
mod layers;
mod mock;
mod one_upstream;
mod opening_length;
mod placement;
mod probe_slots;
mod reading;
mod registry;
mod rejection;
mod report_only;
mod stale_verdicts;
mod totals;
mod trip_policies;
mod windows;
