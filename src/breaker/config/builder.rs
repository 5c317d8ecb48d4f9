//! The builder of a config.

use std::time::Duration;

use super::CircuitBreakerConfig;
use super::invalid::{InvalidConfig, above_zero, at_least_one};
use super::trip_policy::TripPolicy;

/// Builder of a [`CircuitBreakerConfig`].
///
/// # Examples
///
/// Every setting, with its default:
///
/// ```
/// use std::time::Duration;
/// use reqwest_circuit_breaker::{CircuitBreakerConfig, TripPolicy};
///
/// let config = CircuitBreakerConfig::builder()
///     .trip_on(TripPolicy::consecutive_failures(5))
///     .recovery_timeout(Duration::from_secs(30))
///     // .recovery_backoff(2, Duration::from_secs(120)), off
///     .recovery_jitter(0)
///     // .recovery_jitter_seed(7), random
///     // .honor_retry_after(Duration::from_secs(120)), off
///     .half_open_max_calls(1)
///     .half_open_successes(1)
///     .half_open_tolerated_failures(0)
///     .probe_timeout(Duration::from_secs(60))
///     // .abandoned_after(Duration::from_secs(9)), off
///     .report_only(false)
///     .build()?;
/// assert_eq!(config, CircuitBreakerConfig::default());
/// # Ok::<(), reqwest_circuit_breaker::InvalidConfig>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "a builder does nothing until it is built"]
pub struct CircuitBreakerConfigBuilder {
    policies: Vec<TripPolicy>,
    config: CircuitBreakerConfig,
}

impl CircuitBreakerConfigBuilder {
    /// Adds a policy that trips the breaker; any of them does.
    ///
    /// Default: [`consecutive_failures(5)`](TripPolicy::consecutive_failures), replaced by the first call. One failure
    /// is an accident and two may be one, but five in a row with not a single answer in between are an outage, whatever
    /// the traffic.
    pub fn trip_on(mut self, policy: TripPolicy) -> Self {
        self.policies.push(policy);
        self
    }

    /// Sets how long the breaker stays open before it lets a probe through.
    ///
    /// Default: 30 s, about what a restart or a failover takes. Shorter finds a recovery sooner and costs the upstream a
    /// probe more often.
    pub fn recovery_timeout(mut self, timeout: Duration) -> Self {
        self.config.recovery.timeout = timeout;
        self
    }

