//! Every fault of a real stack gets its kind and its default verdict: bare, and under a retry middleware that hides it.
//!
//! A row is a scene (servers, a client, a request) and what must come of it. [`outcome_of`] plays one row in one stack,
//! and [`heard_of`] plays it again behind a breaker that opens at its first failure.

use std::any::Any;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use http::StatusCode;
use reqwest_circuit_breaker::{
    Classifier, ConnectionFailures, DefaultClassifier, FailureKind, Outcome, State, Verdict, VerdictAt,
};
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, RequestBuilder};

use crate::support::client::Stack;
use crate::support::stack::{World, opening_at};

mod body;
mod caller;
mod connect;
mod http1;
#[cfg(feature = "http2")]
mod http2;
mod proxy;
mod redirect;
mod tls;

/// How long a request may take in a row that must time out.
const SHORT: Duration = Duration::from_millis(150);

/// No row takes longer, on the slowest machine.
const LIMIT: Duration = Duration::from_secs(50);

/// What must come of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// An error of the upstream's.
    Fails(FailureKind),
    /// A response whose status is a failing one.
    Status(u16),
    /// An answer: a response, or an error that proves one.
    Answers,
    /// An error that says nothing about the upstream.
    Ignored,
    /// A good response whose body breaks.
    BodyFails(FailureKind),
    /// A failing status, which is heard first, and a body that breaks.
    StatusAndBodyFails(u16, FailureKind),
    /// A good response whose body arrives, and can't be used.
    BodyIgnored,
    /// A good response whose body seems to be whole.
    BodyEnds,
}

use Expected::{Answers, BodyEnds, BodyFails, BodyIgnored, Fails, Ignored, Status, StatusAndBodyFails};

struct Row {
    name: &'static str,
    expected: Expected,
    scene: Box<dyn Fn() -> BoxFuture<'static, Scene> + Send + Sync>,
}

