//! The states of a breaker, and why it moved or rejected.
//!
//! Plain names that every room of the crate shares: the state machine moves between them, a rejection carries them, an
//! event and a snapshot show them.

use std::fmt;

/// State of a circuit breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum State {
    /// Calls pass, and their verdicts are counted.
    Closed,
    /// Calls are rejected until the recovery timeout is over.
    Open,
    /// A bounded number of probes pass, and they alone decide whether traffic resumes.
    HalfOpen,
    /// Calls are rejected until somebody resets the breaker by hand.
    ForcedOpen,
    /// Calls pass, and no verdict can trip the breaker until somebody resets it by hand.
    Disabled,
}

impl State {
    /// Returns the state's name in `snake_case`, as logs, metrics and JSON show it.
    ///
    /// ```
    /// use reqwest_circuit_breaker::State;
    ///
    /// assert_eq!(State::HalfOpen.as_str(), "half_open");
    /// ```
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
            Self::ForcedOpen => "forced_open",
            Self::Disabled => "disabled",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Reason of a [`Transition`](crate::Transition).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum TransitionReason {
    /// A trip policy saw its limit reached: closed → open.
    Tripped,
    /// A call came at or after the end of the opening: open → half-open.
    RecoveryDue,
    /// Enough probes succeeded: half-open → closed.
    ProbesSucceeded,
    /// More probes failed than tolerated: half-open → open.
    ProbesFailed,
    /// Somebody called `force_open`, `disable`, `reset` or `trip`.
    Manual,
}

impl TransitionReason {
    /// Returns the reason's name in `snake_case`, as logs, metrics and JSON show it.
    ///
    /// ```
    /// use reqwest_circuit_breaker::TransitionReason;
    ///
    /// assert_eq!(TransitionReason::RecoveryDue.as_str(), "recovery_due");
    /// ```
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Tripped => "tripped",
            Self::RecoveryDue => "recovery_due",
            Self::ProbesSucceeded => "probes_succeeded",
            Self::ProbesFailed => "probes_failed",
            Self::Manual => "manual",
        }
    }
}

impl fmt::Display for TransitionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Reason why a call was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum RejectReason {
    /// The breaker is open, and the time to the next probe is known.
    Open,
    /// The breaker is half-open, and every probe slot is taken.
    ProbeInFlight,
    /// The breaker was opened by hand and stays so until it is reset.
    ForcedOpen,
}

impl RejectReason {
    /// Returns the reason's name in `snake_case`, as logs, metrics and JSON show it.
    ///
    /// ```
    /// use reqwest_circuit_breaker::RejectReason;
    ///
    /// assert_eq!(RejectReason::ProbeInFlight.as_str(), "probe_in_flight");
    /// ```
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::ProbeInFlight => "probe_in_flight",
            Self::ForcedOpen => "forced_open",
        }
    }
}

impl fmt::Display for RejectReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
