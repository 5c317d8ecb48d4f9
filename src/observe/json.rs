//! Serialization of what derives would get wrong: times are seconds as a number, which every dashboard can read, and not
//! a pair of integers; a history does not repeat whose history it is.

use std::time::{Duration, SystemTime};

use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::transition::Transition;

/// Seconds with their fraction.
pub(super) fn seconds<S: Serializer>(time: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.as_secs_f64()).serialize(serializer)
}

/// Transitions without their registry and key, which stand beside them.
pub(super) fn history<S: Serializer>(history: &[Transition], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(history.iter().map(Bare))
}

struct Bare<'a>(&'a Transition);

impl Serialize for Bare<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Transition", 10)?;
        serialize_step(self.0, &mut fields)?;
        fields.end()
    }
}

/// As in the history of a [`CircuitSnapshot`](crate::CircuitSnapshot), with `registry` and `key` in front.
impl Serialize for Transition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Transition", 12)?;
        fields.serialize_field("registry", self.registry())?;
        fields.serialize_field("key", self.key())?;
        serialize_step(self, &mut fields)?;
        fields.end()
    }
}

fn serialize_step<S: SerializeStruct>(transition: &Transition, fields: &mut S) -> Result<(), S::Error> {
    let at = transition
        .at()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    fields.serialize_field("at", &at.as_secs_f64())?;
    fields.serialize_field("from", &transition.from())?;
    fields.serialize_field("to", &transition.to())?;
    fields.serialize_field("generation", &transition.generation())?;
    fields.serialize_field("reason", &transition.reason())?;
    fields.serialize_field("consecutive_failures", &transition.consecutive_failures())?;
    fields.serialize_field("windows", transition.windows())?;
    fields.serialize_field("open_for", &transition.open_for().map(|time| time.as_secs_f64()))?;
    fields.serialize_field("rejected", &transition.rejected())?;
    fields.serialize_field("last_failure", &transition.last_failure())
}
