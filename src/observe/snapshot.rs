//! What a breaker looks like at one moment.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::transition::Transition;
use super::window::WindowSnapshot;
use crate::key::CircuitKey;
use crate::state::State;
use crate::verdict::FailureKind;

/// One breaker at one moment. Taking it changes nothing. Times are of the registry's clock.
///
/// What to read from it at three in the morning is in the [guide](crate::guide::operations).
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use reqwest_circuit_breaker::{CircuitBreakerRegistry, ManualClock, State};
///
/// let clock = ManualClock::new();
/// let registry = CircuitBreakerRegistry::builder().clock(clock.clone()).build()?;
/// let breaker = registry.get_or_create(&"https://stock.example".parse()?).expect("there is room");
/// breaker.trip(Duration::from_secs(30));
///
/// clock.advance(Duration::from_secs(10));
/// let snapshot = breaker.snapshot();
/// assert_eq!(snapshot.state, State::Open);
/// assert_eq!(snapshot.open_for, Some(Duration::from_secs(10)));
/// assert_eq!(snapshot.retry_after, Some(Duration::from_secs(20)));
///
/// clock.advance(Duration::from_secs(20));
/// let snapshot = breaker.snapshot();
/// assert_eq!((snapshot.state, snapshot.retry_after, snapshot.probe_due), (State::Open, None, true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg_attr(feature = "serde", doc = include_str!("snapshot.md"))]
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct CircuitSnapshot {
    /// Name of the registry.
    pub registry: Arc<str>,
    /// Key of the breaker.
    pub key: CircuitKey,
    /// State. An opening whose time is over stays [`Open`](State::Open), with `probe_due`, until a call comes.
    pub state: State,
    /// Number of transitions so far.
    pub generation: u64,
    /// Length of the present run of failures.
    pub consecutive_failures: u32,
    /// Windows of the rate policies, in the order of the policies.
    pub windows: Vec<WindowSnapshot>,
    /// Calls admitted and not yet ended, of all generations.
    pub in_flight: u64,
    /// The half-open phase, if there is one.
    pub half_open: Option<HalfOpenSnapshot>,
    /// Time since the breaker last opened, while it is open, half-open or forced open. A failed probe opens it again and
    /// starts this time anew; [`history`](Self::history) shows when it left the closed state.
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::json::seconds"))]
    pub open_for: Option<Duration>,
    /// Time to the next probe, while open and above zero: `None` once [`probe_due`](Self::probe_due) is `true`.
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::json::seconds"))]
    pub retry_after: Option<Duration>,
    /// Whether the breaker is open and the next call will be its probe.
    pub probe_due: bool,
    /// Kind of the last failure that was counted; it stays when the breaker closes.
    pub last_failure: Option<FailureKind>,
    /// Openings since the breaker was last closed, those by hand left out: what the backoff counts.
    pub opened_in_a_row: u32,
    /// Totals since the breaker was created.
    pub totals: Totals,
    /// The last 8 transitions, oldest first.
    #[cfg_attr(feature = "serde", serde(serialize_with = "super::json::history"))]
    pub history: Vec<Transition>,
}

/// The half-open phase of a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct HalfOpenSnapshot {
    /// Probes that hold a slot.
    pub in_flight: u32,
    /// Probes that succeeded.
    pub successes: u32,
    /// Probes that failed.
    pub failures: u32,
}

/// Totals of one breaker since it was created.
///
/// `started` is the sum of `success`, `failure`, `ignored`, `cancelled`, `late` and the snapshot's `in_flight`, at every
/// instant. Rejected calls never started; under
/// [`report_only`](crate::CircuitBreakerConfigBuilder::report_only) they did, and their verdicts are late.
#[cfg_attr(feature = "metrics", doc = include_str!("metrics.md"))]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Totals {
    /// Calls admitted.
    pub started: u64,
    /// Calls that the upstream answered.
    pub success: u64,
    /// Calls that it could not answer.
    pub failure: u64,
    /// Calls that said nothing about the upstream.
    pub ignored: u64,
    /// Calls that were dropped before they ended.
    pub cancelled: u64,
    /// Calls whose verdict came in another generation than their admission, or after their probe slot was lost.
    pub late: u64,
    /// Calls that were rejected.
    pub rejected: u64,
    /// The failures by [name of their kind](FailureKind::as_str); kinds that never happened are left out.
    pub failures_by_kind: BTreeMap<&'static str, u64>,
}

/// Counts of a registry since it was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct RegistryStats {
    /// Breakers at present.
    pub breakers: usize,
    /// Breakers created.
    pub created: u64,
    /// Breakers evicted, for room or for idleness.
    pub evicted: u64,
    /// Calls that found the registry full and nothing that could go.
    pub overflowed: u64,
    /// Second attempts seen for one request: something outside is retrying, or the registry is in the stack twice.
    pub misplaced: u64,
}
