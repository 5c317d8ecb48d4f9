//! The error of a senseless setting.

use std::borrow::Cow;
use std::time::Duration;

/// A setting of a builder makes no sense, and the builder says which.
///
/// # Examples
///
/// ```
/// use reqwest_circuit_breaker::{CircuitBreakerConfig, TripPolicy};
///
/// let error = CircuitBreakerConfig::builder()
///     .trip_on(TripPolicy::failure_rate(101.0))
///     .build()
///     .expect_err("no rate is above 100 %");
/// assert_eq!(error.field(), "failure_rate");
/// assert_eq!(error.to_string(), "invalid `failure_rate`: must be at most 100 percent, is 101");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid `{field}`: {problem}")]
pub struct InvalidConfig {
    field: &'static str,
    problem: Cow<'static, str>,
}

impl InvalidConfig {
    pub(crate) fn new(field: &'static str, problem: impl Into<Cow<'static, str>>) -> Self {
        Self {
            field,
            problem: problem.into(),
        }
    }

    /// Returns the name of the setter whose value was wrong.
    ///
    /// ```
    /// use reqwest_circuit_breaker::CircuitBreakerConfig;
    ///
    /// let error = CircuitBreakerConfig::builder().half_open_successes(0).build().expect_err("none can close it");
    /// assert_eq!(error.field(), "half_open_successes");
    /// ```
    pub fn field(&self) -> &'static str {
        self.field
    }
}

pub(crate) fn at_least_one(field: &'static str, n: u32) -> Result<(), InvalidConfig> {
    if n == 0 {
        Err(InvalidConfig::new(field, "must be at least 1"))
    } else {
        Ok(())
    }
}

pub(crate) fn above_zero(field: &'static str, duration: Option<Duration>) -> Result<(), InvalidConfig> {
    if duration == Some(Duration::ZERO) {
        return Err(InvalidConfig::new(field, "must be above zero"));
    }
    Ok(())
}
