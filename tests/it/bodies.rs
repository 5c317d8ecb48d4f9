//! Good headers are half an answer: where a breaker waits for the end of the body, that end is the verdict.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::Response;
use reqwest_circuit_breaker::{
    CircuitBreakerConfig, CircuitBreakerRegistryBuilder, Classifier, DefaultClassifier, Event, FailureKind, Outcome,
    RejectReason, State, TripPolicy, Verdict, VerdictAt,
};

use crate::support::client::{build, builder};
use crate::support::scripted::Server;
use crate::support::scripted::Step::{self, Fin, Read, Send, Stall, Wait};
use crate::support::server::{Answer, StatusServer};
use crate::support::stack::{End, World, get, until};

mod probes;
mod unchanged;

/// A body of nine bytes that stops after three.
const SHORT_OF_SIX: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc";

fn watching() -> World {
    watching_with(|builder| builder)
}

fn watching_with(change: impl FnOnce(CircuitBreakerRegistryBuilder) -> CircuitBreakerRegistryBuilder) -> World {
    World::with(|builder| change(builder.verdict_at(VerdictAt::EndOfBody)))
}

/// Successes, failures, ignored, cancelled and those in flight.
fn heard(world: &World, url: &str) -> [u64; 5] {
    let seen = world.seen(url);
    let totals = seen.totals;
    [
        totals.success,
        totals.failure,
        totals.ignored,
        totals.cancelled,
        seen.in_flight,
    ]
}

/// A server whose bodies stop in the middle and wait for the client.
async fn stalling() -> Server {
    Server::play([Read, Send(SHORT_OF_SIX), Stall]).await
}

async fn answer(world: &World, url: &str) -> Response {
    world.client().get(url).send().await.unwrap()
}

#[tokio::test]
async fn five_bodies_that_break_open() {
    let world = watching();
    let server = Server::play([Read, Send(SHORT_OF_SIX), Fin]).await;
    let (client, url) = (world.client(), server.url("/"));
    for failures in 1..=5 {
        let response = client.get(&url).send().await.unwrap();
        assert_eq!(heard(&world, &url), [0, failures - 1, 0, 0, 1]);
        assert!(response.bytes().await.unwrap_err().is_decode());
        assert_eq!(heard(&world, &url), [0, failures, 0, 0, 0]);
    }
    assert_eq!(get(&client, &url).await, End::Rejected(RejectReason::Open));
    let seen = world.seen(&url);
    assert_eq!((seen.last_failure, seen.totals.started), (Some(FailureKind::Body), 5));
}

#[tokio::test]
async fn with_the_verdict_at_the_headers_they_are_successes() {
    let world = World::opening_at(1);
    let server = Server::play([Read, Send(SHORT_OF_SIX), Fin]).await;
    let (client, url) = (world.client(), server.url("/"));
    for successes in 1..=5 {
        let response = client.get(&url).send().await.unwrap();
        response.bytes().await.unwrap_err();
        assert_eq!(heard(&world, &url), [successes, 0, 0, 0, 0]);
    }
}

#[tokio::test]
async fn a_body_that_times_out_is_a_timeout() {
    let timeouts = [
        builder().timeout(Duration::from_secs(2)),
        builder().read_timeout(Duration::from_secs(2)),
    ];
    for timeout in timeouts {
        let world = watching_with(|builder| builder.config(crate::support::stack::opening_at(1)));
        let server = stalling().await;
        let (client, url) = (world.around(build(timeout)), server.url("/"));
        let error = client.get(&url).send().await.unwrap().bytes().await.unwrap_err();
        assert!(error.is_timeout());
        let seen = world.seen(&url);
        assert_eq!(
            (seen.state, seen.last_failure),
            (State::Open, Some(FailureKind::Timeout))
        );
    }
}

