//! Stands in for the meters where the feature `metrics` is off. It costs nothing.

use std::sync::Arc;

use super::transition::Step;
use crate::key::CircuitKey;
use crate::state::{RejectReason, State};
use crate::verdict::Verdict;

pub(crate) struct Meters;

pub(crate) struct Meter;

impl Meters {
    pub(crate) fn new(_registry: &Arc<str>) -> Self {
        Self
    }

    pub(crate) fn meter(&self, _key: &CircuitKey) -> Meter {
        Meter
    }
}

impl Meter {
    #[inline]
    pub(crate) fn announce(&self, _state: impl Fn() -> State) {}

    #[inline]
    pub(crate) fn count_success(&self, _state: impl Fn() -> State) {}

    #[inline]
    pub(crate) fn count(&self, _verdict: Option<Verdict>, _state: impl Fn() -> State) {}

    #[inline]
    pub(crate) fn count_cancelled(&self, _state: impl Fn() -> State) {}

    #[inline]
    pub(crate) fn count_rejected(&self, _reason: RejectReason, _state: impl Fn() -> State) {}

    #[inline]
    pub(crate) fn count_transition(&self, _step: &Step, _state: impl Fn() -> State) {}
}
