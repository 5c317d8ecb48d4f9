//! A call that is given up, at whatever stage, gives back what it held and says nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::Extensions;
use reqwest::{Request, Response};
use reqwest_circuit_breaker::{CircuitBreaker, Classifier, DefaultClassifier, KeyScheme, Outcome, State};
use reqwest_middleware::{ClientBuilder, Middleware, Next};

use crate::support::client::client;
use crate::support::scripted::Server;
use crate::support::scripted::Step::{Read, Send, Stall};
use crate::support::server::{BlackHole, StatusServer};
use crate::support::stack::{End, World, get, until};
use crate::support::tls::TRUSTED;

/// Starts a call, waits until it has got so far, and drops it.
async fn drop_when(world: &World, url: &str, mut is_there: impl FnMut() -> bool) -> CircuitBreaker {
    let request = world.client().get(url);
    let call = tokio::spawn(request.send());
    until(|| world.registry.len() == 1 && world.of(url).snapshot().in_flight == 1).await;
    until(&mut is_there).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    world.of(url)
}

/// At each stage: while connecting, in the handshake, before the headers, amid them.
async fn stages<F: Fn(&World, &str)>(prepare: F, check: impl Fn(&CircuitBreaker)) {
    let nowhere = BlackHole::new().await;
    let world = World::new();
    prepare(&world, &nowhere.url("/"));
    check(&drop_when(&world, &nowhere.url("/"), || true).await);

    let silent = Server::play([Stall]).await;
    let url = silent.url("/").replace("http:", "https:");
    let world = World::new();
    prepare(&world, &url);
    check(&drop_when(&world, &url, || silent.connections() == 1).await);

    let tls = Server::play_tls(TRUSTED.server("127.0.0.1"), [Read, Stall]).await;
    let world = World::new();
    prepare(&world, &tls.url("/"));
    check(&drop_when(&world, &tls.url("/"), || tls.connections() == 1).await);

    let holding = StatusServer::start([200]).await;
    holding.hold();
    let world = World::new();
    prepare(&world, &holding.url("/"));
    check(&drop_when(&world, &holding.url("/"), || holding.requests() == 1).await);

    let halfway = Server::play([Read, Send(b"HTTP/1.1 200 OK\r\ncontent-le"), Stall]).await;
    let world = World::new();
    prepare(&world, &halfway.url("/"));
    check(&drop_when(&world, &halfway.url("/"), || halfway.connections() == 1).await);
}

#[tokio::test]
async fn a_call_dropped_at_any_stage_is_forgotten() {
    stages(
        |_, _| {},
        |breaker| {
            let seen = breaker.snapshot();
            assert_eq!((seen.state, seen.generation, seen.in_flight), (State::Closed, 0, 0));
            assert_eq!((seen.totals.started, seen.totals.cancelled), (1, 1));
        },
    )
    .await;
}

#[tokio::test]
async fn a_probe_dropped_at_any_stage_gives_its_slot_back() {
    stages(
        |world, url| {
            world.make_probe_due(url);
        },
        |breaker| {
            let seen = breaker.snapshot();
            assert_eq!((seen.state, seen.totals.cancelled), (State::HalfOpen, 1));
            assert_eq!(seen.half_open.map(|phase| phase.in_flight), Some(0));
            let probe = breaker.try_acquire().unwrap();
            assert!(probe.is_probe(), "the slot is free at once");
        },
    )
    .await;
}

#[tokio::test]
async fn a_hundred_dropped_calls_open_nothing() {
    let world = World::new();
    let server = StatusServer::start([200]).await;
    server.hold();
    let (client, url) = (world.client(), server.url("/"));
    let calls: Vec<_> = (0..100).map(|_| tokio::spawn(client.get(&url).send())).collect();
    until(|| server.requests() == 100).await;
    for call in calls {
        call.abort();
        call.await.unwrap_err();
    }
    let seen = world.seen(&url);
    assert_eq!((seen.state, seen.in_flight), (State::Closed, 0));
    assert_eq!(
        (seen.totals.success, seen.totals.failure, seen.totals.cancelled),
        (0, 0, 100)
    );
    server.release();
    assert_eq!(get(&client, &url).await, End::Answered(200));
}

/// A timeout of the caller's own drops the call. Whether that is a failure is for the caller to say.
#[tokio::test]
async fn a_timeout_around_the_client_is_a_dropped_call() {
    let world = World::opening_at(1);
    let server = StatusServer::start([200]).await;
    server.hold();
    let url = server.url("/");
    let call = world.client().get(&url).send();
    tokio::time::timeout(std::time::Duration::from_millis(50), call)
        .await
        .unwrap_err();
    let seen = world.seen(&url);
    assert_eq!(
        (seen.state, seen.totals.cancelled, seen.totals.failure),
        (State::Closed, 1, 0)
    );
}

