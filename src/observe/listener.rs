//! Listeners, and how an event gets to them.

use std::fmt;
use std::sync::Arc;

use super::event::Event;
use crate::foreign::contained;

/// Hears every event of a registry.
///
/// It runs after every lock is released, in the thread that made the event: keep it short. It may call back into the
/// registry. A panic in it is contained, and the other listeners still run.
///
/// # Examples
///
/// Closures are listeners, and so is an `Arc` of one:
///
/// ```
/// use std::sync::mpsc;
/// use reqwest_circuit_breaker::{CircuitBreakerRegistry, Event};
///
/// let (tell, heard) = mpsc::channel();
/// let registry = CircuitBreakerRegistry::builder()
///     .listener(move |event: &Event| {
///         if let Event::Transition(transition) = event {
///             let (key, from, to) = (transition.key(), transition.from(), transition.to());
///             tell.send(format!("{key}: {from} -> {to}")).ok();
///         }
///     })
///     .build()?;
///
/// registry.get_or_create(&"https://stock.example".parse()?).expect("there is room").force_open();
/// assert_eq!(heard.recv()?, "https://stock.example: closed -> forced_open");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// In a test, do not assert *in* a listener: the panic would be contained. Collect, and assert outside.
pub trait Listener: Send + Sync + 'static {
    /// Hears one event.
    fn on_event(&self, event: &Event);
}

impl<F: Fn(&Event) + Send + Sync + 'static> Listener for F {
    fn on_event(&self, event: &Event) {
        self(event);
    }
}

impl<T: Listener + ?Sized> Listener for Arc<T> {
    fn on_event(&self, event: &Event) {
        (**self).on_event(event);
    }
}

/// Everybody who hears the events of one registry.
#[derive(Default)]
pub(crate) struct Listeners(Vec<Box<dyn Listener>>);

impl Listeners {
    pub(crate) fn add(&mut self, listener: impl Listener) {
        self.0.push(Box::new(listener));
    }

    pub(crate) fn is_heard(&self) -> bool {
        cfg!(feature = "tracing") || !self.0.is_empty()
    }

    /// Tells all of them. A panic is contained here: it is nobody's business who made the event, and the event may come
    /// from a drop.
    pub(crate) fn publish(&self, event: &Event) {
        #[cfg(feature = "tracing")]
        contained(|| super::tracing::tell(event));
        for listener in &self.0 {
            contained(|| listener.on_event(event));
        }
    }
}

impl fmt::Debug for Listeners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Listeners({})", self.0.len())
    }
}
