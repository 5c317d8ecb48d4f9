//! One integration binary: a file for each rule, a scripted local server in `support`.

mod faults;
mod support;
