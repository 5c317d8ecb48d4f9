//! A breaker in the wrong place counts calls no worse than it must, and says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use http::Extensions;
use reqwest::{Request, Response};
use reqwest_circuit_breaker::{CircuitBreakerConfig, Event, FailureKind, RejectReason, State};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Middleware, Next, Result};

use crate::support::client::{client, retry};
use crate::support::scripted::Server;
use crate::support::server::{Answer, Refusing, StatusServer};
use crate::support::stack::{End, World, get};

/// The breaker inside the retries.
fn misplaced(world: &World, retries: u32) -> ClientWithMiddleware {
    ClientBuilder::new(client())
        .with(retry(retries))
        .with(world.breaker())
        .build()
}

/// A world that counts how often it is told of the mistake.
fn telling() -> (World, Arc<AtomicU64>) {
    let told = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&told);
    let world = World::with(|builder| {
        builder.listener(move |event: &Event| {
            if let Event::Misplaced(_) = event {
                count.fetch_add(1, Ordering::SeqCst);
            }
        })
    });
    (world, told)
}

#[tokio::test]
async fn a_breaker_inside_the_retries_counts_a_failing_call_once_and_tells_the_mistake_once() {
    let (world, told) = telling();
    let server = StatusServer::start([503]).await;
    let (client, url) = (misplaced(&world, 2), server.url("/"));
    for calls in 1..=5 {
        assert_eq!(
            get(&client, &url).await,
            if calls < 5 {
                End::Answered(503)
            } else {
                End::Rejected(RejectReason::Open)
            }
        );
        let seen = world.seen(&url);
        assert_eq!((seen.totals.failure, told.load(Ordering::SeqCst)), (calls, 1));
    }
    let seen = world.seen(&url);
    // The fifth call opens with its first attempt; the second is rejected, and seen as a second attempt all the same.
    assert_eq!(
        (seen.state, seen.totals.ignored, seen.totals.rejected),
        (State::Open, 8, 1)
    );
    assert_eq!((world.registry.stats().misplaced, server.requests()), (9, 13));
}

#[tokio::test]
async fn a_second_attempt_is_told_once_also_where_calls_are_timed() {
    let timed = CircuitBreakerConfig::builder().abandoned_after(Duration::from_secs(60));
    let world = World::with(|builder| builder.config(timed.build().unwrap()));
    let server = StatusServer::start([503]).await;
    assert_eq!(get(&misplaced(&world, 1), &server.url("/")).await, End::Answered(503));
    assert_eq!((world.registry.stats().misplaced, server.requests()), (1, 2));
}

#[tokio::test]
async fn a_breaker_inside_the_retries_is_no_mistake_while_nothing_fails() {
    let (world, told) = telling();
    let server = StatusServer::start([200, 404, 200]).await;
    let (client, url) = (misplaced(&world, 2), server.url("/"));
    for _ in 0..10 {
        get(&client, &url).await;
    }
    assert_eq!((world.registry.stats().misplaced, told.load(Ordering::SeqCst)), (0, 0));
}

#[tokio::test]
async fn two_calls_of_one_client_are_no_second_attempt() {
    let (world, _) = telling();
    let server = StatusServer::start([503]).await;
    let (client, url) = (world.client(), server.url("/"));
    for _ in 0..5 {
        get(&client, &url).await;
    }
    assert_eq!(
        (world.registry.stats().misplaced, world.seen(&url).totals.failure),
        (0, 5)
    );
}

#[tokio::test]
async fn a_probe_inside_the_retries_decides_with_its_first_attempt() {
    let (world, told) = telling();
    let server = StatusServer::start([503]).await;
    let url = server.url("/");
    let breaker = world.make_probe_due(&url);
    assert_eq!(
        get(&misplaced(&world, 2), &url).await,
        End::Rejected(RejectReason::Open)
    );
    let seen = breaker.snapshot();
    assert_eq!(
        (server.requests(), seen.totals.failure, seen.totals.rejected),
        (1, 1, 1)
    );
    assert_eq!(
        (
            seen.state,
            world.registry.stats().misplaced,
            told.load(Ordering::SeqCst)
        ),
        (State::Open, 1, 1)
    );
}

/// The same registry twice in one stack.
fn twice(world: &World) -> ClientWithMiddleware {
    ClientBuilder::new(client())
        .with(world.breaker())
        .with(world.breaker())
        .build()
}