    /// Makes each opening in a row longer: the n-th lasts `recovery_timeout * factor^(n-1)`, at most `max`.
    ///
    /// Default: off. Set it where many clients probe one upstream, or where outages are long. Closing starts anew.
    /// The factor is at least 1, and `max` at least the `recovery_timeout`.
    ///
    /// ```
    /// use std::time::Duration;
    /// use reqwest_circuit_breaker::{CircuitBreakerConfig, CircuitBreakerRegistry, FailureKind, ManualClock, Verdict};
    ///
    /// let clock = ManualClock::new();
    /// let config = CircuitBreakerConfig::builder().recovery_backoff(2, Duration::from_secs(100)).build()?;
    /// let registry = CircuitBreakerRegistry::builder().config(config).clock(clock.clone()).build()?;
    /// let breaker = registry.get_or_create(&"https://stock.example".parse()?).expect("there is room");
    ///
    /// for _ in 0..5 {
    ///     breaker.try_acquire()?.record(Verdict::Failure(FailureKind::Timeout));
    /// }
    /// for seconds in [30, 60, 100, 100] {
    ///     assert_eq!(breaker.snapshot().retry_after, Some(Duration::from_secs(seconds)));
    ///     clock.advance(Duration::from_secs(seconds));
    ///     breaker.try_acquire()?.record(Verdict::Failure(FailureKind::Timeout));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn recovery_backoff(mut self, factor: impl Into<f64>, max: Duration) -> Self {
        self.config.recovery.backoff = Some((factor.into(), max));
        self
    }

    /// Spreads the length of an opening by `fraction` up or down, before the cap of the backoff.
    ///
    /// Default: 0. Set it, 0.1 say, where many instances open at the same moment, so that they do not probe at the same
    /// moment. From 0 to 1.
    ///
    /// ```
    /// use reqwest_circuit_breaker::CircuitBreakerConfig;
    ///
    /// assert!(CircuitBreakerConfig::builder().recovery_jitter(0.1).build().is_ok());
    /// let error = CircuitBreakerConfig::builder().recovery_jitter(10).build().expect_err("it is no percentage");
    /// assert_eq!(error.to_string(), "invalid `recovery_jitter`: must be from 0 to 1, is 10");
    /// ```
    pub fn recovery_jitter(mut self, fraction: impl Into<f64>) -> Self {
        self.config.recovery.jitter = fraction.into();
        self
    }

    /// Sets the seed of the jitter, so that a test sees the same openings each time. Default: random per registry.
    ///
    /// Breakers of one registry still differ, by their keys.
    pub fn recovery_jitter_seed(mut self, seed: u64) -> Self {
        self.config.recovery.jitter_seed = Some(seed);
        self
    }

    /// Lets a 503's `Retry-After` (RFC 9110, section 10.2.3) lengthen the opening that it causes, up to `max`.
    ///
    /// Default: off. Set it for upstreams that say when they will be back; the cap protects from those that say "next
    /// year". It never shortens an opening.
    ///
    /// ```
    /// use std::time::Duration;
    /// use reqwest_circuit_breaker::{CircuitBreakerConfig, CircuitBreakerRegistry, FailureKind, ManualClock, TripPolicy, Verdict};
    ///
    /// let config = CircuitBreakerConfig::builder()
    ///     .trip_on(TripPolicy::consecutive_failures(1))
    ///     .honor_retry_after(Duration::from_secs(120))
    ///     .build()?;
    /// let registry = CircuitBreakerRegistry::builder().config(config).clock(ManualClock::new()).build()?;
    /// let breaker = registry.get_or_create(&"https://stock.example".parse()?).expect("there is room");
    ///
    /// let next_year = Duration::from_secs(365 * 86_400);
    /// breaker.try_acquire()?.record_with_retry_after(Verdict::Failure(FailureKind::Other), next_year);
    /// assert_eq!(breaker.snapshot().retry_after, Some(Duration::from_secs(120)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn honor_retry_after(mut self, max: Duration) -> Self {
        self.config.recovery.honor_retry_after = Some(max);
        self
    }

    /// Sets how many probes may be in flight at once while half-open.
    ///
    /// Default: 1, which an upstream that is just getting up bears best. More decides faster where one probe proves
    /// little.
    pub fn half_open_max_calls(mut self, n: u32) -> Self {
        self.config.half_open_max_calls = n;
        self
    }

    /// Sets how many probes must succeed to close.
    ///
    /// Default: 1. More where an upstream behind a load balancer recovers instance by instance.
    pub fn half_open_successes(mut self, n: u32) -> Self {
        self.config.half_open_successes = n;
        self
    }

    /// Sets how many failed probes a half-open phase survives; one more opens again.
    ///
    /// Default: 0, the first failed probe opens again. Raise it together with
    /// [`half_open_successes`](Self::half_open_successes) where single failures are normal.
    ///
    /// ```
    /// use std::time::Duration;
    /// use reqwest_circuit_breaker::{CircuitBreakerConfig, CircuitBreakerRegistry, FailureKind, State, Verdict};
    ///
    /// let config = CircuitBreakerConfig::builder().half_open_successes(2).half_open_tolerated_failures(1).build()?;
    /// let registry = CircuitBreakerRegistry::new(config);
    /// let breaker = registry.get_or_create(&"https://stock.example".parse()?).expect("there is room");
    /// breaker.trip(Duration::ZERO);
    /// for verdict in [Verdict::Success, Verdict::Failure(FailureKind::Timeout), Verdict::Success] {
    ///     breaker.try_acquire()?.record(verdict);
    /// }
    /// assert_eq!(breaker.state(), State::Closed);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn half_open_tolerated_failures(mut self, n: u32) -> Self {
        self.config.half_open_tolerated_failures = n;
        self
    }

    /// Sets how long a probe may say nothing before the next caller may take its slot. What it says after that is late
    /// and changes nothing.
    ///
    /// Default: 60 s. A request with a longer [timeout](reqwest::RequestBuilder::timeout) of its own keeps its slot for
    /// that long. Set it above the client's total timeout.
    ///
    /// ```
    /// use std::time::Duration;
    /// use reqwest_circuit_breaker::{CircuitBreakerRegistry, ManualClock, State, Verdict};
    ///
    /// let clock = ManualClock::new();
    /// let registry = CircuitBreakerRegistry::builder().clock(clock.clone()).build()?;
    /// let breaker = registry.get_or_create(&"https://stock.example".parse()?).expect("there is room");
    /// breaker.trip(Duration::ZERO);
    /// let silent = breaker.try_acquire()?;
    /// assert!(!breaker.would_admit());
    ///
    /// clock.advance(Duration::from_secs(60));
    /// let next = breaker.try_acquire()?;
    /// silent.record(Verdict::Success);
    /// assert_eq!((breaker.state(), breaker.snapshot().totals.late), (State::HalfOpen, 1));
    /// next.record(Verdict::Success);
    /// assert_eq!(breaker.state(), State::Closed);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn probe_timeout(mut self, timeout: Duration) -> Self {
        self.config.probe_timeout = timeout;
        self
    }

    /// Makes a call that was dropped this long after its admission, or later, a failure of kind
    /// [`Abandoned`](crate::FailureKind::Abandoned) instead of forgetting it.
    ///
    /// Default: off. A service that wraps `send()` in a timeout of its own drops every call to a hung upstream, and
    /// nothing would ever trip. Better give the timeout to reqwest; where that cannot be, set this a little below the
    /// service's own timeout.
    ///
    /// ```
    /// use std::time::Duration;
    /// use reqwest_circuit_breaker::{CircuitBreakerConfig, CircuitBreakerRegistry, ManualClock};
    ///
    /// let clock = ManualClock::new();
    /// let config = CircuitBreakerConfig::builder().abandoned_after(Duration::from_secs(9)).build()?;
    /// let registry = CircuitBreakerRegistry::builder().config(config).clock(clock.clone()).build()?;
    /// let breaker = registry.get_or_create(&"https://stock.example".parse()?).expect("there is room");
    ///
    /// for waited in [8, 9] {
    ///     let permit = breaker.try_acquire()?;
    ///     clock.advance(Duration::from_secs(waited));
    ///     drop(permit);
    /// }
    /// let totals = breaker.snapshot().totals;
    /// assert_eq!((totals.cancelled, totals.failure), (1, 1));
    /// assert_eq!(totals.failures_by_kind["abandoned"], 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn abandoned_after(mut self, limit: Duration) -> Self {
        self.config.abandoned_after = Some(limit);
        self
    }

    /// Runs the whole machine, with all its counts and events, and rejects nothing.
    ///
    /// Default: `false`. For the first days in production: events and totals say what the breaker would have done.
    ///
    /// ```
    /// use reqwest_circuit_breaker::{CircuitBreakerConfig, CircuitBreakerRegistry};
    ///
    /// let config = CircuitBreakerConfig::builder().report_only(true).build()?;
    /// let registry = CircuitBreakerRegistry::new(config);
    /// let breaker = registry.get_or_create(&"https://stock.example".parse()?).expect("there is room");
    /// breaker.force_open();
    /// assert!(breaker.try_acquire().is_ok());
    /// assert_eq!(breaker.snapshot().totals.rejected, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn report_only(mut self, report_only: bool) -> Self {
        self.config.report_only = report_only;
        self
    }

    /// Builds the config.
    ///
    /// # Errors
    ///
    /// [`InvalidConfig`] names the setter whose value makes no sense, the first if there are several: a zero where at
    /// least one is needed, a rate that is not above 0 and at most 100 percent, a minimum above its count window, a window
    /// on a run, a jitter outside 0 to 1, a backoff with a factor below 1 or a cap below the recovery timeout.
    ///
    /// ```
    /// use std::time::Duration;
    /// use reqwest_circuit_breaker::CircuitBreakerConfig;
    ///
    /// let error = CircuitBreakerConfig::builder().recovery_timeout(Duration::ZERO).build().expect_err("no time");
    /// assert_eq!(error.to_string(), "invalid `recovery_timeout`: must be above zero");
    /// ```
    pub fn build(self) -> Result<CircuitBreakerConfig, InvalidConfig> {
        let mut config = self.config;
        if !self.policies.is_empty() {
            config.rules = self
                .policies
                .iter()
                .map(TripPolicy::validate)
                .collect::<Result<_, _>>()?;
            config.policies = self.policies;
        }
        config.recovery.validate()?;
        at_least_one("half_open_max_calls", config.half_open_max_calls)?;
        at_least_one("half_open_successes", config.half_open_successes)?;
        above_zero("probe_timeout", Some(config.probe_timeout))?;
        above_zero("abandoned_after", config.abandoned_after)?;
        Ok(config)
    }
}

#[cfg(test)]
mod tests;
