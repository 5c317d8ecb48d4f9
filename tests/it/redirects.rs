//! reqwest follows redirects below the breaker: the one that was asked may not be the one that answered.

use http::Extensions;
use reqwest::redirect::Policy;
use reqwest::{Request, Response};
use reqwest_circuit_breaker::{FailureKind, KeyScheme, RejectReason, SkipCircuitBreaker, State};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Middleware, Next};

use crate::support::client::{build, builder, client};
use crate::support::scripted::Server;
use crate::support::scripted::Step::{Fin, Read, Send};
use crate::support::server::{Answer, Refusing, StatusServer};
use crate::support::stack::{End, World, end, get};
use crate::support::tls::TRUSTED;

mod hops;

/// A server that sends everybody elsewhere.
async fn to(location: impl Into<String>) -> StatusServer {
    StatusServer::start([Answer::status(302).header("location", location)]).await
}

/// What a breaker has heard: successes, failures, and all that was started.
fn heard(world: &World, url: &str) -> (u64, u64, u64) {
    let totals = world.seen(url).totals;
    (totals.success, totals.failure, totals.started)
}

#[tokio::test]
async fn the_failure_of_a_redirects_end_is_its_own() {
    let world = World::new();
    let b = StatusServer::start([503]).await;
    let a = to(b.url("/b")).await;
    let (client, a, b_url) = (world.client(), (a.url("/"), a), b.url("/"));
    for failures in 1..=5 {
        assert_eq!(get(&client, &a.0).await, End::Answered(503));
        assert_eq!(heard(&world, &a.0), (failures, 0, failures));
        assert_eq!(heard(&world, &b_url), (0, failures, failures));
    }
    assert_eq!(
        (world.of(&a.0).state(), world.of(&b_url).state()),
        (State::Closed, State::Open)
    );
    // It was never asked for these: while it is open it hears nothing of them.
    assert_eq!(get(&client, &a.0).await, End::Answered(503));
    assert_eq!((heard(&world, &a.0), heard(&world, &b_url)), ((6, 0, 6), (0, 5, 5)));
    assert_eq!(get(&client, &b_url).await, End::Rejected(RejectReason::Open));
    assert_eq!(world.registry.len(), 2);
}

#[tokio::test]
async fn the_success_of_a_redirects_end_is_its_own() {
    let world = World::new();
    let b = StatusServer::start([200]).await;
    let a = to(b.url("/b")).await;
    let (client, a_url, b_url) = (world.client(), a.url("/"), b.url("/"));
    world
        .make(&b_url)
        .try_acquire()
        .unwrap()
        .record(reqwest_circuit_breaker::Verdict::Failure(FailureKind::Other));
    assert_eq!(get(&client, &a_url).await, End::Answered(200));
    assert_eq!((heard(&world, &a_url), heard(&world, &b_url)), ((1, 0, 1), (1, 1, 2)));
    assert_eq!(world.seen(&b_url).consecutive_failures, 0);
}

/// Taking a slot for a call that was not asked for would keep a real probe out.
#[tokio::test]
async fn a_redirect_is_no_probe_of_its_end() {
    let world = World::new();
    let b = StatusServer::start([200]).await;
    let a = to(b.url("/b")).await;
    let (a_url, b_url) = (a.url("/"), b.url("/"));
    let breaker = world.make_probe_due(&b_url);
    assert_eq!(get(&world.client(), &a_url).await, End::Answered(200));
    let seen = breaker.snapshot();
    assert_eq!(
        (seen.state, seen.probe_due, seen.totals.started),
        (State::Open, true, 0)
    );
}

#[tokio::test]
async fn a_probe_that_is_redirected_was_answered() {
    let world = World::new();
    let b = StatusServer::start([503]).await;
    let a = to(b.url("/b")).await;
    let breaker = world.make_probe_due(&a.url("/"));
    assert_eq!(get(&world.client(), &a.url("/")).await, End::Answered(503));
    assert_eq!(
        (breaker.state(), heard(&world, &b.url("/"))),
        (State::Closed, (0, 1, 1))
    );
}

#[tokio::test]
async fn a_redirect_to_oneself_is_ones_own() {
    let world = World::new();
    let location = Answer::status(302).header("location", "/next");
    let a = StatusServer::start([location.clone(), 503.into(), location, 200.into()]).await;
    let (client, url) = (world.client(), a.url("/"));
    assert_eq!(get(&client, &url).await, End::Answered(503));
    assert_eq!(heard(&world, &url), (0, 1, 1));
    assert_eq!(get(&client, &url).await, End::Answered(200));
    assert_eq!(heard(&world, &url), (1, 1, 2));
}

#[tokio::test]
async fn a_way_over_others_and_back_is_ones_own() {
    let world = World::new();
    let a = StatusServer::start([200]).await;
    let b = to(a.url("/back")).await;
    a.answer_with([Answer::status(302).header("location", b.url("/")), 503.into()]);
    assert_eq!(get(&world.client(), &a.url("/")).await, End::Answered(503));
    assert_eq!((heard(&world, &a.url("/")), world.registry.len()), ((0, 1, 1), 1));
}

