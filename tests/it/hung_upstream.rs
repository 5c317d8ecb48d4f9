//! An upstream that never answers must open its breaker: the timeouts around the call are failures like any other.

use std::time::Duration;

use reqwest_circuit_breaker::{FailureKind, RejectReason, State};

use crate::support::client::{build, builder, client};
use crate::support::scripted::Server;
use crate::support::scripted::Step::{Read, Stall};
use crate::support::server::{BlackHole, StatusServer};
use crate::support::stack::{End, World, end, get, until};

const SHORT: Duration = Duration::from_millis(100);

async fn opens(client: reqwest::Client, url: &str, kind: FailureKind) {
    let world = World::new();
    let client = world.around(client);
    for _ in 0..5 {
        assert_eq!(get(&client, url).await, End::Failed(Some(kind)));
    }
    assert_eq!(get(&client, url).await, End::Rejected(RejectReason::Open));
    let seen = world.seen(url);
    assert_eq!((seen.totals.failure, seen.last_failure), (5, Some(kind)));
}

#[tokio::test]
async fn five_calls_that_run_into_the_clients_timeout_open() {
    let server = Server::play([Read, Stall]).await;
    opens(build(builder().timeout(SHORT)), &server.url("/"), FailureKind::Timeout).await;
}

#[tokio::test]
async fn five_calls_that_run_into_the_read_timeout_open() {
    let server = Server::play([Read, Stall]).await;
    opens(
        build(builder().read_timeout(SHORT)),
        &server.url("/"),
        FailureKind::Timeout,
    )
    .await;
}

#[tokio::test]
async fn five_connections_that_do_not_come_about_open() {
    let nowhere = BlackHole::new().await;
    let client = build(builder().connect_timeout(SHORT));
    opens(client, &nowhere.url("/"), FailureKind::ConnectTimeout).await;
}

#[tokio::test]
async fn five_calls_that_run_into_their_own_timeout_open() {
    let server = Server::play([Read, Stall]).await;
    let (world, url) = (World::new(), server.url("/"));
    let client = world.client();
    for _ in 0..5 {
        let ended = end(client.get(&url).timeout(SHORT)).await;
        assert_eq!(ended, End::Failed(Some(FailureKind::Timeout)));
    }
    assert_eq!(world.of(&url).state(), State::Open);
}

#[cfg(feature = "retry")]
#[tokio::test]
async fn a_timeout_under_retry_is_one_failure() {
    use reqwest_middleware::ClientBuilder;

    let server = Server::play([Read, Stall]).await;
    let (world, url) = (World::opening_at(2), server.url("/"));
    let client = ClientBuilder::new(build(builder().timeout(SHORT)))
        .with(world.breaker())
        .with(crate::support::client::retry(1))
        .build();
    for failures in 1..=2 {
        assert_eq!(get(&client, &url).await, End::Failed(Some(FailureKind::Timeout)));
        assert_eq!(world.seen(&url).totals.failure, failures);
    }
    assert_eq!(world.of(&url).state(), State::Open);
}

#[tokio::test]
async fn a_hung_probe_lets_nobody_else_through() {
    let server = StatusServer::start([200]).await;
    server.hold();
    let (world, url) = (World::new(), server.url("/"));
    world.make_probe_due(&url);
    let client = world.client();
    let probe = tokio::spawn({
        let (client, url) = (client.clone(), url.clone());
        async move { get(&client, &url).await }
    });
    until(|| server.requests() == 1).await;
    for _ in 0..100 {
        assert_eq!(get(&client, &url).await, End::Rejected(RejectReason::ProbeInFlight));
    }
    assert_eq!(server.requests(), 1);
    server.release();
    assert_eq!(probe.await.unwrap(), End::Answered(200));
    assert_eq!(get(&client, &url).await, End::Answered(200));
}

/// A caller that waits long says so in its request, and keeps its slot as long.
#[tokio::test]
async fn a_probe_that_may_take_long_keeps_its_slot_beyond_the_probe_timeout() {
    let server = StatusServer::start([200]).await;
    server.hold();
    let (world, url) = (World::new(), server.url("/"));
    world.make_probe_due(&url);
    let client = world.around(client());
    let probe = tokio::spawn(client.get(&url).timeout(Duration::from_secs(600)).send());
    until(|| server.requests() == 1).await;
    world.clock.advance(Duration::from_secs(599));
    assert_eq!(get(&client, &url).await, End::Rejected(RejectReason::ProbeInFlight));
    server.release();
    probe.await.unwrap().unwrap();
    assert_eq!(world.of(&url).state(), State::Closed);
}
