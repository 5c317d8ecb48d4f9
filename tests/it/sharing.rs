//! A breaker belongs to an upstream and never to a client: the registry outlives the clients.

use reqwest_circuit_breaker::{RejectReason, State};

use crate::support::server::StatusServer;
use crate::support::stack::{End, World, get};

#[tokio::test]
async fn a_new_client_for_each_request_finds_the_verdict_of_the_last() {
    let world = World::new();
    let server = StatusServer::start([503]).await;
    let url = server.url("/");
    for _ in 0..5 {
        assert_eq!(get(&world.client(), &url).await, End::Answered(503));
    }
    assert_eq!(get(&world.client(), &url).await, End::Rejected(RejectReason::Open));
    assert_eq!(server.requests(), 5);
}

#[tokio::test]
async fn one_open_origin_leaves_fifty_others_alone() {
    let world = World::new();
    let client = world.client();
    let mut others = Vec::new();
    for _ in 0..50 {
        others.push(StatusServer::start([200]).await);
    }
    let dead = StatusServer::start([503]).await;
    for _ in 0..10 {
        get(&client, &dead.url("/")).await;
        for other in &others {
            assert_eq!(get(&client, &other.url("/")).await, End::Answered(200));
        }
    }
    assert_eq!(world.of(&dead.url("/")).state(), State::Open);
    for other in &others {
        let seen = world.seen(&other.url("/"));
        assert_eq!(
            (seen.state, seen.generation, seen.totals.success),
            (State::Closed, 0, 10)
        );
        assert_eq!((seen.totals.started, seen.totals.rejected), (10, 0));
    }
    assert_eq!((world.registry.len(), dead.requests()), (51, 5));
}
