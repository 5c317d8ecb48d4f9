//! Events as `tracing` events.
//!
//! Levels say who has to look: a breaker that opens and a mistake in the set-up are warnings, any other transition is
//! news, and what may happen with every call is for debugging.

use std::time::Duration;

use tracing::field::{self, DebugValue, DisplayValue};
use tracing::{debug, info, warn};

use super::event::{Event, Rejected};
use super::transition::Transition;
use crate::state::State;
use crate::verdict::{FailureKind, Verdict};

/// Stays the same when modules move: filters name it.
const TARGET: &str = "reqwest_circuit_breaker";

pub(super) fn tell(event: &Event) {
    let (registry, key) = (event.registry(), event.key());
    match event {
        Event::Transition(transition) => tell_transition(transition),
        Event::Rejected(rejected) => tell_rejected(rejected),
        Event::ProbeFinished(finished) => {
            let (verdict, failure) = match finished.verdict() {
                Verdict::Success => ("success", None),
                Verdict::Failure(kind) => ("failure", Some(kind)),
                Verdict::Ignored => ("ignored", None),
            };
            let failure = shown(failure);
            debug!(target: TARGET, registry, %key, verdict, failure, "circuit breaker's probe finished");
        }
        Event::Evicted(evicted) => {
            let reason = evicted.reason().as_str();
            debug!(target: TARGET, registry, %key, reason, "circuit breaker evicted");
        }
        Event::Overflowed(_) => warn!(
            target: TARGET,
            registry,
            %key,
            "registry of circuit breakers is full and no breaker may go: calls with new keys are not protected"
        ),
        Event::Misplaced(_) => warn!(
            target: TARGET,
            registry,
            %key,
            "circuit breaker saw a second attempt of one request: attach its middleware once, and outside the retries"
        ),
        Event::KeysGrow(keys) => warn!(
            target: TARGET,
            registry,
            %key,
            created = keys.created(),
            "too many circuit breakers with too few calls each: their keys seem to have an id in them"
        ),
    }
}

fn tell_transition(transition: &Transition) {
    macro_rules! tell {
        ($level:ident, $message:literal) => {
            $level!(
                target: TARGET,
                registry = transition.registry(),
                key = %transition.key(),
                from = transition.from().as_str(),
                to = transition.to().as_str(),
                reason = transition.reason().as_str(),
                generation = transition.generation(),
                consecutive_failures = transition.consecutive_failures(),
                open_for = shortened(transition.open_for()),
                rejected = transition.rejected(),
                last_failure = shown(transition.last_failure()),
                $message
            )
        };
    }
    match transition.to() {
        State::Open => tell!(warn, "circuit breaker opened"),
        State::ForcedOpen => tell!(warn, "circuit breaker forced open"),
        State::HalfOpen => tell!(info, "circuit breaker half-open, probing"),
        State::Closed => tell!(info, "circuit breaker closed"),
        State::Disabled => tell!(info, "circuit breaker disabled"),
    }
}

fn tell_rejected(rejected: &Rejected) {
    debug!(
        target: TARGET,
        registry = rejected.registry(),
        key = %rejected.key(),
        reason = rejected.reason().as_str(),
        retry_after = shortened(rejected.retry_after()),
        last_failure = shown(rejected.rejection.last_failure()),
        enforced = rejected.enforced(),
        "call rejected by circuit breaker"
    );
}

/// A field without a value is left out of the event.
fn shown(kind: Option<FailureKind>) -> Option<DisplayValue<FailureKind>> {
    kind.map(field::display)
}

/// Shown as `1.5s`: logs are read by people.
fn shortened(time: Option<Duration>) -> Option<DebugValue<Duration>> {
    time.map(field::debug)
}
