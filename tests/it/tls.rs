//! A failed handshake keeps its own name, so that it can be told from an upstream that is down.

use reqwest_circuit_breaker::{DefaultClassifier, FailureKind, RejectReason, State};

use crate::support::scripted::Server;
use crate::support::scripted::Step::Stall;
use crate::support::stack::{End, World, get};
use crate::support::tls::UNTRUSTED;

#[tokio::test]
async fn five_handshakes_with_a_wrong_certificate_open() {
    let world = World::new();
    let server = Server::play_tls(UNTRUSTED.server("127.0.0.1"), [Stall]).await;
    let (client, url) = (world.client(), server.url("/"));
    for _ in 0..5 {
        assert_eq!(get(&client, &url).await, End::Failed(Some(FailureKind::Tls)));
    }
    assert_eq!(get(&client, &url).await, End::Rejected(RejectReason::Open));
    let seen = world.seen(&url);
    assert_eq!(seen.last_failure, Some(FailureKind::Tls));
    assert_eq!(
        seen.totals.failures_by_kind.into_iter().collect::<Vec<_>>(),
        [("tls", 5)]
    );
}

#[tokio::test]
async fn a_classifier_that_leaves_tls_out_keeps_it_closed() {
    let world = World::with(|builder| builder.classifier(DefaultClassifier::default().ignored_kind(FailureKind::Tls)));
    let server = Server::play_tls(UNTRUSTED.server("127.0.0.1"), [Stall]).await;
    let (client, url) = (world.client(), server.url("/"));
    for _ in 0..20 {
        assert_eq!(get(&client, &url).await, End::Failed(Some(FailureKind::Tls)));
    }
    let seen = world.seen(&url);
    assert_eq!(
        (seen.state, seen.totals.ignored, seen.last_failure),
        (State::Closed, 20, None)
    );
}
