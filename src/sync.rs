//! The locks and atomics of the concurrent shell, in one place so that a model checker can stand in for them.

#[cfg(breaker_loom)]
mod modelled;

#[cfg(not(breaker_loom))]
pub(crate) use std::sync::{
    Arc, Mutex, MutexGuard, OnceLock,
    atomic::{AtomicBool, AtomicU64, Ordering, fence},
};

#[cfg(breaker_loom)]
pub(crate) use self::modelled::*;

/// Locks, also after a panic: nothing under these locks runs foreign code, so what they guard is whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The number of the present thread.
#[cfg(not(breaker_loom))]
#[inline]
pub(crate) fn thread_number() -> usize {
    use std::sync::atomic::AtomicUsize;

    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static NUMBER: usize = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    NUMBER.with(|number| *number)
}
