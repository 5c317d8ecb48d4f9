//! Two layers: a breaker per endpoint for what fails apart, and one per host for what fails as a whole.
//!
//! `cargo run --example endpoint_and_host`
//!
//! An endpoint that answers 503 must not take its neighbours with it; a host that is gone should not cost every endpoint
//! its own five failures. So the host's breaker counts connection failures only, and stands in front.

use std::time::Duration;

use anyhow::{Result, ensure};
use reqwest_circuit_breaker::{
    CircuitBreakerConfig, CircuitBreakerMiddleware, CircuitBreakerRegistry, CircuitOpenError, ConnectionFailures,
    KeyScheme, Route, State,
};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};

use self::upstream::{Answer, Upstream};

#[path = "support/upstream.rs"]
mod upstream;

/// How some calls ended.
#[derive(Debug, Default, PartialEq)]
struct Ended {
    answered: usize,
    failed: usize,
    rejected_by_endpoint: usize,
    rejected_by_host: usize,
}

#[tokio::main]
async fn main() -> Result<()> {
    let recovery = Duration::from_millis(300);
    let config = CircuitBreakerConfig::builder().recovery_timeout(recovery).build()?;
    let hosts = CircuitBreakerRegistry::builder()
        .name("host")
        .config(config.clone())
        .classifier(ConnectionFailures)
        .build()?;
    let endpoints = CircuitBreakerRegistry::builder()
        .name("endpoint")
        .config(config)
        .key_scheme(KeyScheme::endpoint())
        .build()?;
    let plain = reqwest::Client::builder().no_proxy().build()?; // the upstream is on this machine
    let client = ClientBuilder::new(plain)
        .with(CircuitBreakerMiddleware::new(hosts.clone()))
        .with(CircuitBreakerMiddleware::new(endpoints.clone()))
        .build();

    let shop = Upstream::start().await;
    let host = || hosts.get(&shop.url("").parse().ok()?).map(|breaker| breaker.snapshot());

    println!("/search answers 503, whatever else works.");
    shop.answer_with(|path| Answer::Status(if path.starts_with("/search") { 503 } else { 200 }));
    let mut search = Ended::default();
    let mut profile = Ended::default();
    for n in 0..100 {
        call(&client, &shop, "/search/{word}", &format!("/search/{n}"), &mut search).await?;
        call(&client, &shop, "/profile/{id}", &format!("/profile/{n}"), &mut profile).await?;
    }
    println!("  /search   {search:?}\n  /profile  {profile:?}\n");
    ensure!((search.answered, search.rejected_by_endpoint) == (5, 95));
    ensure!(profile.answered == 100, "a neighbour's failures are not its own");
    let snapshot = host().ok_or_else(|| anyhow::anyhow!("it was called"))?;
    ensure!(
        snapshot.state == State::Closed && snapshot.totals.failure == 0,
        "the host answered"
    );

    println!("The host is gone: ten calls to each of ten endpoints.");
    shop.kill().await;
    let mut ended = Ended::default();
    for n in 0..100 {
        let route = format!("/route-{}", n % 10);
        call(&client, &shop, &route, &route, &mut ended).await?;
    }
    println!("  {ended:?}\n");
    ensure!(
        (ended.failed, ended.rejected_by_host) == (5, 95),
        "five in all, not five of each"
    );

    println!("It is back: the first call to any endpoint is the host's probe.");
    shop.revive();
    tokio::time::sleep(recovery).await;
    let mut ended = Ended::default();
    for n in 0..100 {
        let route = format!("/route-{}", n % 10);
        call(&client, &shop, &route, &route, &mut ended).await?;
    }
    println!("  {ended:?}");
    ensure!(ended.answered == 100);
    Ok(())
}

async fn call(client: &ClientWithMiddleware, to: &Upstream, route: &str, path: &str, ended: &mut Ended) -> Result<()> {
    match client
        .get(to.url(path))
        .with_extension(Route::new(route.to_owned()))
        .send()
        .await
    {
        Ok(_) => ended.answered += 1,
        Err(error) => match CircuitOpenError::find(&error).map(CircuitOpenError::registry) {
            Some("host") => ended.rejected_by_host += 1,
            Some(_) => ended.rejected_by_endpoint += 1,
            None => ended.failed += 1,
        },
    }
    Ok(())
}
