//! A status is an answer, and the caller's: it is passed on as it came, whether it counts or not.

use reqwest_circuit_breaker::{FailureKind, RejectReason, State};

use crate::support::server::{Answer, StatusServer};
use crate::support::stack::{End, World, get};

#[tokio::test]
async fn answers_that_are_no_5xx_do_not_open() {
    let world = World::new();
    let server = StatusServer::start([200]).await;
    let (client, url) = (world.client(), server.url("/items/7"));
    for status in [429, 404, 400, 401, 403, 408, 409, 410, 418, 204, 304, 300] {
        server.answer_with([Answer::status(status).header("x-kept", status.to_string())]);
        for _ in 0..100 {
            let response = client.get(&url).send().await.unwrap();
            assert_eq!(response.status().as_u16(), status);
            assert_eq!(response.headers()["x-kept"].to_str().unwrap(), status.to_string());
        }
    }
    let seen = world.seen(&url);
    assert_eq!((seen.state, seen.generation), (State::Closed, 0));
    assert_eq!((seen.totals.success, seen.totals.failure), (1_200, 0));
}

#[tokio::test]
async fn a_429_is_passed_on_with_all_that_came_with_it() {
    let world = World::new();
    let answer = Answer::status(429).header("retry-after", "7").body("slow down");
    let server = StatusServer::start([answer]).await;
    let response = world.client().get(server.url("/")).send().await.unwrap();
    assert_eq!(response.status(), 429);
    assert_eq!(response.headers()["retry-after"], "7");
    assert_eq!(response.url().as_str(), server.url("/"));
    assert_eq!(response.remote_addr(), Some(server.address()));
    assert_eq!(response.text().await.unwrap(), "slow down");
}

#[tokio::test]
async fn five_503_open_and_each_is_passed_on_as_a_response() {
    for status in [500, 501, 502, 503, 504, 599] {
        let world = World::new();
        let server = StatusServer::start([Answer::status(status).body("broken")]).await;
        let (client, url) = (world.client(), server.url("/"));
        for _ in 0..5 {
            let response = client.get(&url).send().await.unwrap();
            assert_eq!(response.status().as_u16(), status);
            assert_eq!(response.text().await.unwrap(), "broken");
        }
        assert_eq!(get(&client, &url).await, End::Rejected(RejectReason::Open));
        let seen = world.seen(&url);
        let last = seen.last_failure;
        assert!(
            matches!(last, Some(FailureKind::Status(code)) if code.as_u16() == status),
            "{last:?}"
        );
        assert_eq!((seen.totals.failure, seen.totals.rejected), (5, 1));
        assert_eq!(server.requests(), 5);
    }
}

#[tokio::test]
async fn an_answer_between_failures_ends_their_run() {
    let world = World::new();
    let answers = [503, 503, 503, 503, 404].repeat(20);
    let server = StatusServer::start(answers).await;
    let (client, url) = (world.client(), server.url("/"));
    for _ in 0..100 {
        get(&client, &url).await;
    }
    assert_eq!(world.of(&url).state(), State::Closed);
}
