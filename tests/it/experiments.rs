//! The experiments of `examples/lab.rs`, which claim each of their numbers.

use lab::{Scale, Table};

#[path = "../../examples/lab/experiments.rs"]
mod lab;

fn check(table: &Table) {
    let mistakes = table.mistakes();
    assert!(mistakes.is_empty(), "{}\n\n{table}", mistakes.join("\n"));
}

#[tokio::test]
async fn one_upstream_of_a_client_takes_no_other_away() {
    check(&lab::one_client::run().await);
}

#[tokio::test]
async fn what_the_upstream_answers_counts_only_if_it_cannot_answer() {
    check(&lab::what_counts::run().await);
}

#[tokio::test]
async fn a_call_with_retries_is_one_signal() {
    check(&lab::one_signal::run().await);
}

#[tokio::test]
async fn one_probe_decides_and_the_crowd_waits() {
    check(&lab::probe::run().await);
}

#[tokio::test]
async fn an_endpoint_that_fails_takes_no_other_away() {
    check(&lab::which_key::run(Scale::QUICK).await);
}

#[tokio::test]
async fn a_host_that_is_down_is_learnt_once() {
    check(&lab::whole_host::run().await);
}
