//! With the registry's redirect policy on the client, breakers have a say in each hop.

use std::error::Error;

use reqwest_circuit_breaker::{CircuitBreakerConfig, CircuitOpenError};

use super::*;
use crate::fixture::Events;

/// A client whose redirects are the registry's concern.
fn following(world: &World) -> ClientWithMiddleware {
    following_by(world, Policy::default())
}

fn following_by(world: &World, policy: Policy) -> ClientWithMiddleware {
    world.around(build(builder().redirect(world.registry.redirect_policy(policy))))
}

#[tokio::test]
async fn a_hop_into_an_open_origin_is_not_followed() {
    let world = World::new();
    let b = StatusServer::start([200]).await;
    let a = to(b.url("/b")).await;
    world.make(&b.url("/")).force_open();
    let error = following(&world).get(a.url("/")).send().await.unwrap_err();
    let open = CircuitOpenError::find(&error).expect("a rejection");
    assert_eq!(
        (open.key(), open.reason()),
        (world.of(&b.url("/")).key(), RejectReason::ForcedOpen)
    );
    assert_eq!((a.requests(), b.requests()), (1, 0));
    assert_eq!(heard(&world, &a.url("/")), (1, 0, 1));
    let seen = world.seen(&b.url("/"));
    assert_eq!((seen.totals.rejected, seen.totals.started), (1, 0));
}

