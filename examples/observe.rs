//! What is seen from outside: the log of an outage, and the page that Prometheus scrapes.
//!
//! `cargo run --example observe --features tracing,metrics` lets an upstream die and come back, reads its own page once,
//! and ends. With `-- --stay` the page stays.

use std::time::Duration;

use anyhow::{Result, ensure};
use axum::Router;
use axum::routing::get;
use metrics_exporter_prometheus::PrometheusBuilder;
use reqwest_circuit_breaker::{CircuitBreakerConfig, CircuitBreakerMiddleware, CircuitBreakerRegistry, State};
use reqwest_middleware::ClientBuilder;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

use self::upstream::Upstream;

#[path = "support/upstream.rs"]
mod upstream;

#[tokio::main]
async fn main() -> Result<()> {
    // The log: INFO is enough to follow an outage, DEBUG shows every rejection.
    let filter = Targets::new().with_target("reqwest_circuit_breaker", LevelFilter::DEBUG);
    let lines = tracing_subscriber::fmt::layer().with_target(false).with_ansi(false);
    tracing_subscriber::registry().with(filter).with(lines).init();

    // The page. Breakers find the recorder by themselves, also one that is installed after them.
    let recorder = PrometheusBuilder::new().build_recorder();
    let page = recorder.handle();
    metrics::set_global_recorder(recorder)?;
    let routes = Router::new().route("/metrics", get(move || std::future::ready(page.render())));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = tokio::spawn(axum::serve(listener, routes).into_future());

    let recovery = Duration::from_millis(300);
    let config = CircuitBreakerConfig::builder().recovery_timeout(recovery).build()?;
    let registry = CircuitBreakerRegistry::new(config);
    let plain = reqwest::Client::builder().no_proxy().build()?; // the upstream is on this machine
    let client = ClientBuilder::new(plain.clone())
        .with(CircuitBreakerMiddleware::new(registry.clone()))
        .build();

    println!(
        "The log of an outage: five answers 503, three calls rejected, one probe that fails, one that succeeds.\n"
    );
    let stock = Upstream::start().await;
    let call = || client.get(stock.url("/items/7")).send();
    call().await?;
    stock.answer(503);
    for _ in 0..5 {
        call().await?;
    }
    for _ in 0..3 {
        ensure!(call().await.is_err(), "an open breaker lets nothing pass");
    }
    tokio::time::sleep(recovery).await;
    call().await?;
    stock.answer(200);
    tokio::time::sleep(recovery).await;
    call().await?;
    ensure!(registry.snapshots()[0].state == State::Closed, "a good probe closes");

    println!("\nThe page at http://{address}/metrics, which knows the same.\n");
    let text = plain
        .get(format!("http://{address}/metrics"))
        .send()
        .await?
        .text()
        .await?;
    let series = text.lines().filter(|line| line.starts_with("circuit_breaker"));
    series.for_each(|line| println!("{line}"));
    for (start, value) in [
        ("circuit_breaker_state{", "0"),
        ("circuit_breaker_calls_total{outcome=\"success\"", "2"),
        ("circuit_breaker_calls_total{outcome=\"failure\"", "6"),
        ("circuit_breaker_failures_total{kind=\"status\"", "6"),
        ("circuit_breaker_rejected_total{reason=\"open\"", "3"),
        ("circuit_breaker_transitions_total{from=\"open\",to=\"half_open\"", "2"),
    ] {
        ensure!(shows(&text, start, value), "{start}..}} is not {value}");
    }

    if std::env::args().any(|argument| argument == "--stay") {
        println!("\nCtrl-C ends it.");
        server.await??;
    }
    Ok(())
}

/// Whether the page has a series with these labels, in any order, and this value.
fn shows(page: &str, series: &str, value: &str) -> bool {
    let (name, labels) = series.split_once('{').unwrap_or((series, ""));
    page.lines().any(|line| {
        let of_metric = line.split_once('{').is_some_and(|(metric, _)| metric == name);
        of_metric && labels.split(',').all(|label| line.contains(label)) && line.ends_with(&format!("}} {value}"))
    })
}
