//! A circuit breaker for HTTP clients built on `reqwest` and `reqwest-middleware`: one upstream, one verdict.

mod error;
mod key;
mod outcome;
mod state;
mod verdict;

pub use error::CircuitOpenError;
pub use key::CircuitKey;
pub use outcome::Outcome;
pub use outcome::classifier::{Classifier, ConnectionFailures, DefaultClassifier};
pub use state::{RejectReason, State, TransitionReason};
pub use verdict::{FailureKind, Verdict};