#[tokio::test]
async fn the_rejection_of_a_hop_is_met_by_a_plain_walk() {
    let world = World::new();
    let b = StatusServer::start([200]).await;
    let a = to(b.url("/b")).await;
    world.make(&b.url("/")).force_open();
    let error = following(&world).get(a.url("/")).send().await.unwrap_err();
    let walk = std::iter::successors(Some(&error as &(dyn Error + 'static)), |error| (*error).source());
    assert!(
        walk.into_iter().any(|error| error.is::<CircuitOpenError>()),
        "{error:?}"
    );
}

/// Below retries the error has one layer more, and the rejection is still a final one.
#[cfg(feature = "retry")]
#[tokio::test]
async fn the_rejection_of_a_hop_is_found_under_retry() {
    let world = World::new();
    let b = StatusServer::start([200]).await;
    let a = to(b.url("/b")).await;
    world.make(&b.url("/")).force_open();
    let policy = world.registry.redirect_policy(Policy::default());
    let client = ClientBuilder::new(build(builder().redirect(policy)))
        .with(world.breaker())
        .with(crate::support::client::retry(2))
        .build();
    assert_eq!(get(&client, &a.url("/")).await, End::Rejected(RejectReason::ForcedOpen));
    assert_eq!((heard(&world, &a.url("/")), b.requests()), ((1, 0, 1), 0));
}

#[tokio::test]
async fn a_hop_into_a_closed_or_unknown_origin_is_followed() {
    let world = World::new();
    let b = StatusServer::start([200]).await;
    let a = to(b.url("/b")).await;
    let client = following(&world);
    for hops in 1..=2 {
        assert_eq!(get(&client, &a.url("/")).await, End::Answered(200));
        assert_eq!(
            (heard(&world, &a.url("/")), heard(&world, &b.url("/"))),
            ((hops, 0, hops), (hops, 0, hops))
        );
    }
}

#[tokio::test]
async fn a_hop_that_would_be_admitted_takes_no_slot() {
    let world = World::new();
    let b = StatusServer::start([200]).await;
    let a = to(b.url("/b")).await;
    world.make_probe_due(&b.url("/"));
    assert_eq!(get(&following(&world), &a.url("/")).await, End::Answered(200));
    let seen = world.seen(&b.url("/"));
    assert_eq!(
        (seen.state, seen.probe_due, seen.totals.started, seen.totals.rejected),
        (State::Open, true, 0, 0)
    );
}

#[tokio::test]
async fn a_hop_that_is_spared_its_rejection_is_counted_and_told() {
    let config = CircuitBreakerConfig::builder().report_only(true).build().unwrap();
    let events = Events::default();
    let world = World::with(|builder| builder.config(config).listener(events.listener()));
    let b = StatusServer::start([200]).await;
    let a = to(b.url("/b")).await;
    world.make(&b.url("/")).force_open();
    assert_eq!(get(&following(&world), &a.url("/")).await, End::Answered(200));
    let totals = world.seen(&b.url("/")).totals;
    assert_eq!((totals.rejected, totals.started), (1, 0));
    let told: Vec<_> = events
        .rejections()
        .iter()
        .map(|rejected| (rejected.reason(), rejected.enforced()))
        .collect();
    assert_eq!(told, [(RejectReason::ForcedOpen, false)]);
}

#[tokio::test]
async fn a_hop_to_oneself_is_not_asked_for() {
    let world = World::new();
    let a = StatusServer::start([Answer::status(302).header("location", "/next"), 200.into()]).await;
    let breaker = world.make_probe_due(&a.url("/"));
    assert_eq!(get(&following(&world), &a.url("/")).await, End::Answered(200));
    assert_eq!(
        (breaker.state(), breaker.snapshot().totals.rejected),
        (State::Closed, 0)
    );
}

#[tokio::test]
async fn a_probe_on_its_way_back_is_not_rejected_for_its_own_slot() {
    let world = World::new();
    let a = StatusServer::start([200]).await;
    let b = to(a.url("/back")).await;
    a.answer_with([Answer::status(302).header("location", b.url("/")), 200.into()]);
    let breaker = world.make_probe_due(&a.url("/"));
    assert_eq!(get(&following(&world), &a.url("/")).await, End::Answered(200));
    let seen = breaker.snapshot();
    assert_eq!(
        (seen.state, seen.totals.success, seen.totals.rejected),
        (State::Closed, 1, 0)
    );
}

#[tokio::test]
async fn an_ordinary_call_on_its_way_back_is_rejected_if_its_origin_has_opened() {
    let world = World::new();
    let a = StatusServer::start([200]).await;
    let b = to(a.url("/back")).await;
    a.answer_with([Answer::status(302).header("location", b.url("/")), 200.into()]);
    let breaker = world.make(&a.url("/"));
    b.hold();
    let (client, url) = (following(&world), a.url("/"));
    let call = tokio::spawn(async move { get(&client, &url).await });
    crate::support::stack::until(|| b.requests() == 1).await;
    breaker.force_open();
    b.release();
    assert_eq!(call.await.unwrap(), End::Rejected(RejectReason::ForcedOpen));
    assert_eq!(breaker.snapshot().totals.rejected, 1);
}

#[tokio::test]
async fn an_error_after_a_hop_is_charged_to_whoever_made_it() {
    let nobody = Refusing::new();
    let closing = Server::play([Read, Fin]).await;
    for (url, kind) in [
        (nobody.url("/"), FailureKind::Connect),
        (closing.url("/"), FailureKind::Disconnect),
    ] {
        let world = World::new();
        let a = to(&url).await;
        assert_eq!(get(&following(&world), &a.url("/")).await, End::Failed(Some(kind)));
        assert_eq!(
            (heard(&world, &a.url("/")), heard(&world, &url)),
            ((1, 0, 1), (0, 1, 1))
        );
        assert_eq!(world.seen(&url).last_failure, Some(kind));
    }
}

#[tokio::test]
async fn without_the_policy_an_error_after_a_hop_is_charged_to_the_one_that_was_asked() {
    let world = World::new();
    let nobody = Refusing::new();
    let a = to(nobody.url("/")).await;
    assert_eq!(
        get(&world.client(), &a.url("/")).await,
        End::Failed(Some(FailureKind::Connect))
    );
    assert_eq!((heard(&world, &a.url("/")), world.registry.len()), ((0, 1, 1), 1));
}

#[tokio::test]
async fn an_error_after_the_way_back_is_charged_to_the_one_that_was_asked() {
    let world = World::new();
    let count = std::sync::atomic::AtomicUsize::new(0);
    let (location, known) = tokio::sync::watch::channel(String::new());
    let a = Server::start(move |mut connection| {
        let first = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
        let location = known.borrow().clone();
        async move {
            connection.read_request().await;
            if first {
                let head =
                    format!("HTTP/1.1 302 -\r\nlocation: {location}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                connection.send(head).await;
            }
            connection.fin().await;
        }
    })
    .await;
    let b = to(a.url("/back")).await;
    location.send_replace(b.url("/"));
    assert_eq!(
        get(&following(&world), &a.url("/")).await,
        End::Failed(Some(FailureKind::Disconnect))
    );
    assert_eq!((heard(&world, &a.url("/")), world.registry.len()), ((0, 1, 1), 1));
}

#[tokio::test]
async fn a_call_that_skips_the_breaker_follows_every_hop_and_charges_nobody() {
    let world = World::new();
    let b = StatusServer::start([503]).await;
    let a = to(b.url("/b")).await;
    world.make(&b.url("/")).force_open();
    let client = following(&world);
    assert_eq!(
        end(client.get(a.url("/")).with_extension(SkipCircuitBreaker)).await,
        End::Answered(503)
    );
    assert_eq!((world.registry.len(), world.seen(&b.url("/")).totals.started), (1, 0));
    assert_eq!(get(&client, &a.url("/")).await, End::Rejected(RejectReason::ForcedOpen));
}

#[tokio::test]
async fn the_wrapped_policy_has_its_say() {
    let world = World::new();
    let b = StatusServer::start([200]).await;
    let a = to(b.url("/b")).await;
    assert_eq!(
        get(&following_by(&world, Policy::none()), &a.url("/")).await,
        End::Answered(302)
    );
    let refusing = Policy::custom(|attempt| attempt.error("not there"));
    assert_eq!(
        get(&following_by(&world, refusing), &a.url("/")).await,
        End::Failed(None)
    );
    assert_eq!(
        (heard(&world, &a.url("/")), world.registry.len(), b.requests()),
        ((2, 0, 2), 1, 0)
    );
}

#[tokio::test]
async fn every_call_has_hops_of_its_own() {
    let world = World::new();
    let nobody = Refusing::new();
    let b = StatusServer::start([200]).await;
    let (over, straight, dead) = (
        to(b.url("/")).await,
        StatusServer::start([200]).await,
        to(nobody.url("/")).await,
    );
    let client = following(&world);
    let (over, straight, dead, nowhere) = (over.url("/"), straight.url("/"), dead.url("/"), nobody.url("/"));
    for _ in 0..20 {
        let ends = tokio::join!(
            get(&client, &over),
            get(&client, &straight),
            get(&client, &dead),
            get(&client, &nowhere)
        );
        assert_eq!((ends.0, ends.1), (End::Answered(200), End::Answered(200)));
        world.of(&nowhere).reset();
    }
    assert_eq!(
        (heard(&world, &over), heard(&world, &straight)),
        ((20, 0, 20), (20, 0, 20))
    );
    assert_eq!((heard(&world, &b.url("/")), heard(&world, &dead).1), ((20, 0, 20), 0));
}

/// An attempt that fails before its first hop is the first one's, if something marks where attempts begin.
#[cfg(feature = "retry")]
#[tokio::test]
async fn each_attempt_has_hops_of_its_own() {
    for (marked, charged) in [(true, (0, 1, 1)), (false, (1, 0, 1))] {
        let world = World::new();
        let nobody = Refusing::new();
        // The first attempt is sent to one that refuses, the second fails at once.
        let count = std::sync::atomic::AtomicUsize::new(0);
        let location = nobody.url("/");
        let a = Server::start(move |mut connection| {
            let first = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
            let location = location.clone();
            async move {
                connection.read_request().await;
                if first {
                    let head = format!(
                        "HTTP/1.1 302 -\r\nlocation: {location}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
                    );
                    connection.send(head).await;
                }
                connection.fin().await;
            }
        })
        .await;
        let policy = world.registry.redirect_policy(Policy::default());
        let builder = ClientBuilder::new(build(builder().redirect(policy)))
            .with(world.breaker())
            .with(crate::support::client::retry(1));
        let builder = if marked {
            builder.with(world.registry.stop_retries())
        } else {
            builder
        };
        assert_eq!(
            get(&builder.build(), &a.url("/")).await,
            End::Failed(Some(FailureKind::Disconnect))
        );
        assert_eq!(heard(&world, &a.url("/")), charged, "{marked}");
    }
}
