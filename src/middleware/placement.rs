//! Marks that a call leaves in its extensions, by which a second attempt of one request is told.
//!
//! One map of extensions runs through all middlewares and all attempts of one request. A call that failed, or that is a
//! probe, leaves a mark there; the healthy path neither leaves one nor looks for one.

use std::sync::{Arc, Weak};

use http::Extensions;

use crate::key::CircuitKey;
use crate::registry::CircuitBreakerRegistry;

/// All marks of one request.
#[derive(Clone, Default)]
struct Marks(Vec<Mark>);

#[derive(Clone)]
struct Mark {
    registry: CircuitBreakerRegistry,
    key: CircuitKey,
    /// Alive as long as the call is a probe in flight.
    probing: Weak<()>,
}

/// What a call that left a mark is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkedCall {
    /// A probe in flight, further out in this very stack.
    Probing,
    /// One that failed, or a probe that ended or was given up.
    Ended,
}

/// Held by a probe in flight. The extensions may outlive it: whoever gives a call up and tries again hands them on.
#[must_use = "the call is no probe once this is dropped"]
pub(super) struct Probing {
    _alive: Arc<()>,
}

/// Returns what an earlier attempt of this request is, if one left a mark.
pub(super) fn of(extensions: &Extensions, registry: &CircuitBreakerRegistry, key: &CircuitKey) -> Option<MarkedCall> {
    let marks = extensions.get::<Marks>()?;
    let mark = marks.0.iter().find(|mark| mark.is_of(registry, key))?;
    Some(match mark.probing.strong_count() {
        0 => MarkedCall::Ended,
        _ => MarkedCall::Probing,
    })
}

/// Leaves the mark of a probe in flight.
pub(super) fn leave_probing(
    extensions: &mut Extensions,
    registry: &CircuitBreakerRegistry,
    key: &CircuitKey,
) -> Probing {
    let alive = Arc::new(());
    leave(extensions, registry, key, Arc::downgrade(&alive));
    Probing { _alive: alive }
}

/// Leaves the mark of a call that has ended.
pub(super) fn leave_ended(extensions: &mut Extensions, registry: &CircuitBreakerRegistry, key: &CircuitKey) {
    leave(extensions, registry, key, Weak::new());
}

/// Leaves a mark, or changes the one that is there.
fn leave(extensions: &mut Extensions, registry: &CircuitBreakerRegistry, key: &CircuitKey, probing: Weak<()>) {
    let marks = extensions.get_or_insert_default::<Marks>();
    match marks.0.iter_mut().find(|mark| mark.is_of(registry, key)) {
        Some(mark) => mark.probing = probing,
        None => marks.0.push(Mark {
            registry: registry.clone(),
            key: key.clone(),
            probing,
        }),
    }
}

impl Mark {
    fn is_of(&self, registry: &CircuitBreakerRegistry, key: &CircuitKey) -> bool {
        self.registry.is_same(registry) && self.key == *key
    }
}
