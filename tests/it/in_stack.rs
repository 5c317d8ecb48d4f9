//! One logical call in, one signal out, whatever the rest of the stack does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use reqwest_circuit_breaker::{
    CircuitBreakerConfig, CircuitOpenError, FailureKind, Outcome, RejectReason, SkipCircuitBreaker, State, Verdict,
};
use tokio::sync::Notify;

use crate::fixture::{Fixture, secs};
use crate::mock::{Upstream, answer, rejection};

const A: &str = "http://a.test/items/7?token=secret";

#[tokio::test]
async fn failing_statuses_are_passed_on_untouched_and_count() {
    let it = Fixture::five();
    let upstream = Upstream::status(503);
    let client = upstream.behind(&it.registry);
    for _ in 0..5 {
        let response = client.get(A).send().await.unwrap();
        assert_eq!(
            (response.status().as_u16(), response.text().await.unwrap().as_str()),
            (503, "body")
        );
    }
    let open = rejection(client.get(A).send().await).expect("a rejection");
    assert_eq!(
        (open.reason(), open.retry_after()),
        (RejectReason::Open, Some(secs(30)))
    );
    assert_eq!(
        open.last_failure().map(|kind| kind.to_string()).as_deref(),
        Some("status 503")
    );
    assert_eq!(
        (it.state(), upstream.requests()),
        (State::Open, 5),
        "the sixth never left"
    );
}

#[tokio::test]
async fn any_other_status_is_an_answer() {
    let it = Fixture::five();
    for status in [429, 404, 302, 499, 200] {
        let client = Upstream::status(status).behind(&it.registry);
        for _ in 0..100 {
            assert_eq!(client.get(A).send().await.unwrap().status().as_u16(), status);
        }
    }
    assert_eq!((it.state(), it.ends()), (State::Closed, [500, 0, 0, 0, 0]));
}

#[tokio::test]
async fn a_dropped_probe_gives_its_slot_back() {
    let it = Fixture::five().opened();
    let (silent, sound) = (
        Upstream::silent().behind(&it.registry),
        Upstream::status(200).behind(&it.registry),
    );
    it.at(30);
    let mut probe = Box::pin(silent.get(A).send());
    assert!(probe.as_mut().now_or_never().is_none());
    assert_eq!(
        rejection(sound.get(A).send().await).map(|open| open.reason()),
        Some(RejectReason::ProbeInFlight)
    );
    it.at(31);
    drop(probe);
    assert_eq!((it.state(), it.totals().cancelled), (State::HalfOpen, 1));
    sound.get(A).send().await.unwrap();
    assert_eq!(it.state(), State::Closed);
}

#[tokio::test]
async fn dropped_calls_are_forgotten() {
    let it = Fixture::five();
    let client = Upstream::silent().behind(&it.registry);
    for _ in 0..100 {
        assert!(client.get(A).send().now_or_never().is_none());
    }
    assert_eq!(
        (it.state(), it.ends(), it.snapshot().in_flight),
        (State::Closed, [0, 0, 0, 100, 0], 0)
    );
}

#[tokio::test]
async fn a_panic_further_in_frees_the_slot_and_counts_as_cancelled() {
    let it = Fixture::five().opened();
    it.at(30);
    let panicking = Upstream::new(|_| async { std::panic::resume_unwind(Box::new(())) }).behind(&it.registry);
    let task = tokio::spawn(async move { panicking.get(A).send().await.map(drop) });
    assert!(task.await.unwrap_err().is_panic());
    assert_eq!(
        (it.state(), it.half_open().in_flight, it.totals().cancelled),
        (State::HalfOpen, 0, 1)
    );
    Upstream::status(200).behind(&it.registry).get(A).send().await.unwrap();
    assert_eq!(it.state(), State::Closed);
}

