//! What happened, pushed to listeners.

use std::time::Duration;

use super::subject::{Subject, subject_accessors};
use super::transition::Transition;
use crate::error::CircuitOpenError;
use crate::key::CircuitKey;
use crate::state::RejectReason;
use crate::verdict::Verdict;

/// Something that happened to a breaker or its registry.
///
/// Each is delivered after every lock is released, in the thread that made it. Two threads may deliver out of order: the
/// [generation](Transition::generation) orders transitions of one key.
///
/// # Examples
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use reqwest_circuit_breaker::{CircuitBreakerRegistry, Event};
///
/// let heard = Arc::new(Mutex::new(Vec::new()));
/// let log = Arc::clone(&heard);
/// let registry = CircuitBreakerRegistry::builder()
///     .name("payments")
///     .listener(move |event: &Event| {
///         let what = match event {
///             Event::Transition(step) => format!("{} -> {} ({})", step.from(), step.to(), step.reason()),
///             Event::Rejected(rejected) => format!("rejected ({})", rejected.reason()),
///             Event::ProbeFinished(probe) => format!("probe: {:?}", probe.verdict()),
///             Event::Evicted(evicted) => format!("evicted ({})", evicted.reason().as_str()),
///             Event::KeysGrow(grow) => format!("{} keys", grow.created()),
///             _ => "see the docs".into(),
///         };
///         log.lock().expect("no panic").push(format!("{}: {}: {what}", event.registry(), event.key()));
///     })
///     .build()?;
///
/// let breaker = registry.get_or_create(&"https://stock.example".parse()?).expect("there is room");
/// breaker.force_open();
/// assert!(breaker.try_acquire().is_err());
/// assert_eq!(*heard.lock().expect("no panic"), [
///     "payments: https://stock.example: closed -> forced_open (manual)",
///     "payments: https://stock.example: rejected (forced_open)",
/// ]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg_attr(feature = "tracing", doc = include_str!("tracing.md"))]
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A breaker changed its state.
    Transition(Transition),
    /// A call was rejected, or would have been under `report_only`.
    Rejected(Rejected),
    /// A probe ended with a verdict that counted.
    ProbeFinished(ProbeFinished),
    /// A breaker left the registry.
    Evicted(Evicted),
    /// The registry is full and nothing may go. At most one event per second.
    Overflowed(Overflowed),
    /// A second attempt of one request was seen. Once per registry.
    Misplaced(Misplaced),
    /// The keys seem to have an id in them. Once per registry.
    KeysGrow(KeysGrow),
}

impl Event {
    /// Returns the name of the registry.
    pub fn registry(&self) -> &str {
        match self {
            Self::Transition(event) => event.registry(),
            Self::Rejected(event) => event.registry(),
            Self::ProbeFinished(event) => event.registry(),
            Self::Evicted(event) => event.registry(),
            Self::Overflowed(event) => event.registry(),
            Self::Misplaced(event) => event.registry(),
            Self::KeysGrow(event) => event.registry(),
        }
    }

    /// Returns the key concerned.
    pub fn key(&self) -> &CircuitKey {
        match self {
            Self::Transition(event) => event.key(),
            Self::Rejected(event) => event.key(),
            Self::ProbeFinished(event) => event.key(),
            Self::Evicted(event) => event.key(),
            Self::Overflowed(event) => event.key(),
            Self::Misplaced(event) => event.key(),
            Self::KeysGrow(event) => event.key(),
        }
    }
}

/// A call was rejected, or would have been.
///
/// # Examples
///
/// ```
/// use std::sync::mpsc;
/// use reqwest_circuit_breaker::{CircuitBreakerRegistry, Event, RejectReason};
///
/// let (tell, heard) = mpsc::channel();
/// let registry = CircuitBreakerRegistry::builder()
///     .listener(move |event: &Event| {
///         if let Event::Rejected(rejected) = event {
///             tell.send(rejected.clone()).ok();
///         }
///     })
///     .build()?;
/// let breaker = registry.get_or_create(&"https://stock.example".parse()?).expect("there is room");
/// breaker.force_open();
/// assert!(breaker.try_acquire().is_err());
///
/// let rejected = heard.recv()?;
/// assert_eq!((rejected.registry(), rejected.key()), ("default", breaker.key()));
/// assert_eq!((rejected.reason(), rejected.retry_after()), (RejectReason::ForcedOpen, None));
/// assert!(rejected.enforced(), "it is no report-only breaker");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Rejected {
    pub(crate) rejection: CircuitOpenError,
    pub(crate) enforced: bool,
}

impl Rejected {
    /// Returns the name of the registry.
    pub fn registry(&self) -> &str {
        self.rejection.registry()
    }

    /// Returns the key concerned.
    pub fn key(&self) -> &CircuitKey {
        self.rejection.key()
    }

    /// Returns the reason.
    pub fn reason(&self) -> RejectReason {
        self.rejection.reason()
    }

    /// Returns the time to the next probe, if it is known.
    pub fn retry_after(&self) -> Option<Duration> {
        self.rejection.retry_after()
    }

    /// Returns `false` under [`report_only`](crate::CircuitBreakerConfigBuilder::report_only): the call went through.
    pub fn enforced(&self) -> bool {
        self.enforced
    }
}

/// A probe ended with a verdict that counted. Dropped and late probes make no event.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeFinished {
    pub(crate) subject: Subject,
    pub(crate) verdict: Verdict,
}

impl ProbeFinished {
    subject_accessors!();

    /// Returns what the probe said. A success that was too slow is a failure of kind
    /// [`Slow`](crate::FailureKind::Slow).
    pub fn verdict(&self) -> Verdict {
        self.verdict
    }
}

/// A breaker left the registry.
#[derive(Clone, Debug, PartialEq)]
pub struct Evicted {
    pub(crate) subject: Subject,
    pub(crate) reason: EvictionReason,
}

impl Evicted {
    subject_accessors!();

    /// Returns the reason.
    pub fn reason(&self) -> EvictionReason {
        self.reason
    }
}

/// Reason why a breaker left the registry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EvictionReason {
    /// The registry was full, and this was the least recently used breaker that may go.
    Capacity,
    /// Nobody used it for the registry's idle timeout.
    Idle,
}

impl EvictionReason {
    /// Returns the reason's name in `snake_case`, as logs show it.
    ///
    /// ```
    /// use reqwest_circuit_breaker::EvictionReason;
    ///
    /// assert_eq!(EvictionReason::Idle.as_str(), "idle");
    /// ```
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Capacity => "capacity",
            Self::Idle => "idle",
        }
    }
}

/// The registry is full of breakers that must stay, and a new key found no room.
#[derive(Clone, Debug, PartialEq)]
pub struct Overflowed {
    pub(crate) subject: Subject,
}

impl Overflowed {
    subject_accessors!();
}

/// A second attempt of one request was seen: a retry middleware stands outside the breaker, or the registry stands twice
/// in one stack.
#[derive(Clone, Debug, PartialEq)]
pub struct Misplaced {
    pub(crate) subject: Subject,
}

impl Misplaced {
    subject_accessors!();
}

/// Many keys were created, none ever opened, and most saw fewer calls than any policy needs to trip: most likely the
/// keys have an id in them. The key is an example.
#[derive(Clone, Debug, PartialEq)]
pub struct KeysGrow {
    pub(crate) subject: Subject,
    pub(crate) created: u64,
}

impl KeysGrow {
    subject_accessors!();

    /// Returns the number of keys created so far.
    pub fn created(&self) -> u64 {
        self.created
    }
}
