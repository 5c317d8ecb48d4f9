//! Breakers by hand: for a planned outage, for a false alarm, for a suspicion, and to ask before choosing.
//!
//! `cargo run --example manual_control`

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use reqwest::Method;
use reqwest_circuit_breaker::{
    CircuitBreaker, CircuitBreakerMiddleware, CircuitBreakerRegistry, CircuitOpenError, RejectReason, State,
};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};

use self::upstream::Upstream;

#[path = "support/upstream.rs"]
mod upstream;

#[tokio::main]
async fn main() -> Result<()> {
    let registry = CircuitBreakerRegistry::default();
    let plain = reqwest::Client::builder().no_proxy().build()?; // the upstreams are on this machine
    let client = ClientBuilder::new(plain)
        .with(CircuitBreakerMiddleware::new(registry.clone()))
        .build();
    let (stock, mirror) = (Upstream::start().await, Upstream::start().await);
    let breaker = registry
        .get_or_create(&stock.url("").parse()?)
        .context("there is room")?;

    println!("force_open: stock is taken down for an hour, and nobody shall find out by trying.");
    breaker.force_open();
    ensure!(call(&client, &stock).await? == Some(RejectReason::ForcedOpen));
    show(&breaker, State::ForcedOpen)?;

    println!("would_admit: who is asked instead? Asking takes no probe slot and changes nothing.");
    let chosen = [&stock, &mirror].into_iter().find(|upstream| {
        let request = reqwest::Request::new(Method::GET, upstream.url("/").parse().expect("a URL"));
        let key = registry.key_of(&request, &http::Extensions::new());
        // A key without a breaker was never called: nothing speaks against it.
        key.and_then(|key| registry.get(&key))
            .is_none_or(|breaker| breaker.would_admit())
    });
    ensure!(chosen.context("one of them")?.url("") == mirror.url(""));
    show(&breaker, State::ForcedOpen)?;

    println!("reset: it is back. The counts start from nothing.");
    breaker.reset();
    ensure!(call(&client, &stock).await?.is_none());
    show(&breaker, State::Closed)?;

    println!("disable: it answers 500 for a reason that is known. Every call passes, none is counted against it.");
    breaker.disable();
    stock.answer(500);
    for _ in 0..20 {
        ensure!(call(&client, &stock).await?.is_none());
    }
    show(&breaker, State::Disabled)?;
    breaker.reset();

    println!("trip: something looks wrong. Nobody calls it for a while, then a probe decides, as always.");
    stock.answer(200);
    let a_while = Duration::from_millis(300);
    breaker.trip(a_while);
    ensure!(!breaker.would_admit());
    ensure!(call(&client, &stock).await? == Some(RejectReason::Open));
    show(&breaker, State::Open)?;
    tokio::time::sleep(a_while).await;
    ensure!(breaker.would_admit(), "its probe is due");
    ensure!(call(&client, &stock).await?.is_none());
    show(&breaker, State::Closed)?;

    println!("Its history:");
    for step in breaker.snapshot().history {
        println!("  {} -> {} ({})", step.from(), step.to(), step.reason());
    }
    ensure!(stock.hits() == 22, "what was rejected never left this process");
    Ok(())
}

/// Makes a call. Returns the reason if it was rejected.
async fn call(client: &ClientWithMiddleware, upstream: &Upstream) -> Result<Option<RejectReason>> {
    match client.get(upstream.url("/")).send().await {
        Ok(_) => Ok(None),
        Err(error) => match CircuitOpenError::find(&error) {
            Some(open) => Ok(Some(open.reason())),
            None => Err(error.into()),
        },
    }
}

fn show(breaker: &CircuitBreaker, expected: State) -> Result<()> {
    let state = breaker.state();
    println!("  {} is {state}\n", breaker.key());
    ensure!(state == expected, "it should be {expected}");
    Ok(())
}
