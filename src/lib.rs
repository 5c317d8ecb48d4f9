//! A circuit breaker for HTTP clients built on `reqwest` and `reqwest-middleware`: one upstream, one verdict.

#[cfg(target_family = "wasm")]
compile_error!(
    "reqwest-circuit-breaker needs hyper, which reqwest does not use on wasm: there are no connections to tell apart"
);

mod breaker;
mod error;
mod key;
mod middleware;
mod observe;
mod outcome;
mod registry;
mod state;
mod sync;
mod verdict;

pub use breaker::{
    CircuitBreaker, CircuitBreakerConfig, CircuitBreakerConfigBuilder, Clock, InvalidConfig, ManualClock, Permit,
    SystemClock, TripPolicy,
};
pub use error::CircuitOpenError;
pub use key::{CircuitKey, InvalidKey, KeyScheme, Origin, Route};
pub use middleware::{CircuitBreakerMiddleware, SkipCircuitBreaker, StopRetriesWhenOpen};
pub use observe::{
    CircuitSnapshot, Event, Evicted, EvictionReason, HalfOpenSnapshot, KeysGrow, Listener, Misplaced, Overflowed,
    ProbeFinished, RegistryStats, Rejected, Totals, Transition, WindowSnapshot,
};
pub use outcome::{Classifier, ConnectionFailures, DefaultClassifier, Outcome, VerdictAt};
pub use registry::{CircuitBreakerRegistry, CircuitBreakerRegistryBuilder};
pub use state::{RejectReason, State, TransitionReason};
pub use verdict::{FailureKind, Verdict};
