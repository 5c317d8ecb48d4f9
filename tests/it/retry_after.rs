//! A 503 may ask to be left alone for longer, up to a limit; nothing else that it says has a say.

use std::time::Duration;

use reqwest_circuit_breaker::{CircuitBreakerConfig, Clock, State, VerdictAt};

use crate::support::server::{Answer, StatusServer};
use crate::support::stack::{RECOVERY, World, get};

const LIMIT: Duration = Duration::from_secs(120);

fn honoring() -> World {
    World::with(|builder| builder.config(config()))
}

fn config() -> CircuitBreakerConfig {
    CircuitBreakerConfig::builder()
        .honor_retry_after(LIMIT)
        .build()
        .unwrap()
}

fn busy(retry_after: impl Into<String>) -> Answer {
    Answer::status(503).header("retry-after", retry_after)
}

/// How long the breaker is to stay open after five such answers.
async fn opening(world: &World, answers: impl IntoIterator<Item = Answer>) -> Duration {
    let server = StatusServer::start(answers).await;
    let (client, url) = (world.client(), server.url("/"));
    for _ in 0..5 {
        get(&client, &url).await;
    }
    let seen = world.seen(&url);
    assert_eq!(seen.state, State::Open);
    seen.retry_after.unwrap()
}

#[tokio::test]
async fn seconds_lengthen_the_opening_up_to_the_limit() {
    let cases = [
        ("5", 30),
        ("0", 30),
        ("30", 30),
        ("60", 60),
        ("120", 120),
        ("86400", 120),
        ("18446744073709551615", 120),
    ];
    for (value, seconds) in cases {
        assert_eq!(
            opening(&honoring(), [busy(value)]).await,
            Duration::from_secs(seconds),
            "{value}"
        );
    }
    // More digits than any integer has.
    let open_for = opening(&honoring(), [busy("9".repeat(100))]).await;
    assert!(open_for == LIMIT || open_for == RECOVERY, "{open_for:?}");
}

#[tokio::test]
async fn a_date_lengthens_the_opening_up_to_the_limit() {
    for (ahead, least, most) in [(60, 58, 60), (86_400, 120, 120), (10, 30, 30)] {
        let world = honoring();
        let date = httpdate::fmt_http_date(world.clock.wall() + Duration::from_secs(ahead));
        let open_for = opening(&world, [busy(date)]).await;
        assert!((least..=most).contains(&open_for.as_secs()), "{ahead}: {open_for:?}");
    }
    for past in [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Thu, 01 Jan 1970 00:00:00 GMT",
    ] {
        assert_eq!(opening(&honoring(), [busy(past)]).await, RECOVERY, "{past}");
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_no_wish() {
    for value in [
        "",
        "soon",
        "-5",
        "1.5",
        "60 s",
        "0x60",
        "Sun, 99 Nov 1994 08:49:37 GMT",
        "60, 90",
    ] {
        assert_eq!(opening(&honoring(), [busy(value)]).await, RECOVERY, "{value:?}");
    }
}

#[tokio::test]
async fn by_default_nobody_listens() {
    assert_eq!(opening(&World::new(), [busy("86400")]).await, RECOVERY);
}

#[tokio::test]
async fn only_the_answer_that_opens_has_a_wish() {
    let silent = || Answer::status(503);
    let four = [busy("100"), busy("100"), busy("100"), busy("100"), silent()];
    assert_eq!(opening(&honoring(), four).await, RECOVERY);
    let last = [silent(), silent(), silent(), silent(), busy("100")];
    assert_eq!(opening(&honoring(), last).await, Duration::from_secs(100));
}

#[tokio::test]
async fn of_all_failing_statuses_only_a_503_has_a_wish() {
    for status in [500, 502, 504, 529] {
        let answer = Answer::status(status).header("retry-after", "100");
        assert_eq!(opening(&honoring(), [answer]).await, RECOVERY, "{status}");
    }
}

#[tokio::test]
async fn a_probe_that_fails_has_a_wish_too() {
    let world = honoring();
    let server = StatusServer::start([busy("100")]).await;
    let url = server.url("/");
    let breaker = world.make_probe_due(&url);
    get(&world.client(), &url).await;
    let seen = breaker.snapshot();
    assert_eq!(
        (seen.state, seen.retry_after),
        (State::Open, Some(Duration::from_secs(100)))
    );
}

#[tokio::test]
async fn a_wish_is_heard_at_the_end_of_bodies_too() {
    let world = World::with(|builder| builder.config(config()).verdict_at(VerdictAt::EndOfBody));
    assert_eq!(
        opening(&world, [busy("100").body("busy")]).await,
        Duration::from_secs(100)
    );
}

#[cfg(feature = "retry")]
#[tokio::test]
async fn a_wish_is_heard_through_retries() {
    let world = honoring();
    let server = StatusServer::start([busy("100")]).await;
    let (client, url) = (world.retrying(1), server.url("/"));
    for _ in 0..5 {
        get(&client, &url).await;
    }
    assert_eq!(world.seen(&url).retry_after, Some(Duration::from_secs(100)));
}

#[tokio::test]
async fn a_wish_after_a_redirect_is_its_ends_own() {
    let world = honoring();
    let b = StatusServer::start([busy("100")]).await;
    let a = StatusServer::start([Answer::status(302).header("location", b.url("/"))]).await;
    let client = world.client();
    for _ in 0..5 {
        get(&client, &a.url("/")).await;
    }
    assert_eq!(world.seen(&b.url("/")).retry_after, Some(Duration::from_secs(100)));
    assert_eq!(world.of(&a.url("/")).state(), State::Closed);
}

#[tokio::test]
async fn a_429_never_opens_whatever_it_wishes() {
    let world = honoring();
    let server = StatusServer::start([Answer::status(429).header("retry-after", "100")]).await;
    let (client, url) = (world.client(), server.url("/"));
    for _ in 0..100 {
        get(&client, &url).await;
    }
    let seen = world.seen(&url);
    assert_eq!(
        (seen.state, seen.generation, seen.totals.success),
        (State::Closed, 0, 100)
    );
}