fn row<F, Fut>(name: &'static str, expected: Expected, scene: F) -> Row
where
    F: Fn() -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Scene> + Send + 'static,
{
    Row {
        name,
        expected,
        scene: Box::new(move || scene().boxed()),
    }
}

/// A client, the request it is to send, and what must stay alive for it.
struct Scene {
    client: reqwest::Client,
    request: Box<dyn Fn(&ClientWithMiddleware) -> RequestBuilder + Send + Sync>,
    /// Its body is a stream: a retry middleware refuses to send it.
    streamed: bool,
    kept: Vec<Box<dyn Any + Send>>,
}

impl Scene {
    fn new(
        client: reqwest::Client,
        request: impl Fn(&ClientWithMiddleware) -> RequestBuilder + Send + Sync + 'static,
    ) -> Self {
        Self {
            client,
            request: Box::new(request),
            streamed: false,
            kept: Vec::new(),
        }
    }

    fn get(client: reqwest::Client, url: impl Into<String>) -> Self {
        let url = url.into();
        Self::new(client, move |client| client.get(&url))
    }

    fn keep(mut self, kept: impl Any + Send) -> Self {
        self.kept.push(Box::new(kept));
        self
    }

    fn streamed(mut self) -> Self {
        self.streamed = true;
        self
    }
}

/// How a row ended, and what the crate says of it.
#[derive(Debug)]
struct End {
    kind: Option<FailureKind>,
    verdict: Verdict,
    host_verdict: Verdict,
    /// The response or the error, for a row that went wrong.
    #[expect(dead_code, reason = "read by `Debug` only")]
    text: String,
    of_body: bool,
}

/// Plays one row in one stack, and reads the body to its end.
async fn outcome_of(scene: &Scene, stack: Stack) -> End {
    let client = stack.over(scene.client.clone());
    let response = match (scene.request)(&client).send().await {
        Ok(response) => response,
        Err(error) => return end_of(&error, false),
    };
    let headers = response.headers().clone();
    let outcome = Outcome::of_response(response.status(), &headers);
    let end = End {
        kind: outcome.failure_kind(),
        verdict: DefaultClassifier::default().classify(&outcome),
        host_verdict: ConnectionFailures.classify(&outcome),
        text: format!("{response:?}"),
        of_body: false,
    };
    match response.bytes().await {
        Ok(_) => end,
        Err(error) => end_of(&error.into(), true),
    }
}

fn end_of(error: &reqwest_middleware::Error, of_body: bool) -> End {
    let outcome = Outcome::of_error(error);
    assert_eq!(outcome.failure_kind(), FailureKind::of(error));
    assert!(outcome.error().is_some() && outcome.headers().is_none());
    End {
        kind: outcome.failure_kind(),
        verdict: DefaultClassifier::default().classify(&outcome),
        host_verdict: ConnectionFailures.classify(&outcome),
        text: format!("{error:?}"),
        of_body,
    }
}

/// What the breakers of a row heard.
#[derive(Debug, PartialEq)]
struct Heard {
    /// The kind of failure with which one of them opened.
    opened: Option<FailureKind>,
    failures: u64,
    /// Calls that did not end exactly once.
    astray: u64,
}

/// Plays one row in one stack behind a breaker that opens at its first failure, and reads the body to its end.
async fn heard_of(scene: &Scene, stack: Stack, at: VerdictAt) -> Heard {
    let world = World::with(|builder| builder.config(opening_at(1)).verdict_at(at));
    let client = stack.within(ClientBuilder::new(scene.client.clone()).with(world.breaker()));
    if let Ok(response) = (scene.request)(&client).send().await {
        response.bytes().await.ok();
    }
    let seen = world.registry.snapshots();
    let open = seen.iter().find(|breaker| breaker.state == State::Open);
    let ended = |breaker: &reqwest_circuit_breaker::CircuitSnapshot| {
        breaker.totals.success + breaker.totals.failure + breaker.totals.ignored
    };
    Heard {
        opened: open.and_then(|breaker| breaker.last_failure),
        failures: seen.iter().map(|breaker| breaker.totals.failure).sum(),
        astray: seen
            .iter()
            .map(|breaker| breaker.totals.started.abs_diff(ended(breaker)))
            .sum(),
    }
}

impl Expected {
    /// What must be heard of it, at the end of the body where that is what the row is about.
    fn heard(self) -> (VerdictAt, Heard) {
        let (at, opened) = match self {
            Fails(kind) => (VerdictAt::Headers, Some(kind)),
            Status(code) => (VerdictAt::Headers, Some(status(code))),
            Answers | Ignored => (VerdictAt::Headers, None),
            BodyFails(kind) => (VerdictAt::EndOfBody, Some(kind)),
            StatusAndBodyFails(code, _) => (VerdictAt::EndOfBody, Some(status(code))),
            BodyIgnored | BodyEnds => (VerdictAt::EndOfBody, None),
        };
        let failures = u64::from(opened.is_some());
        (
            at,
            Heard {
                opened,
                failures,
                astray: 0,
            },
        )
    }
}

fn status(code: u16) -> FailureKind {
    FailureKind::Status(StatusCode::from_u16(code).unwrap())
}

/// Plays all rows in all stacks, at once, and says of each that went wrong how.
async fn check(rows: Vec<Row>) {
    let plays = rows
        .iter()
        .flat_map(|row| Stack::ALL.iter().map(move |&stack| (row, stack)));
    let plays = plays.map(|(row, stack)| async move {
        let play = async {
            let scene = (row.scene)().await;
            let expected = if scene.streamed && stack != Stack::Bare {
                Ignored
            } else {
                row.expected
            };
            let end = outcome_of(&scene, stack).await;
            // A scene of its own: some servers treat the second call otherwise.
            let (at, must_hear) = expected.heard();
            let heard = heard_of(&(row.scene)().await, stack, at).await;
            let mistake = mistake(expected, &end).map(|what| format!("{what}: {end:?}"));
            mistake.or_else(|| (heard != must_hear).then(|| format!("not {must_hear:?}: {heard:?}")))
        };
        match tokio::time::timeout(LIMIT, play).await {
            Ok(mistake) => mistake,
            Err(_) => Some("took too long".into()),
        }
        .map(|what| format!("\n{} ({stack:?}): {what}", row.name))
    });
    let mistakes: Vec<String> = futures_util::future::join_all(plays)
        .await
        .into_iter()
        .flatten()
        .collect();
    assert!(mistakes.is_empty(), "{}", mistakes.concat());
}

fn mistake(expected: Expected, end: &End) -> Option<String> {
    let (of_body, verdict) = match expected {
        Fails(kind) => (false, Verdict::Failure(kind)),
        Status(code) => (false, Verdict::Failure(status(code))),
        Answers | BodyEnds => (false, Verdict::Success),
        Ignored => (false, Verdict::Ignored),
        BodyFails(kind) | StatusAndBodyFails(_, kind) => (true, Verdict::Failure(kind)),
        BodyIgnored => (true, Verdict::Ignored),
    };
    let host_verdict = match verdict {
        Verdict::Failure(kind) if kind.is_connection_failure() => verdict,
        _ if matches!(
            expected,
            Status(_) | Answers | BodyFails(_) | StatusAndBodyFails(..) | BodyIgnored | BodyEnds
        ) =>
        {
            Verdict::Success
        }
        _ => Verdict::Ignored,
    };
    let kind = match verdict {
        Verdict::Failure(kind) => Some(kind),
        _ => None,
    };
    let right = (end.of_body, end.kind, end.verdict, end.host_verdict) == (of_body, kind, verdict, host_verdict);
    (!right).then(|| format!("not {expected:?}"))
}
