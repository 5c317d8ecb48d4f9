//! The walk over an error and everything it wraps.

use std::error::Error;

use super::CircuitOpenError;

pub(super) fn find<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a CircuitOpenError> {
    error.downcast_ref()
}
