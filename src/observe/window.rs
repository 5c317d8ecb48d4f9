//! What one window counted, in a snapshot and in a transition.

/// One window of a rate policy.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct WindowSnapshot {
    /// Calls in the window.
    pub calls: u64,
    /// Failures among them.
    pub failures: u64,
    /// Slow ones among them, whatever their verdict. Zero unless the policy is a slow-call rate.
    pub slow_calls: u64,
    /// Failures in percent of the calls; `None` below the policy's minimum of calls.
    pub failure_rate: Option<f64>,
    /// Slow calls in percent of the calls; `None` below the minimum, or if the policy is no slow-call rate.
    pub slow_call_rate: Option<f64>,
}