#[cfg(feature = "retry")]
#[tokio::test]
async fn a_call_dropped_between_its_attempts_is_forgotten() {
    use std::time::Duration;

    use reqwest_retry::{RetryTransientMiddleware, policies::ExponentialBackoff};

    let world = World::opening_at(1);
    let server = StatusServer::start([503]).await;
    let url = server.url("/");
    let minutes = ExponentialBackoff::builder()
        .retry_bounds(Duration::from_secs(60), Duration::from_secs(60))
        .build_with_max_retries(3);
    let client = ClientBuilder::new(client())
        .with(world.breaker())
        .with(RetryTransientMiddleware::new_with_policy(minutes))
        .build();
    let breaker = world.make_probe_due(&url);
    let call = tokio::spawn(client.get(&url).send());
    until(|| server.requests() == 1).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    let seen = breaker.snapshot();
    assert_eq!(
        (seen.state, seen.totals.cancelled, seen.totals.failure),
        (State::HalfOpen, 1, 0)
    );
    server.answer_with([200]);
    assert_eq!(
        (get(&world.client(), &url).await, breaker.state()),
        (End::Answered(200), State::Closed)
    );
}

/// A middleware further in that panics: before it calls, or after.
struct Panics {
    after: bool,
}

#[async_trait::async_trait]
impl Middleware for Panics {
    async fn handle(
        &self,
        request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> reqwest_middleware::Result<Response> {
        if self.after {
            next.run(request, extensions).await?;
        }
        panic!("in a middleware");
    }
}

#[tokio::test]
async fn a_panic_further_in_gives_the_probes_slot_back_and_counts_nothing() {
    for after in [false, true] {
        let world = World::new();
        let server = StatusServer::start([200]).await;
        let url = server.url("/");
        let breaker = world.make_probe_due(&url);
        let panicking = ClientBuilder::new(client())
            .with(world.breaker())
            .with(Panics { after })
            .build();
        let call = tokio::spawn(panicking.get(&url).send());
        assert!(call.await.unwrap_err().is_panic());
        let seen = breaker.snapshot();
        assert_eq!(
            (seen.state, seen.totals.cancelled, seen.in_flight),
            (State::HalfOpen, 1, 0)
        );
        assert_eq!((seen.totals.success, seen.totals.failure), (0, 0));
        assert_eq!(
            (get(&world.client(), &url).await, breaker.state()),
            (End::Answered(200), State::Closed)
        );
    }
}

#[tokio::test]
async fn a_panic_in_a_classifier_or_a_key_function_gives_the_slot_back_and_counts_nothing() {
    let in_classifier = Arc::new(AtomicBool::new(true));
    let in_key = Arc::new(AtomicBool::new(true));
    let (classifier, key) = (Arc::clone(&in_classifier), Arc::clone(&in_key));
    let world = World::with(|builder| {
        builder
            .classifier(move |outcome: &Outcome<'_>| {
                assert!(!classifier.load(Ordering::SeqCst), "in a classifier");
                DefaultClassifier::default().classify(outcome)
            })
            .key_scheme(KeyScheme::custom(move |_, _| {
                assert!(!key.load(Ordering::SeqCst), "in a key function");
                None
            }))
    });
    let server = StatusServer::start([200]).await;
    let url = server.url("/");
    let breaker = world.make_probe_due(&url);
    let client = world.client();
    for (broken, started) in [(&in_key, 0), (&in_classifier, 1)] {
        assert!(tokio::spawn(client.get(&url).send()).await.unwrap_err().is_panic());
        broken.store(false, Ordering::SeqCst);
        let seen = breaker.snapshot();
        assert_eq!(
            (seen.in_flight, seen.totals.started, seen.totals.cancelled),
            (0, started, started)
        );
    }
    assert_eq!(
        (get(&client, &url).await, breaker.state()),
        (End::Answered(200), State::Closed)
    );
}

/// The thread goes on after a panic that somebody caught, and so do redirects on it.
#[tokio::test]
async fn a_panic_in_a_redirect_policy_gives_the_slot_back() {
    use reqwest::redirect::Policy;

    use crate::support::client::{build, builder};
    use crate::support::server::Answer;

    let world = World::new();
    let b = StatusServer::start([200]).await;
    let a = StatusServer::start([Answer::status(302).header("location", b.url("/"))]).await;
    let url = a.url("/");
    let breaker = world.make_probe_due(&url);
    let policy = world
        .registry
        .redirect_policy(Policy::custom(|_| panic!("in a policy")));
    let client = world.around(build(builder().redirect(policy)));
    assert!(tokio::spawn(client.get(&url).send()).await.unwrap_err().is_panic());
    assert_eq!((breaker.state(), breaker.snapshot().in_flight), (State::HalfOpen, 0));

    let policy = world.registry.redirect_policy(Policy::default());
    assert_eq!(
        get(&world.around(build(builder().redirect(policy))), &url).await,
        End::Answered(200)
    );
    assert_eq!(breaker.state(), State::Closed);
    assert_eq!(world.seen(&b.url("/")).totals.success, 1);
}
