//! Marks that a call leaves in its extensions, by which a second attempt of one request is told.
//!
//! One map of extensions runs through all middlewares and all attempts of one request. A call that failed, or that is a
//! probe, leaves a mark there; the healthy path neither leaves one nor looks for one.

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
    call: MarkedCall,
}

/// Why a call left a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkedCall {
    /// It is a probe in flight, further out in this very stack.
    Probing,
    /// It failed, or was a probe that has ended.
    Ended,
}

/// Returns the mark that an earlier attempt of this request left, if any.
pub(super) fn of(extensions: &Extensions, registry: &CircuitBreakerRegistry, key: &CircuitKey) -> Option<MarkedCall> {
    let marks = extensions.get::<Marks>()?;
    marks
        .0
        .iter()
        .find(|mark| mark.is_of(registry, key))
        .map(|mark| mark.call)
}

/// Leaves a mark, or changes the one that is there.
pub(super) fn leave(
    extensions: &mut Extensions,
    registry: &CircuitBreakerRegistry,
    key: &CircuitKey,
    call: MarkedCall,
) {
    let marks = extensions.get_or_insert_default::<Marks>();
    match marks.0.iter_mut().find(|mark| mark.is_of(registry, key)) {
        Some(mark) => mark.call = call,
        None => marks.0.push(Mark {
            registry: registry.clone(),
            key: key.clone(),
            call,
        }),
    }
}

impl Mark {
    fn is_of(&self, registry: &CircuitBreakerRegistry, key: &CircuitKey) -> bool {
        self.registry.is_same(registry) && self.key == *key
    }
}
