//! One upstream, one verdict: whichever client asks, however the URL is spelled, wherever the answer comes from.

use reqwest::Url;
use reqwest_circuit_breaker::{CircuitBreakerConfig, CircuitBreakerRegistry, Event, KeyScheme, Route, State};

use crate::fixture::{Fixture, key};
use crate::mock::{Upstream, answer, rejection};

const A: &str = "http://a.test/items/7?token=secret";

#[tokio::test]
async fn a_new_client_for_every_request_finds_the_same_verdict() {
    let registry = CircuitBreakerRegistry::default();
    for _ in 0..5 {
        Upstream::status(503).behind(&registry).get(A).send().await.unwrap();
    }
    let sixth = Upstream::status(200);
    assert!(rejection(sixth.behind(&registry).get(A).send().await).is_some());
    assert_eq!(sixth.requests(), 0);
    for n in 0..50 {
        sixth
            .behind(&registry)
            .get(format!("http://h{n}.test"))
            .send()
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn many_spellings_of_one_origin_are_one_breaker() {
    let registry = CircuitBreakerRegistry::default();
    let client = Upstream::status(500).behind(&registry);
    for url in [
        "http://EXAMPLE.test",
        "http://example.test:80/",
        "http://example.test/a?b#c",
        "http://user:pw@example.test",
        "http://example.test.",
    ] {
        client.get(url).send().await.unwrap();
    }
    let snapshots = registry.snapshots();
    assert_eq!((snapshots.len(), snapshots[0].state), (1, State::Open));
    assert_eq!(snapshots[0].key, key("http://example.test"));
}

#[tokio::test]
async fn route_keys_come_from_templates_only() {
    let registry = CircuitBreakerRegistry::builder()
        .key_scheme(KeyScheme::route())
        .build()
        .unwrap();
    let sound = Upstream::status(200).behind(&registry);
    for n in 0..500 {
        let url = format!("http://a.test/items/{n}?q={n}");
        sound
            .get(&url)
            .with_extension(Route::new("/items/{id}"))
            .send()
            .await
            .unwrap();
        sound.get(&url).send().await.unwrap();
    }
    assert_eq!(registry.len(), 2);
    let broken = Upstream::status(500).behind(&registry);
    for n in 0..10 {
        let url = format!("http://a.test/items/{n}");
        let _ = broken.get(&url).with_extension(Route::new("/items/{id}")).send().await;
        let _ = broken.get(&url).send().await;
    }
    let seen: Vec<_> = registry
        .snapshots()
        .iter()
        .map(|it| (it.key.to_string(), it.state))
        .collect();
    assert_eq!(
        seen,
        [
            ("http://a.test".to_owned(), State::Open),
            ("http://a.test /items/{id}".to_owned(), State::Open)
        ]
    );
}

#[tokio::test]
async fn who_was_redirected_to_is_charged_and_who_redirected_has_answered() {
    let it = Fixture::five();
    let elsewhere = Url::parse("http://b.test/moved").unwrap();
    let upstream = Upstream::new(move |_| {
        let response = answer(503, &elsewhere);
        async move { Ok(response) }
    });
    let client = upstream.behind(&it.registry);
    for _ in 0..7 {
        assert_eq!(client.get(A).send().await.unwrap().status(), 503);
    }
    assert_eq!((it.state(), it.ends()), (State::Closed, [7, 0, 0, 0, 0]));
    let charged = it.registry.get(&key("http://b.test")).unwrap().snapshot();
    assert_eq!(
        (charged.state, charged.totals.started, charged.totals.failure),
        (State::Open, 5, 5)
    );
    assert_eq!(charged.in_flight, 0);
}

#[tokio::test]
async fn an_answer_without_a_url_is_no_redirect() {
    let it = Fixture::five();
    let upstream = Upstream::new(|_| async {
        let response = http::Response::builder().status(503).body("").expect("a response");
        Ok(response.into())
    });
    let client = upstream.behind(&it.registry);
    for _ in 0..5 {
        client.get(A).send().await.unwrap();
    }
    assert_eq!((it.state(), it.registry.len()), (State::Open, 1));
}

#[tokio::test]
async fn without_room_calls_pass_unprotected() {
    let it = Fixture::with(CircuitBreakerConfig::builder(), |registry| registry.max_breakers(1));
    it.breaker.force_open();
    let upstream = Upstream::status(503);
    let client = upstream.behind(&it.registry);
    for _ in 0..10 {
        assert_eq!(client.get("http://b.test").send().await.unwrap().status(), 503);
    }
    assert!(rejection(client.get(A).send().await).is_some());
    assert_eq!(
        (upstream.requests(), it.registry.len(), it.registry.stats().overflowed),
        (10, 1, 10)
    );
    let told = it
        .events
        .all()
        .iter()
        .filter(|event| matches!(event, Event::Overflowed(_)))
        .count();
    assert_eq!(told, 1);
}

#[tokio::test]
async fn other_schemes_pass_unprotected_and_create_nothing() {
    let registry = CircuitBreakerRegistry::default();
    let upstream = Upstream::bulkhead();
    let client = upstream.behind(&registry);
    for url in [
        "foo://a.test/x",
        "data:text/plain,x",
        "unix:/run/x.sock",
        "ftp://a.test",
    ] {
        for _ in 0..10 {
            let request = reqwest::Request::new(reqwest::Method::GET, Url::parse(url).unwrap());
            assert!(rejection(client.execute(request).await).is_none());
        }
    }
    assert_eq!((upstream.requests(), registry.len()), (40, 0));
}
