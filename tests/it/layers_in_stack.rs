//! Two layers of breakers: neither takes the other's rejection for an outcome.

use reqwest_circuit_breaker::{
    CircuitBreakerMiddleware, CircuitBreakerRegistry, ConnectionFailures, KeyScheme, ManualClock, RejectReason, Route,
    State,
};

use crate::fixture::{Events, key, secs};
use crate::mock::{Upstream, rejection};

const A: &str = "http://a.test/items/7?token=secret";

#[tokio::test]
async fn the_outer_layer_ignores_a_rejection_of_the_inner_and_spends_no_probe() {
    let (clock, events) = (ManualClock::new(), Events::default());
    let hosts = CircuitBreakerRegistry::builder()
        .name("hosts")
        .classifier(ConnectionFailures)
        .clock(clock.clone())
        .listener(events.listener())
        .build()
        .unwrap();
    let routes = CircuitBreakerRegistry::builder()
        .name("routes")
        .key_scheme(KeyScheme::route())
        .clock(clock.clone())
        .build()
        .unwrap();
    let upstream = Upstream::status(200);
    let client = upstream.under(|stack| {
        stack
            .with(CircuitBreakerMiddleware::new(hosts.clone()))
            .with(CircuitBreakerMiddleware::new(routes.clone()))
    });
    let host = hosts.get_or_create(&key("http://a.test")).unwrap();
    host.trip(secs(1));
    clock.advance(secs(1));
    routes.get_or_create(&key("http://a.test /r")).unwrap().force_open();
    for _ in 0..3 {
        let open = rejection(client.get(A).with_extension(Route::new("/r")).send().await).expect("a rejection");
        assert_eq!((open.registry(), open.reason()), ("routes", RejectReason::ForcedOpen));
    }
    let snapshot = host.snapshot();
    assert_eq!(
        (snapshot.state, snapshot.half_open.unwrap().in_flight),
        (State::HalfOpen, 0)
    );
    assert_eq!(
        (
            snapshot.totals.ignored,
            snapshot.totals.failure,
            snapshot.totals.success
        ),
        (3, 0, 0)
    );
    client.get(A).with_extension(Route::new("/q")).send().await.unwrap();
    assert_eq!(
        (host.state(), upstream.requests()),
        (State::Closed, 1),
        "that was the host's probe"
    );
    assert_eq!(events.path(), "closed>open open>half_open half_open>closed");
}

#[tokio::test]
async fn a_rejection_by_the_inner_layer_is_no_failure_of_the_outer() {
    let (outer, inner) = (CircuitBreakerRegistry::default(), CircuitBreakerRegistry::default());
    inner.get_or_create(&key("http://a.test")).unwrap().force_open();
    let client = Upstream::status(200).under(|stack| {
        stack
            .with(CircuitBreakerMiddleware::new(outer.clone()))
            .with(CircuitBreakerMiddleware::new(inner.clone()))
    });
    for _ in 0..20 {
        assert!(rejection(client.get(A).send().await).is_some());
    }
    let totals = &outer.snapshots()[0].totals;
    assert_eq!((totals.ignored, totals.failure, totals.success), (20, 0, 0));
}
