//! Calls into foreign code whose panic must stay where it is.
//!
//! An event may come from a drop, and a drop may come from unwinding: a panic that leaves it would abort the process.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls foreign code whose panic is nobody else's business.
#[inline]
pub(crate) fn contained(call: impl FnOnce()) {
    // The panic hook has already reported it. A payload may panic in its own drop: the second one is left alone.
    if let Err(payload) = catch_unwind(AssertUnwindSafe(call)) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            std::mem::forget(payload);
        }
    }
}
