//! Which breaker an event is about.

use std::sync::Arc;

use crate::key::CircuitKey;

/// Which breaker an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) registry: Arc<str>,
    pub(crate) key: CircuitKey,
}

macro_rules! subject_accessors {
    () => {
        /// Returns the name of the registry.
        pub fn registry(&self) -> &str {
            &self.subject.registry
        }

        /// Returns the key concerned.
        pub fn key(&self) -> &CircuitKey {
            &self.subject.key
        }
    };
}

pub(super) use subject_accessors;