#[tokio::test]
async fn a_body_read_to_its_end_is_one_success() {
    let world = watching();
    let server = StatusServer::start([Answer::status(200).body("whole")]).await;
    let url = server.url("/");
    let mut response = answer(&world, &url).await;
    assert_eq!(heard(&world, &url), [0, 0, 0, 0, 1]);
    while response.chunk().await.unwrap().is_some() {}
    assert_eq!(heard(&world, &url), [1, 0, 0, 0, 0]);
    drop(response);
    assert_eq!(heard(&world, &url), [1, 0, 0, 0, 0]);
}

#[tokio::test]
async fn a_body_given_up_at_any_point_is_a_success() {
    let world = watching();
    let server = stalling().await;
    let url = server.url("/");

    drop(answer(&world, &url).await);
    assert_eq!(heard(&world, &url), [1, 0, 0, 0, 0], "unread");

    let mut response = answer(&world, &url).await;
    assert_eq!(response.chunk().await.unwrap().unwrap(), "abc");
    drop(response);
    assert_eq!(heard(&world, &url), [2, 0, 0, 0, 0], "half-read");

    let reading = tokio::spawn(answer(&world, &url).await.bytes());
    tokio::time::sleep(Duration::from_millis(20)).await;
    reading.abort();
    assert!(reading.await.unwrap_err().is_cancelled());
    assert_eq!(heard(&world, &url), [3, 0, 0, 0, 0], "while it was read");

    let stream = answer(&world, &url).await.bytes_stream();
    drop(stream);
    assert_eq!(heard(&world, &url), [4, 0, 0, 0, 0], "as a stream");
}

#[tokio::test]
async fn a_caller_that_panics_with_the_response_in_hand_gives_it_up() {
    let world = watching();
    let server = stalling().await;
    let url = server.url("/");

    let response = answer(&world, &url).await;
    let unread = tokio::spawn(async move {
        let _response = response;
        panic!("before it is read");
    });
    assert!(unread.await.unwrap_err().is_panic());
    assert_eq!(heard(&world, &url), [1, 0, 0, 0, 0]);

    let mut response = answer(&world, &url).await;
    let half_read = tokio::spawn(async move {
        response.chunk().await.unwrap().unwrap();
        panic!("after a chunk");
    });
    assert!(half_read.await.unwrap_err().is_panic());
    assert_eq!(heard(&world, &url), [2, 0, 0, 0, 0]);
}

#[tokio::test]
async fn a_call_dropped_before_its_headers_is_cancelled() {
    let world = watching();
    let server = StatusServer::start([200]).await;
    server.hold();
    let url = server.url("/");
    let call = tokio::spawn(world.client().get(&url).send());
    until(|| server.requests() == 1).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    assert_eq!(heard(&world, &url), [0, 0, 0, 1, 0]);
}

#[tokio::test]
async fn a_content_that_cannot_be_decoded_is_ignored() {
    let answers: [&[u8]; 2] = [
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 9\r\n\r\nnot gzip!",
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\n\x1f\x8b\x08",
    ];
    for bytes in answers {
        let world = watching();
        let server = Server::play([Read, Send(bytes), Fin]).await;
        let url = server.url("/");
        answer(&world, &url).await.bytes().await.unwrap_err();
        assert_eq!(heard(&world, &url), [0, 0, 1, 0, 0]);
    }
}

#[tokio::test]
async fn a_failing_status_speaks_at_the_headers() {
    let world = watching();
    let server = Server::play([Read, Send(b"HTTP/1.1 503 -\r\ncontent-length: 9\r\n\r\nabc"), Stall]).await;
    let url = server.url("/");
    let response = answer(&world, &url).await;
    assert_eq!(heard(&world, &url), [0, 1, 0, 0, 0]);
    drop(response);
    assert_eq!(heard(&world, &url), [0, 1, 0, 0, 0]);
}

#[tokio::test]
async fn an_answer_without_a_body_is_a_success_at_once() {
    for status in [204, 304, 200] {
        let world = watching();
        let server = StatusServer::start([status]).await;
        let url = server.url("/");
        let response = answer(&world, &url).await;
        assert_eq!(heard(&world, &url), [1, 0, 0, 0, 0], "{status}");
        drop(response);
        assert_eq!(heard(&world, &url), [1, 0, 0, 0, 0], "{status}");
    }
}

