//! The integration tests: one binary, a file per rule.

mod fixture;
mod keys;
mod probe_slots;
