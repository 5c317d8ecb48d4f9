//! WHEN does a breaker trip?
//!
//! A policy is data: the builder validates it, the state machine interprets it, a test can generate it. Rates are kept
//! in basis points (hundredths of a percent), so that the decision is made in integers and `>=` means it.

use std::fmt;
use std::time::Duration;

use super::InvalidConfig;

const DEFAULT_WINDOW: Span = Span::Time(Duration::from_secs(30));
const DEFAULT_MINIMUM: u32 = 20;
/// A count window keeps two bits per call: 250 KB per breaker at this bound.
const MAX_COUNT_WINDOW: u32 = 1_000_000;

/// What trips a closed breaker.
///
/// | traffic to the upstream | policy |
/// |---|---|
/// | low, or unknown | [`consecutive_failures`](Self::consecutive_failures): needs no minimum, reacts to an outage at once |
/// | high, some failures are normal | [`failure_rate`](Self::failure_rate) over some seconds |
/// | bursty | [`failure_rate`](Self::failure_rate) [`over_last_calls`](Self::over_last_calls): a quiet hour forgets nothing |
/// | an upstream that drowns instead of failing | [`slow_call_rate`](Self::slow_call_rate), beside one of the others |
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use reqwest_circuit_breaker::{CircuitBreakerConfig, TripPolicy};
///
/// let config = CircuitBreakerConfig::builder()
///     .trip_on(TripPolicy::failure_rate(50.0).over_last(Duration::from_secs(10)).minimum_calls(10))
///     .trip_on(TripPolicy::consecutive_failures(20))
///     .build()?;
/// assert_eq!(config.policies().len(), 2);
/// # Ok::<(), reqwest_circuit_breaker::InvalidConfig>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TripPolicy {
    limit: Limit,
    span: Option<Span>,
    minimum: Option<u32>,
}

/// As the caller gave it: validated by [`TripPolicy::validate`].
#[derive(Clone, Debug, PartialEq)]
enum Limit {
    Consecutive(u32),
    FailureRate(f64),
    SlowCallRate(f64, Duration),
}

/// What a window covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Span {
    Time(Duration),
    Calls(u32),
}

/// A validated policy, as the state machine reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    Consecutive(u32),
    Rate(RateRule),
}

/// A validated rate: failures, or slow calls where `slower_than` is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RateRule {
    pub(crate) basis_points: u32,
    pub(crate) slower_than: Option<Duration>,
    pub(crate) span: Span,
    pub(crate) minimum: u32,
}

impl TripPolicy {
    /// Trips at the `n`-th failure in a row; any success in between starts the run anew. The default, with 5.
    ///
    /// A window or a minimum on it is an [`InvalidConfig`]. An ignored or cancelled call neither adds to the run nor ends
    /// it.
    ///
    /// ```
    /// use reqwest_circuit_breaker::TripPolicy;
    ///
    /// assert_eq!(TripPolicy::consecutive_failures(5).to_string(), "5 consecutive failures");
    /// ```
    pub fn consecutive_failures(n: u32) -> Self {
        Self::new(Limit::Consecutive(n))
    }

    /// Trips when at least `percent` of the calls in the window failed.
    ///
    /// `percent` is above 0 and at most 100 once rounded to hundredths of a percent. Calls are those that succeeded or
    /// failed: ignored and cancelled ones are not in the window.
    ///
    /// ```
    /// use reqwest_circuit_breaker::TripPolicy;
    ///
    /// let policy = TripPolicy::failure_rate(50);
    /// assert_eq!(policy.to_string(), "failure rate >= 50 % over the last 30s, minimum 20 calls");
    /// ```
    pub fn failure_rate(percent: impl Into<f64>) -> Self {
        Self::new(Limit::FailureRate(percent.into()))
    }