#[tokio::test]
async fn a_broken_body_passes_the_classifier() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let asked = Arc::clone(&seen);
    let usual = DefaultClassifier::default().ignored_kind(FailureKind::Body);
    let world = watching_with(|builder| {
        builder.classifier(move |outcome: &Outcome<'_>| {
            let shape = (
                outcome.status().is_some(),
                outcome.error().is_some(),
                outcome.failure_kind(),
            );
            asked.lock().unwrap().push(shape);
            usual.classify(outcome)
        })
    });
    let server = Server::play([Read, Send(SHORT_OF_SIX), Fin]).await;
    let url = server.url("/");
    answer(&world, &url).await.bytes().await.unwrap_err();
    assert_eq!(heard(&world, &url), [0, 0, 1, 0, 0]);
    assert_eq!(
        *seen.lock().unwrap(),
        [(true, false, None), (false, false, Some(FailureKind::Body))]
    );
}

#[tokio::test]
async fn a_status_that_the_classifier_ignores_speaks_at_the_headers() {
    let ignoring = DefaultClassifier::default().ignored_status(http::StatusCode::OK);
    let world = watching_with(|builder| builder.classifier(ignoring));
    let server = stalling().await;
    let url = server.url("/");
    let _response = answer(&world, &url).await;
    assert_eq!(heard(&world, &url), [0, 0, 1, 0, 0]);
}

#[tokio::test]
async fn a_slow_body_is_a_slow_call() {
    let policy = TripPolicy::slow_call_rate(50.0, Duration::from_secs(2))
        .over_last_calls(2)
        .minimum_calls(2);
    let world =
        watching_with(|builder| builder.config(CircuitBreakerConfig::builder().trip_on(policy).build().unwrap()));
    let server = StatusServer::start([Answer::status(200).body("slow")]).await;
    let url = server.url("/");
    for _ in 0..2 {
        let response = answer(&world, &url).await;
        world.clock.advance(Duration::from_millis(2_001));
        response.bytes().await.unwrap();
    }
    assert_eq!(world.of(&url).state(), State::Open);
}

#[tokio::test]
async fn a_redirects_body_is_its_ends_own() {
    let world = watching();
    let b = Server::play([Read, Send(SHORT_OF_SIX), Fin] as [Step; 3]).await;
    let a = StatusServer::start([Answer::status(302).header("location", b.url("/"))]).await;
    let response = answer(&world, &a.url("/")).await;
    assert_eq!(heard(&world, &a.url("/")), [1, 0, 0, 0, 0]);
    response.bytes().await.unwrap_err();
    assert_eq!(
        (heard(&world, &a.url("/")), heard(&world, &b.url("/"))),
        ([1, 0, 0, 0, 0], [0, 1, 0, 0, 0])
    );
}

#[cfg(feature = "retry")]
#[tokio::test]
async fn a_body_after_retries_is_one_signal() {
    let world = watching();
    let server = StatusServer::start([503.into(), 503.into(), Answer::status(200).body("whole")]).await;
    let url = server.url("/");
    let response = world.retrying(2).get(&url).send().await.unwrap();
    assert_eq!(heard(&world, &url), [0, 0, 0, 0, 1]);
    assert_eq!(response.text().await.unwrap(), "whole");
    assert_eq!((heard(&world, &url), server.requests()), ([1, 0, 0, 0, 0], 3));
}

#[tokio::test]
async fn a_body_that_ends_after_the_breaker_moved_on_is_late() {
    let world = watching();
    let server = Server::play([Read, Send(SHORT_OF_SIX), Fin]).await;
    let url = server.url("/");
    let response = answer(&world, &url).await;
    world.of(&url).reset();
    response.bytes().await.unwrap_err();
    let seen = world.seen(&url);
    assert_eq!(
        (seen.totals.late, seen.totals.failure, seen.consecutive_failures),
        (1, 0, 0)
    );
}
