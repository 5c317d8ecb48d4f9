//! A rejection tells the true time and reason, names nothing of a URL but its origin, and is never an outcome.

use std::time::Duration;

use reqwest_circuit_breaker::{
    CircuitBreakerConfig, CircuitKey, CircuitOpenError, FailureKind, Origin, RejectReason, Route, State, Verdict,
};

use crate::fixture::{F, Fixture, S, key, millis, secs};

#[test]
fn it_tells_the_true_time() {
    let it = Fixture::five().opened();
    assert_eq!(it.rejection().retry_after(), Some(secs(30)));
    assert_eq!(it.at(10).rejection().retry_after(), Some(secs(20)));
    assert_eq!(it.at_time(millis(29_999)).rejection().retry_after(), Some(millis(1)));
    it.at_time(secs(30) - Duration::from_nanos(1));
    assert_eq!(it.rejection().retry_after(), Some(Duration::from_nanos(1)));
    let probe = it.at(31).probe();
    let rejection = it.rejection();
    assert_eq!(
        (rejection.reason(), rejection.retry_after()),
        (RejectReason::ProbeInFlight, None)
    );
    drop(probe);
}

#[test]
fn whoever_waits_as_long_as_told_is_admitted_and_nobody_sooner() {
    for nanos in [1, 2, 1_000, 29_999_999_999_u64] {
        let it = Fixture::five().opened();
        it.clock.advance(Duration::from_nanos(nanos));
        let wait = it.rejection().retry_after().unwrap();
        it.clock.advance(wait - Duration::from_nanos(1));
        assert_eq!(it.rejection().retry_after(), Some(Duration::from_nanos(1)));
        it.clock.advance(Duration::from_nanos(1));
        it.probe().record(S);
    }
}

#[test]
fn forced_open_has_no_time() {
    let it = Fixture::five();
    it.breaker.force_open();
    let rejection = it.rejection();
    assert_eq!(
        (rejection.reason(), rejection.retry_after()),
        (RejectReason::ForcedOpen, None)
    );
    assert_eq!(rejection.last_failure(), None);
}

#[test]
fn it_is_no_outcome() {
    let it = Fixture::five().opened();
    for second in 0..1000 {
        it.at_time(millis(second * 29));
        let _ = it.rejection();
    }
    let totals = it.totals();
    assert_eq!((totals.rejected, totals.started, it.ends()), (1000, 5, [0, 5, 0, 0, 0]));
    assert_eq!(it.snapshot().consecutive_failures, 5);
    let probe = it.at(30).probe();
    for _ in 0..1000 {
        let _ = it.rejection();
    }
    probe.record(S);
    assert_eq!(
        (it.state(), it.totals().rejected),
        (State::Closed, 2000),
        "at its first deadline, unmoved"
    );
}

#[test]
fn it_knows_the_last_failure() {
    let it = Fixture::five();
    it.repeat(4, F);
    it.calls([Verdict::Failure(FailureKind::Dns)]);
    let rejection = it.rejection();
    assert_eq!(rejection.last_failure(), Some(FailureKind::Dns));
    assert_eq!(
        rejection.to_string(),
        "circuit breaker `http://a.test` (registry `default`) is open, next probe in 30s, last failure: dns"
    );
}

#[test]
fn it_names_its_registry_and_key() {
    let it = Fixture::with(CircuitBreakerConfig::builder(), |registry| registry.name("payments"));
    it.breaker.trip(secs(1));
    let rejection = it.rejection();
    assert_eq!(
        (rejection.registry(), rejection.key()),
        ("payments", &key("http://a.test"))
    );
}

#[test]
fn its_texts_show_nothing_of_a_url_but_its_origin() {
    let url = reqwest::Url::parse("https://user:hunter2@api.test:8443/secret/path?token=abc#frag").unwrap();
    let it = Fixture::five();
    let key = CircuitKey::from(Origin::of(&url).unwrap());
    let breaker = it.registry.get_or_create(&key).unwrap();
    breaker.trip(secs(1));
    let rejection = breaker.try_acquire().unwrap_err();
    let events = it.events.all();
    let wrapped = reqwest_middleware::Error::middleware(rejection.clone());
    let texts = [
        format!("{rejection} {rejection:?}"),
        format!("{wrapped} {wrapped:?}"),
        format!("{events:?}"),
        format!("{:?} {breaker:?}", breaker.snapshot()),
    ];
    for text in texts {
        assert!(
            text.contains("https://api.test:8443") || text.contains("api.test"),
            "{text}"
        );
        for secret in ["user", "hunter2", "secret", "token", "abc", "frag"] {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
    }
}

#[test]
fn an_inferred_route_shows_no_identifier() {
    let route = Route::infer("/users/jane@mail.test/cards/4111111111111111?token=abc");
    let key = key("https://api.test").with_part(route.to_string());
    let it = Fixture::five();
    let breaker = it.registry.get_or_create(&key).unwrap();
    breaker.force_open();
    let text = breaker.try_acquire().unwrap_err().to_string();
    assert!(
        ["jane", "4111", "token", "abc"]
            .iter()
            .all(|secret| !text.contains(secret)),
        "{text}"
    );
}

#[test]
fn it_is_found_through_any_wrapping() {
    let it = Fixture::five().opened();
    let rejection = it.rejection();
    let bare = reqwest_middleware::Error::middleware(rejection.clone());
    let context = anyhow::Error::new(reqwest_middleware::Error::middleware(rejection.clone())).context("while buying");
    let io = std::io::Error::other(reqwest_middleware::Error::Middleware(context));
    assert_eq!(CircuitOpenError::find(&rejection), Some(&rejection));
    assert_eq!(CircuitOpenError::find(&bare), Some(&rejection));
    assert_eq!(CircuitOpenError::find(&io), Some(&rejection));
    assert_eq!(CircuitOpenError::find(&std::fmt::Error), None);
}
