//! One integration binary: a file for each rule, a scripted local server in `support`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

mod faults;
mod support;
