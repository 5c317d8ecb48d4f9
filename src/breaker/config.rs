//! The rules of one breaker: when it trips, how it recovers.
//!
//! A config is checked once, when it is built, and never again: the state machine can rely on it.

use std::time::Duration;

mod builder;
pub(crate) mod invalid;
pub(crate) mod trip_policy;

pub use self::builder::CircuitBreakerConfigBuilder;
pub use self::invalid::InvalidConfig;
pub use self::trip_policy::TripPolicy;

use self::trip_policy::Rule;
use super::recovery::Recovery;

/// Rules of one breaker, valid by construction.
///
/// The default is right for an upstream whose traffic you do not know: five consecutive failures trip, 30 s later one
/// probe decides.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use reqwest_circuit_breaker::{CircuitBreakerConfig, TripPolicy};
///
/// let config = CircuitBreakerConfig::builder()
///     .trip_on(TripPolicy::consecutive_failures(3))
///     .recovery_timeout(Duration::from_secs(10))
///     .recovery_backoff(2.0, Duration::from_secs(120))
///     .build()?;
/// # let _ = config;
/// # Ok::<(), reqwest_circuit_breaker::InvalidConfig>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CircuitBreakerConfig {
    policies: Vec<TripPolicy>,
    rules: Vec<Rule>,
    pub(crate) recovery: Recovery,
    pub(crate) half_open_max_calls: u32,
    pub(crate) half_open_successes: u32,
    pub(crate) half_open_tolerated_failures: u32,
    pub(crate) probe_timeout: Duration,
    pub(crate) abandoned_after: Option<Duration>,
    pub(crate) report_only: bool,
}

impl CircuitBreakerConfig {
    /// Returns a builder that holds the defaults.
    ///
    /// ```
    /// use reqwest_circuit_breaker::CircuitBreakerConfig;
    ///
    /// assert_eq!(CircuitBreakerConfig::builder().build()?, CircuitBreakerConfig::default());
    /// # Ok::<(), reqwest_circuit_breaker::InvalidConfig>(())
    /// ```
    pub fn builder() -> CircuitBreakerConfigBuilder {
        CircuitBreakerConfigBuilder::default()
    }

    /// Returns the policies that trip the breaker; any of them does.
    ///
    /// ```
    /// use reqwest_circuit_breaker::{CircuitBreakerConfig, TripPolicy};
    ///
    /// assert_eq!(CircuitBreakerConfig::default().policies(), [TripPolicy::consecutive_failures(5)]);
    /// ```
    pub fn policies(&self) -> &[TripPolicy] {
        &self.policies
    }

    pub(crate) fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The shortest limit of all slow-call policies: what a probe has to keep.
    pub(crate) fn slower_than(&self) -> Option<Duration> {
        self.rules
            .iter()
            .filter_map(|rule| {
                if let Rule::Rate(rate) = rule {
                    rate.slower_than
                } else {
                    None
                }
            })
            .min()
    }

    /// Whether a closed admission has to read the clock.
    pub(crate) fn times_calls(&self) -> bool {
        self.abandoned_after.is_some() || self.slower_than().is_some()
    }
}

impl Default for CircuitBreakerConfig {
    fn default() -> Self {
        Self {
            policies: vec![TripPolicy::consecutive_failures(5)],
            rules: vec![Rule::Consecutive(5)],
            recovery: Recovery::default(),
            half_open_max_calls: 1,
            half_open_successes: 1,
            half_open_tolerated_failures: 0,
            probe_timeout: Duration::from_secs(60),
            abandoned_after: None,
            report_only: false,
        }
    }
}
