//! A call whose breaker has opened meanwhile does not retry to the end of its policy.

use std::time::Duration;

use reqwest_circuit_breaker::{CircuitBreakerConfig, KeyScheme, RejectReason, SkipCircuitBreaker, State};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware};

use crate::support::client::{client, retry};
use crate::support::server::StatusServer;
use crate::support::stack::{End, World, end, get, until};

/// The breaker, the retries, and the middleware that ends them.
fn stopping(world: &World, retries: u32) -> ClientWithMiddleware {
    ClientBuilder::new(client())
        .with(world.breaker())
        .with(retry(retries))
        .with(world.registry.stop_retries())
        .build()
}

/// Sends a call whose first attempt fails after `meanwhile` has happened.
async fn first_attempt_fails_after(
    world: &World,
    server: &StatusServer,
    skip: bool,
    meanwhile: impl FnOnce(&World, &str),
) -> End {
    server.answer_with([503, 200]);
    server.hold();
    let url = server.url("/");
    let request = stopping(world, 2).get(&url);
    let request = if skip {
        request.with_extension(SkipCircuitBreaker)
    } else {
        request
    };
    let call = tokio::spawn(end(request));
    until(|| server.requests() == 1).await;
    meanwhile(world, &url);
    server.release();
    call.await.unwrap()
}

#[tokio::test]
async fn the_remaining_attempts_end_once_the_breaker_is_open() {
    let world = World::new();
    let server = StatusServer::start([503]).await;
    let ended = first_attempt_fails_after(&world, &server, false, |world, url| {
        world.of(url).trip(Duration::from_secs(60));
    })
    .await;
    assert_eq!((ended, server.requests()), (End::Rejected(RejectReason::Open), 1));
    let seen = world.seen(&server.url("/"));
    // It was admitted once and ended in another state. Nothing was rejected at the door.
    assert_eq!((seen.totals.started, seen.totals.late, seen.totals.rejected), (1, 1, 0));
    assert_eq!((seen.totals.failure, seen.totals.ignored, seen.generation), (0, 0, 1));
}

#[tokio::test]
async fn the_remaining_attempts_end_once_it_is_forced_open() {
    let world = World::new();
    let server = StatusServer::start([503]).await;
    let ended = first_attempt_fails_after(&world, &server, false, |world, url| world.of(url).force_open()).await;
    assert_eq!((ended, server.requests()), (End::Rejected(RejectReason::ForcedOpen), 1));
}

#[tokio::test]
async fn in_a_full_registry_the_origins_breaker_ends_the_attempts_that_it_admitted() {
    let world = World::with(|builder| builder.key_scheme(KeyScheme::method()).max_breakers(1));
    let server = StatusServer::start([503]).await;
    let origin = world.make(&server.url("/"));
    let ended = first_attempt_fails_after(&world, &server, false, |world, url| {
        assert_eq!(world.seen(url).in_flight, 1);
        world.of(url).force_open();
    })
    .await;
    assert_eq!((ended, server.requests()), (End::Rejected(RejectReason::ForcedOpen), 1));
    assert_eq!((world.registry.len(), origin.snapshot().totals.late), (1, 1));
}

#[tokio::test]
async fn attempts_go_on_while_a_call_would_be_admitted() {
    // Its probe is due: a call would be admitted, and so is an attempt, but it takes no slot.
    let world = World::new();
    let server = StatusServer::start([503]).await;
    let ended = first_attempt_fails_after(&world, &server, false, |world, url| {
        world.make_probe_due(url);
    })
    .await;
    assert_eq!((ended, server.requests()), (End::Answered(200), 2));
    let seen = world.seen(&server.url("/"));
    assert_eq!((seen.state, seen.probe_due, seen.totals.late), (State::Open, true, 1));

    // Closed, or closed again meanwhile.
    let world = World::new();
    let server = StatusServer::start([503]).await;
    let ended = first_attempt_fails_after(&world, &server, false, |world, url| {
        world.of(url).trip(Duration::from_secs(60));
        world.of(url).reset();
    })
    .await;
    assert_eq!((ended, server.requests()), (End::Answered(200), 2));
}

#[tokio::test]
async fn attempts_go_on_where_the_breaker_only_reports() {
    let config = CircuitBreakerConfig::builder().report_only(true).build().unwrap();
    let world = World::with(|builder| builder.config(config));
    let server = StatusServer::start([503]).await;
    let ended = first_attempt_fails_after(&world, &server, false, |world, url| {
        world.of(url).trip(Duration::from_secs(60));
    })
    .await;
    assert_eq!((ended, server.requests()), (End::Answered(200), 2));
}

#[tokio::test]
async fn attempts_of_a_call_that_skips_the_breaker_go_on() {
    let world = World::new();
    let server = StatusServer::start([503]).await;
    let ended = first_attempt_fails_after(&world, &server, true, |world, url| world.make(url).force_open()).await;
    assert_eq!((ended, server.requests()), (End::Answered(200), 2));
    assert_eq!(world.seen(&server.url("/")).totals.started, 0);
}

#[tokio::test]
async fn a_probe_keeps_all_its_attempts() {
    let world = World::new();
    let server = StatusServer::start([503, 503, 200]).await;
    let url = server.url("/");
    let breaker = world.make_probe_due(&url);
    assert_eq!(get(&stopping(&world, 2), &url).await, End::Answered(200));
    let seen = breaker.snapshot();
    assert_eq!(
        (server.requests(), seen.state, seen.totals.success),
        (3, State::Closed, 1)
    );
    assert_eq!((seen.totals.rejected, world.registry.stats().misplaced), (0, 0));
}

#[tokio::test]
async fn the_end_of_the_retries_makes_no_breaker() {
    let world = World::new();
    let server = StatusServer::start([200]).await;
    let client = ClientBuilder::new(client()).with(world.registry.stop_retries()).build();
    assert_eq!(get(&client, &server.url("/")).await, End::Answered(200));
    assert!(world.registry.is_empty());
}
