//! The rejection, and the way to find it under whatever wrapped it.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::key::CircuitKey;
use crate::state::RejectReason;
use crate::verdict::FailureKind;

pub(crate) mod chain;

/// A call was rejected by a circuit breaker: it never left this process.
///
/// Its text names the registry, the key and the time to the next probe, and never the path, query or userinfo of the
/// request.
///
/// # Backtraces
///
/// A rejection through the middleware costs some hundred nanoseconds and two allocations: the middleware's future and
/// the error. With `RUST_BACKTRACE=1` in the environment it costs ten microseconds or more, since
/// `reqwest_middleware::Error` holds an `anyhow::Error`, which then captures a backtrace each time, and a breaker rejects
/// most where the load is highest. `RUST_LIB_BACKTRACE=0` beside it turns those of errors off and leaves those of panics on.
///
/// # Examples
///
/// ```
/// use reqwest_circuit_breaker::{CircuitBreakerRegistry, CircuitKey, CircuitOpenError, RejectReason};
///
/// let registry = CircuitBreakerRegistry::default();
/// let key: CircuitKey = "https://stock.example".parse()?;
/// let breaker = registry.get_or_create(&key).expect("there is room");
/// breaker.force_open();
///
/// let rejection = breaker.try_acquire().expect_err("it is forced open");
/// assert_eq!(rejection.key(), &key);
/// assert_eq!(rejection.reason(), RejectReason::ForcedOpen);
/// assert_eq!(rejection.to_string(), "circuit breaker `https://stock.example` (registry `default`) is forced open");
///
/// // Under a middleware stack the rejection is found through any wrapping.
/// let wrapped = reqwest_middleware::Error::middleware(rejection);
/// assert!(CircuitOpenError::find(&wrapped).is_some());
/// # Ok::<(), reqwest_circuit_breaker::InvalidKey>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CircuitOpenError {
    pub(crate) registry: Arc<str>,
    pub(crate) key: CircuitKey,
    pub(crate) reason: RejectReason,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) last_failure: Option<FailureKind>,
}

impl CircuitOpenError {
    /// Finds the rejection in an error or in anything it wraps: `reqwest_middleware::Error`,
    /// `reqwest_retry::RetryError` (feature `retry`), `anyhow` context, `io::Error`, a redirect that was rejected.
    pub fn find<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Self> {
        chain::rejection(error)
    }

    /// Returns the name of the registry whose breaker rejected.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// Returns the key of the breaker that rejected.
    pub fn key(&self) -> &CircuitKey {
        &self.key
    }

    /// Returns the reason of the rejection.
    pub fn reason(&self) -> RejectReason {
        self.reason
    }

    /// Returns the time from the rejection to the next probe: above zero and exact to the clock while the breaker is
    /// open, `None` for any other reason.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Returns the kind of the last failure that the breaker counted, if any.
    pub fn last_failure(&self) -> Option<FailureKind> {
        self.last_failure
    }
}

impl fmt::Display for CircuitOpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "circuit breaker `{}` (registry `{}`) is ", self.key, self.registry)?;
        match self.reason {
            RejectReason::Open => f.write_str("open")?,
            RejectReason::ProbeInFlight => f.write_str("half-open with its probe in flight")?,
            RejectReason::ForcedOpen => f.write_str("forced open")?,
        }
        if let Some(wait) = self.retry_after {
            write!(f, ", next probe in {wait:?}")?;
        }
        if let Some(kind) = self.last_failure {
            write!(f, ", last failure: {kind}")?;
        }
        Ok(())
    }
}

impl Error for CircuitOpenError {}

/// What the middleware puts under `reqwest_middleware::Error`, whose layers are all transparent: an error whose
/// *source* is the rejection is met by a plain walk over `source()`, the rejection itself would not be.
#[derive(Debug)]
pub(crate) struct Rejected(pub(crate) CircuitOpenError);

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "call to `{}` rejected", self.0.key)
    }
}

impl Error for Rejected {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}
