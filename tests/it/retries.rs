//! The breaker stands outside the retries and hears one signal per logical call.

use reqwest_circuit_breaker::{FailureKind, RejectReason, State};

use crate::support::server::{Refusing, StatusServer};
use crate::support::stack::{End, World, get};

#[tokio::test]
async fn a_call_that_succeeds_after_retries_is_one_success() {
    let world = World::new();
    let server = StatusServer::start([503, 503, 200].repeat(10)).await;
    let (client, url) = (world.retrying(2), server.url("/"));
    for _ in 0..10 {
        assert_eq!(get(&client, &url).await, End::Answered(200));
    }
    let seen = world.seen(&url);
    assert_eq!(
        (seen.totals.success, seen.totals.failure, seen.totals.started),
        (10, 0, 10)
    );
    assert_eq!(
        (server.requests(), seen.generation, seen.consecutive_failures),
        (30, 0, 0)
    );
}

#[tokio::test]
async fn a_call_that_fails_in_all_its_attempts_is_one_failure() {
    let world = World::new();
    let server = StatusServer::start([503]).await;
    let (client, url) = (world.retrying(2), server.url("/"));
    for failures in 1..=5 {
        assert_eq!(get(&client, &url).await, End::Answered(503));
        assert_eq!(world.seen(&url).totals.failure, failures);
    }
    assert_eq!(get(&client, &url).await, End::Rejected(RejectReason::Open));
    let seen = world.seen(&url);
    assert_eq!((server.requests(), seen.totals.failure, seen.generation), (15, 5, 1));
    assert_eq!(world.registry.stats().misplaced, 0);
}

#[tokio::test]
async fn an_error_is_seen_through_the_retries_around_it() {
    for retries in [0, 2] {
        let world = World::new();
        let nobody = Refusing::new();
        let (client, url) = (world.retrying(retries), nobody.url("/"));
        for _ in 0..5 {
            assert_eq!(get(&client, &url).await, End::Failed(Some(FailureKind::Connect)));
        }
        assert_eq!(get(&client, &url).await, End::Rejected(RejectReason::Open));
        let seen = world.seen(&url);
        assert_eq!(
            (seen.totals.failure, seen.last_failure),
            (5, Some(FailureKind::Connect))
        );
        assert_eq!(
            seen.totals.failures_by_kind.into_iter().collect::<Vec<_>>(),
            [("connect", 5)]
        );
    }
}

#[tokio::test]
async fn a_429_is_retried_and_still_a_success() {
    let world = World::opening_at(1);
    let server = StatusServer::start([429]).await;
    let (client, url) = (world.retrying(2), server.url("/"));
    assert_eq!(get(&client, &url).await, End::Answered(429));
    let seen = world.seen(&url);
    assert_eq!(
        (server.requests(), seen.totals.success, seen.state),
        (3, 1, State::Closed)
    );
}
