//! WHO wants to know?
//!
//! Snapshots are pulled and change nothing; events are pushed, after every lock is released, in the thread that made
//! them. The structs here are plain data that the other rooms fill.

pub(crate) mod event;
pub(crate) mod listener;
pub(crate) mod snapshot;

pub use event::{Event, Evicted, EvictionReason, KeysGrow, Misplaced, Overflowed, ProbeFinished, Rejected, Transition};
pub use listener::Listener;
pub use snapshot::{CircuitSnapshot, HalfOpenSnapshot, RegistryStats, Totals, WindowSnapshot};
