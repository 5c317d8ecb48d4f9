//! One client, three upstreams, and one of the three dies.
//!
//! `cargo run --example quickstart` starts all of them on this machine, and shows what happens to each.

use std::time::Duration;

use reqwest_circuit_breaker::{
    CircuitBreakerConfig, CircuitBreakerMiddleware, CircuitBreakerRegistry, CircuitOpenError,
};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};
use reqwest_retry::{RetryTransientMiddleware, policies::ExponentialBackoff};

use self::upstream::Upstream;

#[path = "support/upstream.rs"]
mod upstream;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // One registry for the whole application. It probes after a second here; the default is 30.
    let recovery = Duration::from_secs(1);
    let config = CircuitBreakerConfig::builder().recovery_timeout(recovery).build()?;
    let registry = CircuitBreakerRegistry::new(config);

    let twice_more = ExponentialBackoff::builder()
        .retry_bounds(Duration::from_millis(1), Duration::from_millis(2))
        .build_with_max_retries(2);
    let plain = reqwest::Client::builder().no_proxy().build()?; // the upstreams are on this machine
    let client = ClientBuilder::new(plain)
        .with(CircuitBreakerMiddleware::new(registry.clone())) // outside ...
        .with(RetryTransientMiddleware::new_with_policy(twice_more)) // ... the retries
        .build();

    let stock = Upstream::start().await;
    let pricing = Upstream::start().await;
    let reviews = Upstream::start().await;
    reviews.kill().await;

    println!("Ten calls to each, and reviews is dead.\n");
    println!("           answered  failed  rejected");
    ten_calls("stock", &client, &stock).await.must_be("10 0 0")?;
    ten_calls("pricing", &client, &pricing).await.must_be("10 0 0")?;
    ten_calls("reviews", &client, &reviews).await.must_be("0 5 5")?;

    println!("\nReviews is back. A second later the first call is the probe, and traffic resumes.\n");
    reviews.revive();
    tokio::time::sleep(recovery).await;
    ten_calls("reviews", &client, &reviews).await.must_be("10 0 0")?;

    println!("\nThe life of each breaker.\n");
    life("stock", &registry, &stock).must_be("Closed")?;
    life("pricing", &registry, &pricing).must_be("Closed")?;
    life("reviews", &registry, &reviews).must_be("Closed -> Open -> HalfOpen -> Closed")?;
    Ok(())
}

/// Makes ten calls: how many were answered, failed, rejected?
async fn ten_calls(name: &str, client: &ClientWithMiddleware, upstream: &Upstream) -> Shown {
    let (mut answered, mut failed, mut rejected) = (0, 0, 0);
    for _ in 0..10 {
        match client.get(upstream.url("/items/7")).send().await {
            Ok(_) => answered += 1,
            Err(error) if CircuitOpenError::find(&error).is_some() => rejected += 1,
            Err(_) => failed += 1,
        }
    }
    show(name, format!("{answered:8}{failed:8}{rejected:10}"))
}

/// The states that the upstream's breaker went through.
fn life(name: &str, registry: &CircuitBreakerRegistry, upstream: &Upstream) -> Shown {
    let key = upstream.url("").parse().expect("the URL of an origin");
    let snapshot = registry.get(&key).map(|breaker| breaker.snapshot());
    let steps = snapshot.iter().flat_map(|snapshot| &snapshot.history);
    show(
        name,
        steps.fold("Closed".to_owned(), |life, step| format!("{life} -> {:?}", step.to())),
    )
}

fn show(name: &str, text: String) -> Shown {
    println!("  {name:9}{text}");
    Shown(text)
}

/// A line on the screen, checked: an example that only prints may print anything.
#[must_use]
struct Shown(String);

impl Shown {
    fn must_be(self, expected: &str) -> Result<(), String> {
        let Self(text) = self;
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if words == expected {
            Ok(())
        } else {
            Err(format!("expected {expected}, not {words}"))
        }
    }
}
