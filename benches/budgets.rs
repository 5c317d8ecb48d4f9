//! The budgets, and whether they are met: `cargo bench --bench budgets`.
//!
//! Each is a ratio to a peer that is measured in the same run, in turn with it, so that a slow or busy machine slows
//! both; or a count, which no machine changes. A line is moot where the machine does not show what it is about. The
//! process fails where a budget is missed, unless it is given `--report`. Other words on the command line choose the rows
//! whose names contain one of them.

mod budgets {
    pub(crate) mod calls;
    pub(crate) mod memory;
    pub(crate) mod requests;
    pub(crate) mod rounds;
    pub(crate) mod table;
}
mod support;

use budgets::table::Table;
use budgets::{calls, memory, requests};

/// What decides whether errors capture backtraces; `RUST_BACKTRACE` does where it is unset.
const BACKTRACES: &str = "RUST_LIB_BACKTRACE";

/// How a child of this process is asked for the time of a rejection.
const REJECTION: &str = "--rejection";

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == REJECTION) {
        println!("{}", requests::rejection_nanos());
        return;
    }
    // The standard library looks at the environment once, so it takes another process to turn backtraces off.
    if std::env::var(BACKTRACES).as_deref() != Ok("0") {
        let child = requests::this_program(false).args(arguments).status();
        std::process::exit(child.ok().and_then(|status| status.code()).unwrap_or(1));
    }
    // `cargo test --benches` runs this too, unoptimized: then there is nothing to judge.
    let benched = arguments.iter().any(|argument| argument == "--bench");
    let report_only = arguments.iter().any(|argument| argument == "--report");
    if !benched {
        return;
    }
    arguments.retain(|argument| !argument.starts_with("--"));

    let mut table = Table::new(arguments);
    calls::measure(&mut table);
    requests::measure(&mut table);
    memory::measure(&mut table);
    if table.finish() > 0 && !report_only {
        std::process::exit(1);
    }
}
