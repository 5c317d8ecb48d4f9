//! When the recovery timeout ends, one of all who wait may try.

use futures_util::future::join_all;
use reqwest_circuit_breaker::{RejectReason, State};

use crate::support::server::StatusServer;
use crate::support::stack::{End, World, get, until};

const CALLERS: usize = 10_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_ten_thousand_callers_at_the_deadline_one_reaches_the_upstream() {
    let world = World::new();
    let server = StatusServer::start([200]).await;
    server.hold();
    let url = server.url("/");
    let breaker = world.make_probe_due(&url);
    let client = world.client();
    let callers: Vec<_> = (0..CALLERS)
        .map(|_| {
            let (client, url) = (client.clone(), url.clone());
            tokio::spawn(async move { get(&client, &url).await })
        })
        .collect();
    until(|| breaker.snapshot().totals.rejected == CALLERS as u64 - 1).await;
    until(|| server.requests() == 1).await;
    server.release();
    let ends: Vec<End> = join_all(callers).await.into_iter().map(Result::unwrap).collect();
    let count = |end: End| ends.iter().filter(|one| **one == end).count();
    assert_eq!(count(End::Answered(200)), 1);
    assert_eq!(count(End::Rejected(RejectReason::ProbeInFlight)), CALLERS - 1);
    assert_eq!((server.requests(), server.connections()), (1, 1));
    let seen = breaker.snapshot();
    assert_eq!(
        (seen.state, seen.generation, seen.totals.success),
        (State::Closed, 3, 1)
    );
}
