//! What all breakers of one registry share: its name, its clock, and who hears of them.

use std::fmt;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use super::clock::{Clock, SystemClock, Tick};
use crate::foreign::contained;
use crate::key::CircuitKey;
use crate::observe::listener::Listeners;
use crate::observe::subject::Subject;
use crate::observe::transition::{Step, Transition};
use crate::observe::{Event, Meter, Meters};
use crate::state::State;
use crate::sync::{AtomicBool, Ordering};

/// Surroundings of the breakers of one registry.
pub(crate) struct Site {
    registry: Arc<str>,
    listeners: Listeners,
    meters: Meters,
    clock: Box<dyn Clock>,
    start: Instant,
    ever_opened: AtomicBool,
}

impl Site {
    pub(crate) fn new(registry: Arc<str>, listeners: Listeners, clock: Box<dyn Clock>) -> Self {
        let start = clock.now();
        Self {
            meters: Meters::new(&registry),
            registry,
            listeners,
            clock,
            start,
            ever_opened: AtomicBool::new(false),
        }
    }

    pub(crate) fn registry(&self) -> &Arc<str> {
        &self.registry
    }

    /// Reads the clock, which is foreign code: never under a lock.
    pub(crate) fn now(&self) -> Tick {
        Tick::between(self.start, self.clock.now())
    }

    /// Reads the wall clock. If it panics, the system's own time stands in: what happened has happened, and somebody is
    /// waiting to hear of it.
    pub(crate) fn wall(&self) -> SystemTime {
        let mut wall = None;
        contained(|| wall = Some(self.clock.wall()));
        wall.unwrap_or_else(|| SystemClock.wall())
    }

    /// Whether any breaker of the registry ever opened.
    pub(crate) fn ever_opened(&self) -> bool {
        self.ever_opened.load(Ordering::Relaxed)
    }

    /// Makes the meter of a breaker.
    pub(crate) fn meter(&self, key: &CircuitKey) -> Meter {
        self.meters.meter(key)
    }

    pub(crate) fn subject(&self, key: &CircuitKey) -> Subject {
        Subject {
            registry: Arc::clone(&self.registry),
            key: key.clone(),
        }
    }

    /// Whether anybody would hear an event. Rejections are many: nobody makes one for nobody.
    pub(crate) fn is_heard(&self) -> bool {
        self.listeners.is_heard()
    }

    /// Tells everybody. Never under a lock: listeners are foreign code.
    pub(crate) fn publish(&self, event: &Event) {
        self.listeners.publish(event);
    }

    pub(crate) fn publish_step(&self, key: &CircuitKey, step: Arc<Step>) {
        if step.to == State::Open {
            self.ever_opened.store(true, Ordering::Relaxed);
        }
        let transition = Transition {
            subject: self.subject(key),
            step,
            at: self.wall(),
        };
        self.publish(&Event::Transition(transition));
    }
}

impl fmt::Debug for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Site")
            .field("registry", &self.registry)
            .field("listeners", &self.listeners)
            .finish()
    }
}
