//! What the caller did wrong says nothing about the upstream: it is passed on, and nothing is counted.

use std::io;

use reqwest_circuit_breaker::{RejectReason, State};
use reqwest_middleware::Error;

use crate::support::client::{build, builder};
use crate::support::scripted::Server;
use crate::support::scripted::Step::Stall;
use crate::support::server::StatusServer;
use crate::support::stack::{End, World, end, get};

#[tokio::test]
async fn a_bad_header_opens_nothing() {
    let world = World::new();
    let server = StatusServer::start([200]).await;
    let (client, url) = (world.client(), server.url("/"));
    for _ in 0..10 {
        let error = client.get(&url).header("bad name", "1").send().await.unwrap_err();
        assert!(
            matches!(error, Error::Reqwest(ref error) if error.is_builder()),
            "{error:?}"
        );
    }
    assert_eq!((world.registry.len(), server.requests()), (0, 0));
}

#[tokio::test]
async fn another_scheme_passes_unprotected_and_makes_no_breaker() {
    let world = World::new();
    let client = world.client();
    for url in [
        "foo://stock.example/",
        "data:text/plain,hello",
        "file:///etc/hosts",
        "unix:///run/stock.sock",
    ] {
        for _ in 0..10 {
            let error = client.get(url).send().await.unwrap_err();
            assert!(
                matches!(error, Error::Reqwest(ref error) if error.is_builder()),
                "{error:?}"
            );
        }
    }
    assert!(world.registry.is_empty());
}

#[tokio::test]
async fn a_request_that_only_https_may_make_is_ignored() {
    let world = World::opening_at(1);
    let client = world.around(build(builder().https_only(true)));
    let url = "http://stock.example/";
    assert_eq!(get(&client, url).await, End::Failed(None));
    let seen = world.seen(url);
    assert_eq!(
        (seen.state, seen.totals.ignored, seen.totals.failure),
        (State::Closed, 1, 0)
    );
}

fn broken_stream() -> reqwest::Body {
    reqwest::Body::wrap_stream(futures_util::stream::iter([
        Ok("some bytes"),
        Err(io::Error::from(io::ErrorKind::TimedOut)),
    ]))
}

#[tokio::test]
async fn a_body_stream_that_fails_is_ignored() {
    let world = World::opening_at(1);
    let server = Server::play([Stall]).await;
    let (client, url) = (world.client(), server.url("/"));
    for _ in 0..10 {
        assert_eq!(end(client.post(&url).body(broken_stream())).await, End::Failed(None));
    }
    let seen = world.seen(&url);
    assert_eq!(
        (seen.state, seen.totals.ignored, seen.totals.failure),
        (State::Closed, 10, 0)
    );
}

/// It decides nothing: the slot is free for the next one, without another wait.
#[tokio::test]
async fn a_probe_that_was_the_callers_mistake_gives_its_slot_back() {
    let world = World::new();
    let hung = Server::play([Stall]).await;
    let url = hung.url("/");
    let breaker = world.make_probe_due(&url);
    let client = world.client();
    for ignored in 1..=3 {
        assert_eq!(end(client.post(&url).body(broken_stream())).await, End::Failed(None));
        let seen = breaker.snapshot();
        assert_eq!((seen.state, seen.totals.ignored), (State::HalfOpen, ignored));
        assert_eq!(seen.half_open.map(|phase| phase.in_flight), Some(0));
    }
    assert_ne!(
        end(client.post(&url).body(broken_stream())).await,
        End::Rejected(RejectReason::ProbeInFlight)
    );
}
