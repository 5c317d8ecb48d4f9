//! The integration tests: one binary, a file per rule.

mod keys;
mod model;
