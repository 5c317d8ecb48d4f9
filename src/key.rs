//! WHICH breaker?

use std::fmt;

/// Key of one circuit breaker.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CircuitKey;

impl fmt::Display for CircuitKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stub")
    }
}
