//! A breaker changed its state.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::subject::{Subject, subject_accessors};
use super::window::WindowSnapshot;
use crate::key::CircuitKey;
use crate::state::{State, TransitionReason};
use crate::verdict::FailureKind;

/// A breaker changed its state. The numbers are those from *before* the move.
///
/// It comes to a [`Listener`](crate::Listener), and stays in the [history](crate::CircuitSnapshot::history).
///
/// # Examples
///
/// ```
/// use reqwest_circuit_breaker::{CircuitBreakerRegistry, FailureKind, State, TransitionReason, Verdict};
///
/// let registry = CircuitBreakerRegistry::default();
/// let breaker = registry.get_or_create(&"https://stock.example".parse()?).expect("there is room");
/// for _ in 0..5 {
///     breaker.try_acquire()?.record(Verdict::Failure(FailureKind::Timeout));
/// }
///
/// let history = breaker.snapshot().history;
/// let tripped = &history[0];
/// assert_eq!((tripped.registry(), tripped.key()), ("default", breaker.key()));
/// assert_eq!((tripped.from(), tripped.to()), (State::Closed, State::Open));
/// assert_eq!((tripped.generation(), tripped.reason()), (1, TransitionReason::Tripped));
/// assert_eq!((tripped.consecutive_failures(), tripped.last_failure()), (5, Some(FailureKind::Timeout)));
/// assert!(tripped.windows().is_empty(), "there is no rate policy");
/// assert_eq!((tripped.open_for(), tripped.rejected()), (None, 0));
/// assert!(tripped.at() <= std::time::SystemTime::now());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Transition {
    pub(crate) subject: Subject,
    pub(crate) step: Arc<Step>,
    pub(crate) at: SystemTime,
}

/// The part of a transition that the state machine knows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    pub(crate) from: State,
    pub(crate) to: State,
    pub(crate) generation: u64,
    pub(crate) reason: TransitionReason,
    pub(crate) consecutive_failures: u32,
    pub(crate) windows: Vec<WindowSnapshot>,
    pub(crate) open_for: Option<Duration>,
    pub(crate) rejected: u64,
    pub(crate) last_failure: Option<FailureKind>,
    /// Since the registry began.
    pub(crate) at: Duration,
}

/// Flat, as the accessors are.
impl fmt::Debug for Transition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transition")
            .field("registry", &self.registry())
            .field("key", self.key())
            .field("from", &self.from())
            .field("to", &self.to())
            .field("generation", &self.generation())
            .field("reason", &self.reason())
            .field("consecutive_failures", &self.consecutive_failures())
            .field("windows", &self.windows())
            .field("open_for", &self.open_for())
            .field("rejected", &self.rejected())
            .field("last_failure", &self.last_failure())
            .field("at", &self.at())
            .finish()
    }
}

impl Transition {
    subject_accessors!();

    /// Returns the state before.
    pub fn from(&self) -> State {
        self.step.from
    }

    /// Returns the state after. Equal to the one before only for a reset of a closed or a trip of an open breaker.
    pub fn to(&self) -> State {
        self.step.to
    }

    /// Returns the number of this transition: 1 for the breaker's first, one more for each.
    pub fn generation(&self) -> u64 {
        self.step.generation
    }

    /// Returns the reason.
    pub fn reason(&self) -> TransitionReason {
        self.step.reason
    }

    /// Returns the length of the run of failures, the one that tripped included.
    pub fn consecutive_failures(&self) -> u32 {
        self.step.consecutive_failures
    }

    /// Returns the windows of the rate policies, the verdict that tripped included.
    pub fn windows(&self) -> &[WindowSnapshot] {
        &self.step.windows
    }

    /// Returns the time since the breaker last opened, if it was open, half-open or forced open before.
    pub fn open_for(&self) -> Option<Duration> {
        self.step.open_for
    }

    /// Returns the number of calls rejected since the breaker last opened.
    pub fn rejected(&self) -> u64 {
        self.step.rejected
    }

    /// Returns the kind of the last failure that was counted.
    pub fn last_failure(&self) -> Option<FailureKind> {
        self.step.last_failure
    }

    /// Returns the wall-clock time of the transition.
    pub fn at(&self) -> SystemTime {
        self.at
    }
}
