//! A page that shows every breaker live: state, time to the probe, rates, rejections, the last transitions; with buttons
//! to force open, trip, disable and reset.
//!
//! `cargo run --example dashboard --features serde -- --stay` and open the address it prints. Without `--stay` it uses
//! its own page for two seconds, checks what it finds there, and ends.
//!
//! The page is fed by the JSON of [`CircuitBreakerRegistry::snapshots`], which is documented at `CircuitSnapshot`: what
//! is here in `routes` can be taken over into a service as it is. It listens on the loopback interface only. Whoever puts
//! it anywhere else has to ask who is there before a button does anything.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use reqwest_circuit_breaker::{CircuitBreakerRegistry, CircuitKey};
use serde_json::{Value, json};

use self::demo::Demo;

mod demo;
#[path = "../support/upstream.rs"]
mod upstream;

const PAGE: &str = include_str!("page.html");
const PORT: u16 = 7878;
const TRIP: Duration = Duration::from_secs(10);

/// What the page sends with a command. A page of somebody else can't, unless we let it: browsers ask first.
const OURS: &str = "x-dashboard";

/// Nothing from outside, and not in a frame of somebody who wants a click on a button.
const POLICY: &str = "default-src 'none'; connect-src 'self'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
                      img-src data:; frame-ancestors 'none'";

fn routes(registry: CircuitBreakerRegistry) -> Router {
    Router::new()
        .route("/", get(async || Html(PAGE)))
        .route("/breakers", get(breakers))
        .route("/breakers/{command}", post(command))
        .layer(middleware::from_fn(guard))
        .with_state(registry)
}

async fn breakers(State(registry): State<CircuitBreakerRegistry>) -> Json<Value> {
    let now = registry_time();
    Json(json!({
        "registry": registry.name(),
        "now": now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64(),
        "stats": registry.stats(),
        "breakers": registry.snapshots(),
    }))
}

#[expect(
    clippy::disallowed_methods,
    reason = "the registry of this example runs on the system's clock"
)]
fn registry_time() -> SystemTime {
    SystemTime::now()
}

/// `POST /breakers/reset?key=https://stock.example`
async fn command(
    State(registry): State<CircuitBreakerRegistry>,
    Path(command): Path<String>,
    Query(query): Query<HashMap<String, String>>,
    headers: HeaderMap,
) -> Result<StatusCode, (StatusCode, String)> {
    if !headers.contains_key(OURS) {
        return Err((StatusCode::FORBIDDEN, format!("the header `{OURS}` is missing")));
    }
    let key = query.get("key").map_or("", String::as_str);
    let key: CircuitKey = key
        .parse()
        .map_err(|error| (StatusCode::BAD_REQUEST, format!("{error}")))?;
    // Never creates one.
    let Some(breaker) = registry.get(&key) else {
        return Err((StatusCode::NOT_FOUND, format!("there is no breaker `{key}`")));
    };
    match command.as_str() {
        "force_open" => breaker.force_open(),
        "trip" => breaker.trip(TRIP),
        "disable" => breaker.disable(),
        "reset" => breaker.reset(),
        _ => return Err((StatusCode::NOT_FOUND, format!("there is no command `{command}`"))),
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Answers only who asks for this machine by its own name: a name that somebody else points here is theirs, and so would
/// be the page.
async fn guard(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let name = host.map(|host| host.rsplit_once(':').map_or(host, |(name, _)| name));
    if !matches!(name, Some("127.0.0.1" | "localhost")) {
        return StatusCode::MISDIRECTED_REQUEST.into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        header::HeaderValue::from_static(POLICY),
    );
    headers.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    response
}

#[tokio::main]
async fn main() -> Result<()> {
    let stays = std::env::args().any(|argument| argument == "--stay");
    let demo = Demo::start().await?;
    let listener = match tokio::net::TcpListener::bind(("127.0.0.1", if stays { PORT } else { 0 })).await {
        Ok(listener) => listener,
        // The port is taken: any other will do.
        Err(_) => tokio::net::TcpListener::bind("127.0.0.1:0").await?,
    };
    let address = format!("http://{}", listener.local_addr()?);
    let server = tokio::spawn(axum::serve(listener, routes(demo.registry.clone())).into_future());
    println!("The dashboard is at {address}");
    if stays {
        println!("Ctrl-C ends it.");
        server.await??;
        return Ok(());
    }
    try_out(&address).await
}

/// Uses the page as a browser would, and checks what it finds.
async fn try_out(address: &str) -> Result<()> {
    let client = reqwest::Client::builder().no_proxy().build()?;
    let page = client.get(address).send().await?.error_for_status()?;
    ensure!(page.headers()[header::CONTENT_SECURITY_POLICY.as_str()] == POLICY);
    let page = page.text().await?;
    ensure!(
        !page.contains("src=") && !page.contains("@import"),
        "the page needs nothing from outside"
    );
    ensure!(!page.contains("innerHTML"), "a key is text, whatever is in it");

    let breakers = async || -> Result<Vec<Value>> {
        let answer: Value = client.get(format!("{address}/breakers")).send().await?.json().await?;
        Ok(answer["breakers"].as_array().context("a list")?.clone())
    };
    tokio::time::sleep(Duration::from_secs(2)).await;
    let found = breakers().await?;
    ensure!(found.len() == demo::KEYS, "{} breakers", found.len());
    for breaker in &found {
        println!(
            "  {:60} {}",
            breaker["key"].as_str().context("a key")?,
            breaker["state"]
        );
    }

    let key = "http://stock.example";
    let send = async |method: reqwest::Method, command: &str, key: &str, ours: bool| -> Result<u16> {
        let mut url = reqwest::Url::parse(&format!("{address}/breakers/{command}"))?;
        url.query_pairs_mut().append_pair("key", key);
        let request = client.request(method, url);
        let request = if ours { request.header(OURS, "1") } else { request };
        Ok(request.send().await?.status().as_u16())
    };
    for (command, state) in [
        ("force_open", "forced_open"),
        ("reset", "closed"),
        ("disable", "disabled"),
        ("reset", "closed"),
        ("trip", "open"),
        ("reset", "closed"),
    ] {
        ensure!(send(reqwest::Method::POST, command, key, true).await? == 204);
        let found = breakers().await?;
        let stock = found
            .iter()
            .find(|breaker| breaker["key"] == key)
            .context("it is there")?;
        ensure!(stock["state"] == state, "{command} made it {}", stock["state"]);
    }
    println!("  every button does what it says");

    ensure!(
        send(reqwest::Method::GET, "reset", key, true).await? == 405,
        "looking changes nothing"
    );
    ensure!(
        send(reqwest::Method::POST, "reset", key, false).await? == 403,
        "a page of somebody else"
    );
    ensure!(send(reqwest::Method::POST, "reset", "no key", true).await? == 400);
    ensure!(send(reqwest::Method::POST, "reset", "http://nobody.example", true).await? == 404);
    ensure!(send(reqwest::Method::POST, "explode", key, true).await? == 404);
    let foreign = client
        .get(address)
        .header(header::HOST, "attacker.example")
        .send()
        .await?;
    ensure!(foreign.status().as_u16() == 421, "a name of somebody else");
    println!("  and nobody else can press them");
    Ok(())
}