#[tokio::test]
async fn a_registry_twice_in_one_stack_does_not_lock_its_own_probe_out() {
    let (world, told) = telling();
    let server = StatusServer::start([200]).await;
    let url = server.url("/");
    let breaker = world.make_probe_due(&url);
    let client = twice(&world);
    assert_eq!(get(&client, &url).await, End::Answered(200));
    let seen = breaker.snapshot();
    assert_eq!(
        (seen.state, seen.totals.success, seen.totals.rejected),
        (State::Closed, 1, 0)
    );
    assert_eq!((world.registry.stats().misplaced, told.load(Ordering::SeqCst)), (1, 1));

    server.answer_with([503]);
    world.make_probe_due(&url);
    assert_eq!(get(&client, &url).await, End::Answered(503));
    let seen = breaker.snapshot();
    assert_eq!((seen.state, seen.totals.failure), (State::Open, 1));
}

#[tokio::test]
async fn a_registry_twice_in_one_stack_counts_a_failure_once() {
    let (world, told) = telling();
    let nobody = Refusing::new();
    let (client, url) = (twice(&world), nobody.url("/"));
    for failures in 1..=5 {
        assert_eq!(get(&client, &url).await, End::Failed(Some(FailureKind::Connect)));
        let seen = world.seen(&url);
        assert_eq!(
            (seen.totals.failure, seen.consecutive_failures),
            (failures, failures as u32)
        );
        assert_eq!(
            (world.registry.stats().misplaced, told.load(Ordering::SeqCst)),
            (failures, 1)
        );
    }
    assert_eq!(get(&client, &url).await, End::Rejected(RejectReason::Open));
}

/// The failure is that of the origin the call was redirected to, and each attempt would charge it.
#[tokio::test]
async fn a_redirected_failure_is_counted_once_wherever_the_breaker_stands() {
    for (misplace, seconds) in [(twice as fn(&World) -> _, 1), (|world: &World| misplaced(world, 2), 2)] {
        let (world, told) = telling();
        let b = StatusServer::start([503]).await;
        let a = StatusServer::start([Answer::status(302).header("location", b.url("/"))]).await;
        let client = misplace(&world);
        for failures in 1..=2 {
            assert_eq!(get(&client, &a.url("/")).await, End::Answered(503));
            let totals = world.seen(&b.url("/")).totals;
            assert_eq!((totals.failure, totals.ignored), (failures, failures * seconds));
            assert_eq!(
                (world.registry.stats().misplaced, told.load(Ordering::SeqCst)),
                (failures * seconds, 1)
            );
        }
        assert_eq!(world.seen(&a.url("/")).totals.failure, 0);
    }
}

/// Retries see a rejection as final: nothing is tried again for it.
#[tokio::test]
async fn a_rejection_is_not_retried() {
    let world = World::new();
    let server = StatusServer::start([200]).await;
    let url = server.url("/");
    world.make(&url).force_open();
    let client = misplaced(&world, 3);
    assert_eq!(get(&client, &url).await, End::Rejected(RejectReason::ForcedOpen));
    assert_eq!((server.requests(), world.seen(&url).totals.rejected), (0, 1));
}

/// A middleware outside that gives its first attempt up, and tries again.
struct Impatient;

#[async_trait::async_trait]
impl Middleware for Impatient {
    async fn handle(&self, request: Request, extensions: &mut Extensions, next: Next<'_>) -> Result<Response> {
        let again = request.try_clone().unwrap();
        let first = next.clone().run(request, extensions);
        match tokio::time::timeout(Duration::from_millis(100), first).await {
            Ok(ended) => ended,
            Err(_) => next.run(again, extensions).await,
        }
    }
}

/// The first attempt is no probe any more: what it left behind lets nobody pass by the breaker.
#[tokio::test]
async fn an_attempt_after_a_probe_that_was_given_up_asks_again() {
    let (world, _) = telling();
    let server = Server::start({
        let first = Arc::new(AtomicBool::new(true));
        move |mut connection| {
            let first = first.swap(false, Ordering::SeqCst);
            async move {
                connection.read_request().await;
                if !first {
                    connection.send(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
                }
                connection.stall().await;
            }
        }
    })
    .await;
    let url = server.url("/");
    let breaker = world.make_probe_due(&url);
    let client = ClientBuilder::new(client())
        .with(Impatient)
        .with(world.breaker())
        .build();
    assert_eq!(get(&client, &url).await, End::Answered(200));
    let seen = breaker.snapshot();
    assert_eq!(
        (seen.state, seen.totals.cancelled, seen.totals.success),
        (State::Closed, 1, 1)
    );
    assert_eq!(world.registry.stats().misplaced, 1);
}