#[tokio::test]
async fn under_a_narrower_scheme_only_a_breaker_that_exists_is_charged() {
    let b = StatusServer::start([503]).await;
    let a = to(b.url("/b")).await;
    for scheme in [
        KeyScheme::method(),
        KeyScheme::endpoint().infer_routes(),
        KeyScheme::custom(|_, _| Some("eu".into())),
    ] {
        let world = World::with(|builder| builder.key_scheme(scheme));
        let client = world.client();
        assert_eq!(get(&client, &a.url("/")).await, End::Answered(503));
        assert_eq!(world.registry.len(), 1, "{:?}", world.registry.snapshots());
        let asked = &world.registry.snapshots()[0];
        assert_eq!((asked.totals.success, asked.totals.failure), (1, 0));

        world.make(&b.url("/"));
        assert_eq!(get(&client, &a.url("/")).await, End::Answered(503));
        assert_eq!(heard(&world, &b.url("/")), (0, 1, 1));
    }
}

#[tokio::test]
async fn whoever_sends_a_redirect_that_cannot_be_followed_has_answered() {
    let into_itself = to("/").await;
    let elsewhere = to("/next").await;
    let out_of_http = to("ftp://127.0.0.1/").await;
    let nowhere = to("http://[").await;
    let refusing = || Policy::custom(|attempt| attempt.error("not there"));
    type MakesPolicy = fn() -> Policy;
    let cases: [(_, MakesPolicy, _); 6] = [
        ("a loop", Policy::default, &into_itself),
        ("too many", || Policy::limited(2), &into_itself),
        ("a policy that refuses", refusing, &elsewhere),
        ("a policy that does not follow", Policy::none, &elsewhere),
        ("another scheme", Policy::default, &out_of_http),
        ("no URL", Policy::default, &nowhere),
    ];
    for (name, policy, server) in cases {
        for wrapped in [false, true] {
            let world = World::opening_at(1);
            let policy = if wrapped {
                world.registry.redirect_policy(policy())
            } else {
                policy()
            };
            let (client, url) = (world.around(build(builder().redirect(policy))), server.url("/"));
            get(&client, &url).await;
            let seen = world.seen(&url);
            assert_eq!(
                (heard(&world, &url), seen.state),
                ((1, 0, 1), State::Closed),
                "{name}, {wrapped}"
            );

            // A probe closes with it.
            world.make_probe_due(&url);
            get(&client, &url).await;
            assert_eq!(
                (world.of(&url).state(), world.registry.len()),
                (State::Closed, 1),
                "{name}, {wrapped}"
            );
        }
    }
}

/// Where only https is allowed, the error names the URL that was refused.
#[tokio::test]
async fn where_a_redirect_was_not_followed_to_nobody_is_charged() {
    let world = World::opening_at(1);
    let answer = b"HTTP/1.1 302 -\r\nlocation: http://127.0.0.1:9/\r\ncontent-length: 0\r\n\r\n";
    let a = Server::play_tls(TRUSTED.server("127.0.0.1"), [Read, Send(answer), Fin]).await;
    let nobody = world.make("http://127.0.0.1:9/");
    let client = world.around(build(builder().https_only(true)));
    assert_eq!(get(&client, &a.url("/")).await, End::Failed(None));
    assert_eq!(heard(&world, &a.url("/")), (1, 0, 1));
    assert_eq!(nobody.snapshot().totals.started, 0);
}

#[tokio::test]
async fn an_error_made_of_the_last_answer_is_its_givers() {
    /// Refuses bad statuses, and bodies that break.
    struct Whole;

    #[async_trait::async_trait]
    impl Middleware for Whole {
        async fn handle(
            &self,
            request: Request,
            extensions: &mut Extensions,
            next: Next<'_>,
        ) -> reqwest_middleware::Result<Response> {
            let response = next.run(request, extensions).await?.error_for_status()?;
            Ok(http::Response::new(response.bytes().await?).into())
        }
    }

    let failing: &[u8] = b"HTTP/1.1 503 -\r\ncontent-length: 0\r\n\r\n";
    let broken: &[u8] = b"HTTP/1.1 200 -\r\ncontent-length: 9\r\n\r\nabc";
    for (answer, kind) in [
        (failing, FailureKind::Status(http::StatusCode::SERVICE_UNAVAILABLE)),
        (broken, FailureKind::Body),
    ] {
        let world = World::new();
        let b = Server::play([Read, Send(answer), Fin]).await;
        let a = to(b.url("/b")).await;
        let client = ClientBuilder::new(client()).with(world.breaker()).with(Whole).build();
        assert_eq!(get(&client, &a.url("/")).await, End::Failed(Some(kind)));
        assert_eq!(
            (heard(&world, &a.url("/")), heard(&world, &b.url("/"))),
            ((1, 0, 1), (0, 1, 1)),
            "{kind}"
        );
    }
}

/// A cache or a mock that answers inside the stack, and says nothing of a URL.
struct Mock(u16);

#[async_trait::async_trait]
impl Middleware for Mock {
    async fn handle(&self, _: Request, _: &mut Extensions, _: Next<'_>) -> reqwest_middleware::Result<Response> {
        Ok(http::Response::builder().status(self.0).body("").unwrap().into())
    }
}

#[tokio::test]
async fn an_answer_without_a_url_is_no_redirect() {
    for status in [503, 200] {
        let world = World::new();
        let client = ClientBuilder::new(client())
            .with(world.breaker())
            .with(Mock(status))
            .build();
        assert_eq!(get(&client, "http://stock.example/").await, End::Answered(status));
        let expected = if status == 503 { (0, 1, 1) } else { (1, 0, 1) };
        assert_eq!(
            (heard(&world, "http://stock.example/"), world.registry.len()),
            (expected, 1)
        );
    }
}