    /// Trips when at least `percent` of the calls in the window took longer than `slower_than`, whatever their verdict.
    ///
    /// A call lasts from its admission to its verdict. With such a policy a slow probe is a failed probe, of kind
    /// [`FailureKind::Slow`](crate::FailureKind::Slow). The bounds of `percent` are those of
    /// [`failure_rate`](Self::failure_rate); a `slower_than` of zero is an [`InvalidConfig`].
    ///
    /// ```
    /// use std::time::Duration;
    /// use reqwest_circuit_breaker::TripPolicy;
    ///
    /// let policy = TripPolicy::slow_call_rate(80, Duration::from_secs(2));
    /// assert_eq!(policy.to_string(), "calls slower than 2s >= 80 % over the last 30s, minimum 20 calls");
    /// ```
    pub fn slow_call_rate(percent: impl Into<f64>, slower_than: Duration) -> Self {
        Self::new(Limit::SlowCallRate(percent.into(), slower_than))
    }

    /// Sets a window of time: the rate is of the calls of the last `window`, exact to a thirty-second part of it.
    ///
    /// Default: 30 s. Shorter reacts and forgets faster; it should still see several times `minimum_calls`.
    /// A policy has one window: the last of `over_last` and [`over_last_calls`](Self::over_last_calls) holds. Zero is an
    /// [`InvalidConfig`].
    ///
    /// ```
    /// use std::time::Duration;
    /// use reqwest_circuit_breaker::TripPolicy;
    ///
    /// let policy = TripPolicy::failure_rate(50).over_last(Duration::from_secs(10)).minimum_calls(50);
    /// assert_eq!(policy.to_string(), "failure rate >= 50 % over the last 10s, minimum 50 calls");
    /// ```
    #[must_use]
    pub fn over_last(mut self, window: Duration) -> Self {
        self.span = Some(Span::Time(window));
        self
    }

    /// Sets a window of calls: the rate is of the last `n` calls, however long ago. From 1 to
    /// 1 000 000; each takes two bits of memory per breaker.
    ///
    /// A policy has one window: the last of `over_last_calls` and [`over_last`](Self::over_last) holds.
    ///
    /// ```
    /// use reqwest_circuit_breaker::TripPolicy;
    ///
    /// let policy = TripPolicy::failure_rate(50).over_last_calls(10);
    /// assert_eq!(policy.to_string(), "failure rate >= 50 % over the last 10 calls, minimum 10 calls");
    /// ```
    #[must_use]
    pub fn over_last_calls(mut self, n: u32) -> Self {
        self.span = Some(Span::Calls(n));
        self
    }

    /// Sets the number of calls in the window below which there is no rate. Default: 20, or all of a shorter
    /// count window. Above a count window it is an [`InvalidConfig`].
    ///
    /// It keeps two failures in a quiet night from being a rate of 100 %.
    ///
    /// ```
    /// use reqwest_circuit_breaker::{CircuitBreakerConfig, TripPolicy};
    ///
    /// let policy = TripPolicy::failure_rate(50).over_last_calls(10).minimum_calls(20);
    /// let error = CircuitBreakerConfig::builder().trip_on(policy).build().expect_err("never reached");
    /// assert_eq!(error.to_string(), "invalid `minimum_calls`: must be at most the window of 10 calls, is 20");
    /// ```
    #[must_use]
    pub fn minimum_calls(mut self, n: u32) -> Self {
        self.minimum = Some(n);
        self
    }

    fn new(limit: Limit) -> Self {
        Self {
            limit,
            span: None,
            minimum: None,
        }
    }

