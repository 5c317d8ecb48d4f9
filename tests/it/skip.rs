//! A call that skips the breaker reaches the upstream, whatever the breaker thinks, and leaves no trace.

use reqwest_circuit_breaker::{FailureKind, RejectReason, SkipCircuitBreaker, State};

use crate::support::server::{Refusing, StatusServer};
use crate::support::stack::{End, World, end, get};

#[tokio::test]
async fn a_skipping_call_passes_an_open_breaker_and_is_not_counted() {
    let world = World::new();
    let server = StatusServer::start([200]).await;
    let (client, url) = (world.client(), server.url("/"));
    let breaker = world.make(&url);
    breaker.force_open();
    let before = breaker.snapshot();
    for _ in 0..10 {
        assert_eq!(
            end(client.get(&url).with_extension(SkipCircuitBreaker)).await,
            End::Answered(200)
        );
    }
    let after = breaker.snapshot();
    assert_eq!((after.totals, after.generation), (before.totals, before.generation));
    assert_eq!(get(&client, &url).await, End::Rejected(RejectReason::ForcedOpen));
    assert_eq!(server.requests(), 10);
}

#[tokio::test]
async fn a_skipping_call_makes_no_breaker_and_opens_none() {
    let world = World::opening_at(1);
    let nobody = Refusing::new();
    let (client, url) = (world.client(), nobody.url("/"));
    for _ in 0..10 {
        let ended = end(client.get(&url).with_extension(SkipCircuitBreaker)).await;
        assert_eq!(ended, End::Failed(Some(FailureKind::Connect)));
    }
    assert!(world.registry.is_empty());
}

#[tokio::test]
async fn a_skipping_call_is_no_probe() {
    let world = World::new();
    let server = StatusServer::start([200]).await;
    let (client, url) = (world.client(), server.url("/"));
    let breaker = world.make_probe_due(&url);
    end(client.get(&url).with_extension(SkipCircuitBreaker)).await;
    assert_eq!((breaker.state(), breaker.snapshot().probe_due), (State::Open, true));
}
