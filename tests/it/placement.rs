//! One signal per logical call also where the breaker stands in the wrong place; and it is told so.

use reqwest_circuit_breaker::{
    CircuitBreakerConfig, CircuitBreakerMiddleware, CircuitOpenError, Event, SkipCircuitBreaker, State, TripPolicy,
};

use crate::fixture::{Fixture, key, secs};
use crate::mock::{Again, Upstream};

const A: &str = "http://a.test/x";

fn misplaced(it: &Fixture) -> (u64, usize) {
    let told = it
        .events
        .all()
        .iter()
        .filter(|event| matches!(event, Event::Misplaced(_)))
        .count();
    (it.registry.stats().misplaced, told)
}

fn breakers(it: &Fixture) -> CircuitBreakerMiddleware {
    CircuitBreakerMiddleware::new(it.registry.clone())
}

#[tokio::test]
async fn retries_inside_are_one_signal() {
    let it = Fixture::five();
    let upstream = Upstream::status(503);
    let client = upstream.under(|stack| stack.with(breakers(&it)).with(Again(3)));
    for calls in 1..=4 {
        client.get(A).send().await.unwrap();
        assert_eq!((it.totals().failure, upstream.requests()), (calls, calls as usize * 3));
    }
    assert_eq!((it.state(), misplaced(&it)), (State::Closed, (0, 0)));
}

#[tokio::test]
async fn retries_outside_are_told_once_and_their_failures_count_once() {
    let it = Fixture::five();
    let upstream = Upstream::status(503);
    let client = upstream.under(|stack| stack.with(Again(3)).with(breakers(&it)));
    for _ in 0..4 {
        client.get(A).send().await.unwrap();
    }
    assert_eq!(
        (it.totals().failure, it.totals().ignored, upstream.requests()),
        (4, 8, 12)
    );
    assert_eq!((it.state(), misplaced(&it)), (State::Closed, (8, 1)));
    client.get(A).send().await.unwrap_err();
    assert_eq!(it.state(), State::Open, "the fifth call, not the fifth attempt");
}

#[tokio::test]
async fn a_retried_probe_outside_is_told() {
    let it = Fixture::five().opened();
    it.at(30);
    let client = Upstream::statuses(&[503, 200]).under(|stack| stack.with(Again(2)).with(breakers(&it)));
    let error = client.get(A).send().await.unwrap_err();
    assert!(CircuitOpenError::find(&error).is_some(), "the probe has decided");
    assert_eq!((it.state(), misplaced(&it)), (State::Open, (1, 1)));
}

#[tokio::test]
async fn separate_calls_are_no_retries() {
    let it = Fixture::new(CircuitBreakerConfig::builder().trip_on(TripPolicy::consecutive_failures(100)));
    let client = Upstream::status(503).under(|stack| stack.with(breakers(&it)));
    for _ in 0..10 {
        client.get(A).send().await.unwrap();
    }
    assert_eq!((it.totals().failure, misplaced(&it)), (10, (0, 0)));
}

#[tokio::test]
async fn twice_in_one_stack_no_failure_counts_twice() {
    let it = Fixture::five();
    let client = Upstream::status(503).under(|stack| stack.with(breakers(&it)).with(breakers(&it)));
    for calls in 1..=4 {
        client.get(A).send().await.unwrap();
        assert_eq!((it.state(), it.totals().failure), (State::Closed, calls));
    }
    assert_eq!(misplaced(&it), (4, 1));
}

#[tokio::test]
async fn twice_in_one_stack_no_probe_waits_for_itself() {
    for (status, state) in [(200, State::Closed), (503, State::Open)] {
        let it = Fixture::five().opened();
        it.at(30);
        let upstream = Upstream::status(status);
        let client = upstream.under(|stack| stack.with(breakers(&it)).with(breakers(&it)));
        client.get(A).send().await.unwrap();
        assert_eq!((it.state(), upstream.requests()), (state, 1));
        assert_eq!(misplaced(&it), (1, 1));
        assert_eq!(it.snapshot().opened_in_a_row, if status == 200 { 0 } else { 2 });
    }
}

#[tokio::test]
async fn two_registries_in_one_stack_each_count_for_themselves() {
    let (outer, inner) = (Fixture::five(), Fixture::five());
    let client = Upstream::status(503).under(|stack| stack.with(breakers(&outer)).with(breakers(&inner)));
    for calls in 1..=4 {
        client.get(A).send().await.unwrap();
        assert_eq!((outer.totals().failure, inner.totals().failure), (calls, calls));
    }
    assert_eq!((misplaced(&outer), misplaced(&inner)), ((0, 0), (0, 0)));
}

#[tokio::test]
async fn retries_end_once_the_breaker_has_opened() {
    let it = Fixture::five();
    let breaker = it.breaker.clone();
    // The other calls find out meanwhile.
    let meanwhile = Upstream::new(move |request| {
        breaker.trip(secs(10));
        async move { Ok(crate::mock::answer(503, request.url())) }
    });
    let client = meanwhile.under(|stack| {
        stack
            .with(breakers(&it))
            .with(Again(5))
            .with(it.registry.stop_retries())
    });
    let error = client.get(A).send().await.unwrap_err();
    assert!(CircuitOpenError::find(&error).is_some());
    assert_eq!(meanwhile.requests(), 1, "four attempts ended here");
    let totals = it.totals();
    assert_eq!(
        (totals.rejected, totals.started, totals.late),
        (0, 1, 1),
        "the layer counts nothing"
    );
}

#[tokio::test]
async fn a_probes_attempts_are_not_ended() {
    let it = Fixture::five().opened();
    it.at(30);
    let upstream = Upstream::statuses(&[503, 503, 200]);
    let client = upstream.under(|stack| {
        stack
            .with(breakers(&it))
            .with(Again(3))
            .with(it.registry.stop_retries())
    });
    client.get(A).send().await.unwrap();
    assert_eq!((it.state(), upstream.requests()), (State::Closed, 3));
}

#[tokio::test]
async fn a_skipped_calls_retries_are_not_ended() {
    let it = Fixture::five();
    it.breaker.force_open();
    let upstream = Upstream::status(503);
    let client = upstream.under(|stack| {
        stack
            .with(breakers(&it))
            .with(Again(3))
            .with(it.registry.stop_retries())
    });
    client.get(A).with_extension(SkipCircuitBreaker).send().await.unwrap();
    assert_eq!((upstream.requests(), it.totals().started), (3, 0));
}

#[tokio::test]
async fn ending_retries_creates_no_breaker_and_lets_pass_what_would_be_admitted() {
    let it = Fixture::five().opened();
    let client = Upstream::status(200).under(|stack| stack.with(it.registry.stop_retries()));
    client.get("http://unknown.test").send().await.unwrap();
    assert!(it.registry.get(&key("http://unknown.test")).is_none());
    assert!(client.get(A).send().await.is_err());
    it.at(30);
    client.get(A).send().await.unwrap();
    assert_eq!(
        (it.state(), it.totals().rejected),
        (State::Open, 0),
        "asked, not admitted"
    );
}
