//! Connections that were good yesterday do not open a breaker that has just closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use reqwest_circuit_breaker::{CircuitBreakerConfig, FailureKind, State, TripPolicy, Verdict};

use crate::support::scripted::Server;
use crate::support::stack::{End, World, get};

#[tokio::test]
async fn recovery_outlives_stale_pooled_connections() {
    const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

    let policy = TripPolicy::failure_rate(50.0)
        .over_last(Duration::from_secs(10))
        .minimum_calls(10);
    let config = CircuitBreakerConfig::builder().trip_on(policy).build().unwrap();
    let world = World::with(|builder| builder.config(config));

    // Each connection that was made before the change, and is used after it, dies with the request. The first three wait
    // for each other, so that there are three.
    let changed = Arc::new(AtomicBool::new(false));
    let gate = Arc::new(tokio::sync::Barrier::new(3));
    let server = {
        let changed = Arc::clone(&changed);
        Server::start(move |mut connection| {
            let (changed, gate) = (Arc::clone(&changed), Arc::clone(&gate));
            async move {
                let old = !changed.load(Ordering::SeqCst);
                let mut first = old;
                while connection.read_request().await.is_some() {
                    if old && changed.load(Ordering::SeqCst) {
                        return connection.fin().await;
                    }
                    if std::mem::take(&mut first) {
                        gate.wait().await;
                    }
                    connection.send(OK).await;
                }
            }
        })
        .await
    };
    let (client, url) = (world.client(), server.url("/"));
    let three = [get(&client, &url), get(&client, &url), get(&client, &url)];
    assert_eq!(join_all(three).await, [End::Answered(200); 3]);
    settle().await;
    let breaker = world.of(&url);
    for _ in 0..7 {
        breaker
            .try_acquire()
            .unwrap()
            .record(Verdict::Failure(FailureKind::Other));
    }
    assert_eq!(breaker.state(), State::Open);
    world.clock.advance(Duration::from_secs(31));
    assert_eq!(get(&client, &url).await, End::Answered(200), "the probe");
    assert_eq!(breaker.state(), State::Closed);

    settle().await;
    assert_eq!(server.connections(), 3);
    changed.store(true, Ordering::SeqCst);
    for _ in 0..3 {
        assert_eq!(get(&client, &url).await, End::Failed(Some(FailureKind::Disconnect)));
    }
    for _ in 0..20 {
        assert_eq!(get(&client, &url).await, End::Answered(200));
    }
    let seen = breaker.snapshot();
    assert_eq!(
        (seen.state, seen.windows[0].calls, seen.windows[0].failures),
        (State::Closed, 23, 3)
    );
}

/// Gives the client time to put connections back into its pool.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}
