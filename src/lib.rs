//! A circuit breaker for HTTP clients built on `reqwest` and `reqwest-middleware`: one upstream, one verdict.

mod breaker;
mod error;
mod key;
mod observe;
mod outcome;
mod state;
mod sync;
mod verdict;

pub use breaker::*;
pub use error::CircuitOpenError;
pub use key::{CircuitKey, InvalidKey, KeyScheme, Origin, Route};
pub use observe::*;
pub use outcome::{Classifier, ConnectionFailures, DefaultClassifier, Outcome};
pub use state::{RejectReason, State, TransitionReason};
pub use verdict::{FailureKind, Verdict};