#[tokio::test]
async fn a_classifier_that_panics_frees_the_slot_and_counts_as_cancelled() {
    let it = Fixture::with(CircuitBreakerConfig::builder(), |registry| {
        registry.classifier(|_: &Outcome<'_>| -> Verdict { std::panic::resume_unwind(Box::new(())) })
    });
    it.breaker.trip(secs(1));
    it.at(1);
    for upstream in [Upstream::status(200), Upstream::bulkhead()] {
        let client = upstream.behind(&it.registry);
        let task = tokio::spawn(async move { client.get(A).send().await.map(drop) });
        assert!(task.await.unwrap_err().is_panic());
    }
    assert_eq!(
        (it.state(), it.half_open().in_flight, it.totals().cancelled),
        (State::HalfOpen, 0, 2)
    );
}

#[tokio::test]
async fn what_never_reached_the_upstream_decides_nothing() {
    let it = Fixture::five().opened();
    it.at(30);
    let full = Upstream::bulkhead().behind(&it.registry);
    for _ in 0..3 {
        let error = full.get(A).send().await.unwrap_err();
        assert!(CircuitOpenError::find(&error).is_none() && error.to_string().contains("no room here"));
    }
    assert_eq!((it.state(), it.totals().ignored), (State::HalfOpen, 3));
    Upstream::status(500).behind(&it.registry).get(A).send().await.unwrap();
    assert_eq!(it.state(), State::Open, "the fourth decides");
}

#[tokio::test]
async fn of_many_tasks_at_the_deadline_one_reaches_the_upstream() {
    let it = Fixture::five().opened();
    let (gate, open) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
    let (wait, opened) = (Arc::clone(&gate), Arc::clone(&open));
    let upstream = Upstream::new(move |request| {
        let (gate, open) = (Arc::clone(&wait), Arc::clone(&opened));
        async move {
            while !open.load(Ordering::SeqCst) {
                gate.notified().await;
            }
            Ok(answer(200, request.url()))
        }
    });
    let client = upstream.behind(&it.registry);
    it.at(30);
    let tasks: Vec<_> = (0..64)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { rejection(client.get(A).send().await) })
        })
        .collect();
    while it.totals().rejected < 63 {
        tokio::task::yield_now().await;
    }
    assert_eq!(upstream.requests(), 1);
    open.store(true, Ordering::SeqCst);
    gate.notify_waiters();
    gate.notify_one();
    let mut rejections = Vec::new();
    for task in tasks {
        rejections.extend(task.await.unwrap());
    }
    assert_eq!(rejections.len(), 63);
    assert!(
        rejections
            .iter()
            .all(|open| open.reason() == RejectReason::ProbeInFlight && open.retry_after().is_none())
    );
    assert_eq!(it.events.path(), "closed>open open>half_open half_open>closed");
}

#[tokio::test]
async fn a_probe_with_a_longer_timeout_of_its_own_keeps_its_slot_for_that_long() {
    let it = Fixture::five().opened();
    let client = Upstream::silent().behind(&it.registry);
    it.at(30);
    let mut probe = Box::pin(client.get(A).timeout(secs(100)).send());
    assert!(probe.as_mut().now_or_never().is_none());
    assert_eq!(it.at(129).rejection().reason(), RejectReason::ProbeInFlight);
    drop(it.at(130).probe());
    drop(probe);
    // A shorter one changes nothing.
    let mut probe = Box::pin(client.get(A).timeout(secs(1)).send());
    assert!(probe.as_mut().now_or_never().is_none());
    assert_eq!(it.at(189).rejection().reason(), RejectReason::ProbeInFlight);
    drop(it.at(190).probe());
}

#[tokio::test]
async fn a_503_says_how_long_it_wants_to_be_left_alone() {
    for (status, value, expected) in [
        (503, "5", 30),
        (503, "60", 60),
        (503, "86400", 120),
        (503, "18446744073709551615", 120),
        (503, "soon", 30),
        (500, "60", 30),
    ] {
        let it = Fixture::new(CircuitBreakerConfig::builder().honor_retry_after(secs(120)));
        let upstream = Upstream::new(move |request| async move {
            let mut response = answer(status, request.url());
            response
                .headers_mut()
                .insert("retry-after", value.parse().expect("a header"));
            Ok(response)
        });
        let client = upstream.behind(&it.registry);
        for _ in 0..5 {
            client.get(A).send().await.unwrap();
        }
        assert_eq!(it.rejection().retry_after(), Some(secs(expected)), "{status} {value}");
    }
}

#[tokio::test]
async fn a_skipped_call_is_neither_protected_nor_counted() {
    let it = Fixture::five().opened();
    let upstream = Upstream::statuses(&[200, 503]);
    let client = upstream.behind(&it.registry);
    for expected in [200, 503, 503] {
        let response = client.get(A).with_extension(SkipCircuitBreaker).send().await.unwrap();
        assert_eq!(response.status().as_u16(), expected);
    }
    assert_eq!(
        (upstream.requests(), it.totals().started, it.totals().rejected),
        (3, 5, 0)
    );
}

#[tokio::test]
async fn a_rejection_shows_nothing_of_the_request_but_its_origin() {
    let it = Fixture::five();
    it.breaker.trip(Duration::from_secs(1));
    let client = Upstream::status(200).behind(&it.registry);
    let error = client
        .get("http://user:hunter2@a.test/items/7?token=secret#frag")
        .send()
        .await
        .unwrap_err();
    let mut text = format!("{error} {error:?}");
    let mut source = std::error::Error::source(&error);
    while let Some(error) = source {
        text += &format!(" {error} {error:?}");
        source = error.source();
    }
    assert!(text.contains("http://a.test"));
    for secret in ["user", "hunter2", "items", "token", "secret", "frag"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    assert!(
        FailureKind::of(&error).is_none(),
        "and it is no failure of the upstream"
    );
}
