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
/// Under the middleware it is the *source* of the error that `send()` returns. That error's own text says only which
/// key's call was rejected, and the state of its breaker: print it as `{error:#}`, or [find](Self::find) the rejection.
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
/// assert_eq!((rejection.registry(), rejection.key()), ("default", &key));
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
    ///
    /// `None`: the error is not a rejection, so the call was sent, or failed on the way to the breaker.
    ///
    /// # Examples
    ///
    /// ```
    /// use reqwest_circuit_breaker::{CircuitBreakerMiddleware, CircuitBreakerRegistry, CircuitOpenError};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let registry = CircuitBreakerRegistry::default();
    /// let client = reqwest_middleware::ClientBuilder::new(reqwest::Client::new())
    ///     .with(CircuitBreakerMiddleware::new(registry.clone()))
    ///     .build();
    /// let breaker = registry.get_or_create(&"https://stock.example".parse()?).expect("there is room");
    /// breaker.force_open();
    ///
    /// let error = client.get("https://stock.example/items/7").send().await.expect_err("it is forced open");
    /// assert_eq!(error.to_string(), "call to `https://stock.example` rejected, its circuit breaker is forced open");
    /// let rejection = CircuitOpenError::find(&error).expect("nothing was sent");
    /// assert_eq!(rejection.key(), breaker.key());
    ///
    /// // `anyhow::Error` and `Box<dyn Error>` are no errors themselves: look at what they hold.
    /// let error = anyhow::Error::new(error).context("no stock for item 7");
    /// assert!(CircuitOpenError::find(error.as_ref()).is_some());
    /// let error: Box<dyn std::error::Error + Send + Sync> = error.into();
    /// assert!(CircuitOpenError::find(&*error).is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn find<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Self> {
        chain::rejection(error)
    }

    /// Returns the name of the registry whose breaker rejected: with a host layer in front of endpoints, which of both.
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
    /// open, `None` for any other reason. (The error's text rounds it up to milliseconds.)
    ///
    /// ```
    /// use std::time::Duration;
    /// use reqwest_circuit_breaker::{CircuitBreakerRegistry, ManualClock, RejectReason};
    ///
    /// let clock = ManualClock::new();
    /// let registry = CircuitBreakerRegistry::builder().clock(clock.clone()).build()?;
    /// let breaker = registry.get_or_create(&"https://stock.example".parse()?).expect("there is room");
    /// breaker.trip(Duration::from_secs(30));
    /// clock.advance(Duration::from_secs(10));
    /// let rejection = breaker.try_acquire().expect_err("it is open");
    /// assert_eq!(rejection.retry_after(), Some(Duration::from_secs(20)));
    ///
    /// // How long the probe takes is known to nobody.
    /// clock.advance(Duration::from_secs(20));
    /// let _probe = breaker.try_acquire()?;
    /// let rejection = breaker.try_acquire().expect_err("the probe holds the slot");
    /// assert_eq!((rejection.reason(), rejection.retry_after()), (RejectReason::ProbeInFlight, None));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Returns the kind of the last failure that the breaker counted, if any.
    ///
    /// ```
    /// use reqwest_circuit_breaker::{CircuitBreakerRegistry, FailureKind, Verdict};
    ///
    /// let registry = CircuitBreakerRegistry::default();
    /// let breaker = registry.get_or_create(&"https://stock.example".parse()?).expect("there is room");
    /// for _ in 0..5 {
    ///     breaker.try_acquire()?.record(Verdict::Failure(FailureKind::Dns));
    /// }
    /// let rejection = breaker.try_acquire().expect_err("five in a row");
    /// assert_eq!(rejection.last_failure(), Some(FailureKind::Dns));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn last_failure(&self) -> Option<FailureKind> {
        self.last_failure
    }
}

impl fmt::Display for CircuitOpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "circuit breaker `{}` (registry `{}`) is ", self.key, self.registry)?;
        f.write_str(standing(self.reason))?;
        if let Some(wait) = self.retry_after {
            write!(f, ", next probe in {:?}", in_millis(wait))?;
        }
        if let Some(kind) = self.last_failure {
            write!(f, ", last failure: {kind}")?;
        }
        Ok(())
    }
}

impl Error for CircuitOpenError {}

/// Rounds up to milliseconds: nobody reads nanoseconds, and whoever waits that long does not come too early.
fn in_millis(wait: Duration) -> Duration {
    let short = wait.subsec_nanos() % 1_000_000;
    let up = if short == 0 { 0 } else { 1_000_000 - short };
    wait.saturating_add(Duration::from_nanos(up.into()))
}

/// How a breaker stands that rejects for this reason.
fn standing(reason: RejectReason) -> &'static str {
    match reason {
        RejectReason::Open => "open",
        RejectReason::ProbeInFlight => "half-open with its probe in flight",
        RejectReason::ForcedOpen => "forced open",
    }
}

/// What the middleware puts under `reqwest_middleware::Error`, whose layers are all transparent: an error whose
/// *source* is the rejection is met by a plain walk over `source()`, the rejection itself would not be.
#[derive(Debug)]
pub(crate) struct Rejected(pub(crate) CircuitOpenError);

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A log that shows no causes shall still say what it was.
        let standing = standing(self.0.reason);
        write!(
            f,
            "call to `{}` rejected, its circuit breaker is {standing}",
            self.0.key
        )
    }
}

impl Error for Rejected {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_rounds_the_wait_up_to_milliseconds() {
        for (nanos, shown) in [
            (1, "1ms"),
            (1_000_000, "1ms"),
            (19_999_000_001, "20s"),
            (22_500_000_000, "22.5s"),
        ] {
            assert_eq!(format!("{:?}", in_millis(Duration::from_nanos(nanos))), shown);
        }
        assert_eq!(in_millis(Duration::MAX), Duration::MAX);
    }
}
