//! WHO wants to know?
//!
//! Snapshots are pulled and change nothing; events are pushed, after every lock is released, in the thread that made
//! them. The structs here are plain data that the other rooms fill.

pub(crate) mod event;
#[cfg(feature = "serde")]
mod json;
pub(crate) mod listener;
#[cfg(feature = "metrics")]
mod metrics;
#[cfg(not(feature = "metrics"))]
mod no_metrics;
pub(crate) mod snapshot;
pub(crate) mod subject;
#[cfg(feature = "tracing")]
mod tracing;
pub(crate) mod transition;
mod window;

#[cfg(feature = "metrics")]
pub(crate) use self::metrics::{Meter, Meters};
#[cfg(not(feature = "metrics"))]
pub(crate) use self::no_metrics::{Meter, Meters};

pub use event::{Event, Evicted, EvictionReason, KeysGrow, Misplaced, Overflowed, ProbeFinished, Rejected};
pub use listener::Listener;
pub use snapshot::{CircuitSnapshot, HalfOpenSnapshot, RegistryStats, Totals};
pub use transition::Transition;
pub use window::WindowSnapshot;