    pub(crate) fn validate(&self) -> Result<Rule, InvalidConfig> {
        let (basis_points, slower_than) = match self.limit {
            Limit::Consecutive(n) => return self.validate_consecutive(n),
            Limit::FailureRate(percent) => (basis_points("failure_rate", percent)?, None),
            Limit::SlowCallRate(percent, slower_than) => {
                if slower_than.is_zero() {
                    return Err(InvalidConfig::new("slow_call_rate", "`slower_than` must be above zero"));
                }
                (basis_points("slow_call_rate", percent)?, Some(slower_than))
            }
        };
        let span = self.span.unwrap_or(DEFAULT_WINDOW);
        let minimum = self.minimum_or_default(span);
        match span {
            Span::Time(Duration::ZERO) => return Err(InvalidConfig::new("over_last", "must be above zero")),
            Span::Calls(0) => return Err(InvalidConfig::new("over_last_calls", "must be at least 1")),
            Span::Calls(n) if n > MAX_COUNT_WINDOW => {
                let problem = format!("must be at most {MAX_COUNT_WINDOW}, is {n}");
                return Err(InvalidConfig::new("over_last_calls", problem));
            }
            Span::Calls(n) if minimum > n => {
                let problem = format!("must be at most the window of {n} calls, is {minimum}");
                return Err(InvalidConfig::new("minimum_calls", problem));
            }
            _ if minimum == 0 => return Err(InvalidConfig::new("minimum_calls", "must be at least 1")),
            _ => {}
        }
        Ok(Rule::Rate(RateRule {
            basis_points,
            slower_than,
            span,
            minimum,
        }))
    }

    fn minimum_or_default(&self, span: Span) -> u32 {
        self.minimum.unwrap_or(match span {
            Span::Time(_) => DEFAULT_MINIMUM,
            Span::Calls(n) => n.min(DEFAULT_MINIMUM),
        })
    }

    fn validate_consecutive(&self, n: u32) -> Result<Rule, InvalidConfig> {
        let problem = "means nothing on `consecutive_failures`";
        match self.span {
            Some(Span::Time(_)) => return Err(InvalidConfig::new("over_last", problem)),
            Some(Span::Calls(_)) => return Err(InvalidConfig::new("over_last_calls", problem)),
            None => {}
        }
        if self.minimum.is_some() {
            return Err(InvalidConfig::new("minimum_calls", problem));
        }
        if n == 0 {
            return Err(InvalidConfig::new("consecutive_failures", "must be at least 1"));
        }
        Ok(Rule::Consecutive(n))
    }
}

impl Rule {
    /// The fewest calls that could trip this policy.
    pub(crate) fn fewest_calls(&self) -> u32 {
        match self {
            Self::Consecutive(n) => *n,
            Self::Rate(rate) => rate.minimum,
        }
    }
}

impl RateRule {
    /// Returns `true` if there is a rate and `part` of `calls` is at or above the limit.
    pub(crate) fn is_reached(&self, part: u64, calls: u64) -> bool {
        calls >= u64::from(self.minimum) && part * 10_000 >= calls * u64::from(self.basis_points)
    }
}

fn basis_points(field: &'static str, percent: f64) -> Result<u32, InvalidConfig> {
    // A `NaN` fails both comparisons, so it is told from a number first.
    let rounded = (percent * 100.0).round();
    if !rounded.is_finite() {
        Err(InvalidConfig::new(
            field,
            format!("must be a number of percent, is {percent}"),
        ))
    } else if rounded < 1.0 {
        Err(InvalidConfig::new(
            field,
            format!("must be at least 0.01 percent, is {percent}"),
        ))
    } else if rounded > 10_000.0 {
        Err(InvalidConfig::new(
            field,
            format!("must be at most 100 percent, is {percent}"),
        ))
    } else {
        Ok(rounded as u32)
    }
}

/// Shows the policy as a sentence: `failure rate >= 50 % over the last 10s, minimum 10 calls`.
impl fmt::Display for TripPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.limit {
            Limit::Consecutive(n) => return write!(f, "{n} consecutive failures"),
            Limit::FailureRate(percent) => write!(f, "failure rate >= {percent} %")?,
            Limit::SlowCallRate(percent, than) => write!(f, "calls slower than {than:?} >= {percent} %")?,
        }
        let span = self.span.unwrap_or(DEFAULT_WINDOW);
        match span {
            Span::Time(window) => write!(f, " over the last {window:?}")?,
            Span::Calls(n) => write!(f, " over the last {n} calls")?,
        }
        write!(f, ", minimum {} calls", self.minimum_or_default(span))
    }
}
