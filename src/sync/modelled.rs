//! What loom tries in every order, and the two things that it has no model of.

use std::cell::Cell;

pub(crate) use loom::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicU64, Ordering, fence},
};

/// A `OnceLock` whose readers and makers loom may interleave. The value itself is never contended.
#[derive(Debug)]
pub(crate) struct OnceLock<T> {
    made: AtomicBool,
    making: Mutex<()>,
    value: std::sync::OnceLock<T>,
}

impl<T> OnceLock<T> {
    pub(crate) fn new() -> Self {
        Self {
            made: AtomicBool::new(false),
            making: Mutex::new(()),
            value: std::sync::OnceLock::new(),
        }
    }

    pub(crate) fn get(&self) -> Option<&T> {
        self.made.load(Ordering::Acquire).then(|| self.value.get()).flatten()
    }

    pub(crate) fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        let making = super::lock(&self.making);
        if self.value.get().is_none() {
            let _ = self.value.set(make());
            self.made.store(true, Ordering::Release);
        }
        drop(making);
        self.value.get().expect("it was just made")
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        Self::new()
    }
}

loom::thread_local! {
    static NUMBER: Cell<usize> = Cell::new(0);
}

/// Loom's threads share one thread of the system, and their numbers have to be the same in every run.
pub(crate) fn thread_number() -> usize {
    NUMBER.with(Cell::get)
}

/// Spawns a thread of that number.
#[cfg(test)]
pub(crate) fn spawn<T: 'static>(number: usize, run: impl FnOnce() -> T + 'static) -> loom::thread::JoinHandle<T> {
    loom::thread::spawn(move || {
        NUMBER.with(|own| own.set(number));
        run()
    })
}
