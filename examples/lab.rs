//! Six experiments on real sockets: the wrong breaker beside the right one.
//!
//! `cargo run --example lab` starts upstreams on this machine, breaks them, and prints what the callers saw. Every number
//! has a claim; the program fails if one does not hold. It takes some fifteen seconds.

use std::process::ExitCode;

use experiments::{Scale, Table};

#[path = "lab/experiments.rs"]
mod experiments;

#[tokio::main]
async fn main() -> ExitCode {
    let tables = [
        show(experiments::one_client::run().await),
        show(experiments::what_counts::run().await),
        show(experiments::one_signal::run().await),
        show(experiments::probe::run().await),
        show(experiments::which_key::run(Scale::FULL).await),
        show(experiments::whole_host::run().await),
    ];
    let mistakes: Vec<String> = tables.iter().flat_map(Table::mistakes).collect();
    if mistakes.is_empty() {
        println!("All of it is as claimed.");
        ExitCode::SUCCESS
    } else {
        eprintln!("Not as claimed:\n{}", mistakes.join("\n"));
        ExitCode::FAILURE
    }
}

fn show(table: Table) -> Table {
    println!("{table}");
    table
}
