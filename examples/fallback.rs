//! The primary, then the mirror, then what was last seen. One client, and each origin has its own breaker: an outage of
//! the primary costs the mirror nothing.
//!
//! `cargo run --example fallback`

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Result, ensure};
use reqwest_circuit_breaker::{
    CircuitBreakerConfig, CircuitBreakerMiddleware, CircuitBreakerRegistry, CircuitSnapshot, State,
};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};

use self::upstream::Upstream;

#[path = "support/upstream.rs"]
mod upstream;

/// Who gave the answer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Source {
    Primary,
    Mirror,
    Cache,
}

struct Catalog {
    client: ClientWithMiddleware,
    primary: String,
    mirror: String,
    seen: HashMap<String, String>,
}

impl Catalog {
    /// Asks one after the other. A rejected call fails at once, so an origin that is down costs no time.
    async fn get(&mut self, path: &str) -> Option<(Source, String)> {
        for (source, origin) in [(Source::Primary, &self.primary), (Source::Mirror, &self.mirror)] {
            if let Ok(answer) = self.fetch(&format!("{origin}{path}")).await {
                self.seen.insert(path.to_owned(), answer.clone());
                return Some((source, answer));
            }
        }
        self.seen.get(path).map(|answer| (Source::Cache, answer.clone()))
    }

    /// To the caller, an upstream that answers 503 is as good as none. To the breaker as well.
    async fn fetch(&self, url: &str) -> Result<String> {
        let response = self.client.get(url).send().await?.error_for_status()?;
        Ok(response.text().await?)
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let recovery = Duration::from_millis(300);
    let config = CircuitBreakerConfig::builder().recovery_timeout(recovery).build()?;
    let registry = CircuitBreakerRegistry::new(config);
    let plain = reqwest::Client::builder().no_proxy().build()?; // the upstreams are on this machine
    let client = ClientBuilder::new(plain)
        .with(CircuitBreakerMiddleware::new(registry.clone()))
        .build();

    let (primary, mirror) = (Upstream::start().await, Upstream::start().await);
    let mut catalog = Catalog {
        client,
        primary: primary.url(""),
        mirror: mirror.url(""),
        seen: HashMap::new(),
    };
    let breaker = |upstream: &Upstream| -> Result<CircuitSnapshot> {
        let breaker = registry.get(&upstream.url("").parse()?);
        Ok(breaker.ok_or_else(|| anyhow::anyhow!("it was called"))?.snapshot())
    };

    println!("Both are up.");
    ask(&mut catalog, 10, Source::Primary).await?;

    println!("The primary answers 503. After five of them it is asked no more.");
    primary.answer(503);
    ask(&mut catalog, 20, Source::Mirror).await?;
    ensure!(primary.hits() == 10 + 5, "an open breaker lets nothing pass");
    let (primarys, mirrors) = (breaker(&primary)?, breaker(&mirror)?);
    ensure!(
        primarys.state == State::Open && primarys.totals.rejected == 15,
        "{primarys:?}"
    );
    ensure!(
        mirrors.state == State::Closed && mirrors.totals.success == 20,
        "{mirrors:?}"
    );
    ensure!(mirrors.totals.failure == 0, "the primary's failures are its own");

    println!("The mirror dies too. What was seen before is better than nothing.");
    mirror.kill().await;
    ask(&mut catalog, 10, Source::Cache).await?;

    println!("The mirror is back, the primary is not.");
    mirror.revive();
    tokio::time::sleep(recovery).await;
    ask(&mut catalog, 10, Source::Mirror).await?;

    println!("The primary is back.");
    primary.answer(200);
    tokio::time::sleep(recovery).await;
    ask(&mut catalog, 10, Source::Primary).await?;
    ensure!(breaker(&primary)?.state == State::Closed && breaker(&mirror)?.state == State::Closed);
    Ok(())
}

/// Asks `n` times; every answer must come from `expected`.
async fn ask(catalog: &mut Catalog, n: usize, expected: Source) -> Result<()> {
    for _ in 0..n {
        let answer = catalog.get("/items/7").await.map(|(source, _)| source);
        ensure!(answer == Some(expected), "{answer:?} instead of {expected:?}");
    }
    println!("  {n} answers from the {expected:?}\n");
    Ok(())
}
