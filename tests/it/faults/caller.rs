//! What is the caller's own says nothing about the upstream.

use std::io;

use futures_util::StreamExt;
use http::Extensions;
use reqwest::{Body, Request, Response};
use reqwest_middleware::{Middleware, Next};

use super::*;
use crate::support::client::{build, builder, client};
use crate::support::scripted::Server;
use crate::support::scripted::Step::{Fin, Read, Send, Stall};
use crate::support::server::StatusServer;

/// A body that gives a few bytes and then fails.
fn failing(kind: io::ErrorKind) -> Body {
    let good = futures_util::stream::iter([Ok("some bytes")]);
    let bad = futures_util::stream::once(async move {
        tokio::time::sleep(Duration::from_millis(20)).await;
        Err::<&str, _>(io::Error::from(kind))
    });
    Body::wrap_stream(good.chain(bad))
}

/// A body that gives a few bytes and then nothing.
fn stalling() -> Body {
    let good = futures_util::stream::iter([Ok::<_, io::Error>("some bytes")]);
    Body::wrap_stream(good.chain(futures_util::stream::pending()))
}

/// Sends a body to a server that reads it and never answers.
async fn sends(client: reqwest::Client, body: impl Fn() -> Body + std::marker::Send + Sync + 'static) -> Scene {
    let server = Server::play([Stall]).await;
    let url = server.url("/");
    Scene::new(client, move |client| client.post(&url).body(body()))
        .keep(server)
        .streamed()
}

#[tokio::test]
async fn requests_that_cannot_be_made() {
    check(vec![
        row("no URL", Ignored, || async { Scene::get(client(), "no url") }),
        row("a bad header", Ignored, || async {
            Scene::new(client(), |client| {
                client.get("http://127.0.0.1:9/").header("bad name", "1")
            })
        }),
        row("a foreign scheme", Ignored, || async {
            Scene::get(client(), "foo://stock.example/")
        }),
        row("data", Ignored, || async {
            Scene::get(client(), "data:text/plain,hello")
        }),
        row("http, where only https is allowed", Ignored, || async {
            Scene::get(build(builder().https_only(true)), "http://127.0.0.1:9/")
        }),
        row("an HTTP version that there is not", Ignored, || async {
            let server = StatusServer::start([200]).await;
            let url = server.url("/");
            Scene::new(client(), move |client| client.get(&url).version(http::Version::HTTP_09)).keep(server)
        }),
        row("HTTP/2 over a connection of HTTP/1", Ignored, || async {
            let server = StatusServer::start([200]).await;
            let url = server.url("/");
            Scene::new(client(), move |client| client.get(&url).version(http::Version::HTTP_2)).keep(server)
        }),
    ])
    .await;
}

#[tokio::test]
async fn bodies_of_the_caller() {
    check(vec![
        row("a stream that fails", Ignored, || {
            sends(client(), || failing(io::ErrorKind::Other))
        }),
        // Their kinds show through, and the predicates of reqwest believe them.
        row("a stream that times out", Ignored, || {
            sends(client(), || failing(io::ErrorKind::TimedOut))
        }),
        row("a stream that is refused", Ignored, || {
            sends(client(), || failing(io::ErrorKind::ConnectionRefused))
        }),
        row("a stream that is reset", Ignored, || {
            sends(client(), || failing(io::ErrorKind::ConnectionReset))
        }),
        row("a body piped from a response that broke", Ignored, || async {
            let other = Server::play([Read, Send(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc"), Fin]).await;
            let url = other.url("/");
            // One request is made from it, so the response is fetched when it is polled.
            let piped = move || {
                let url = url.clone();
                let fetched = async move { client().get(url).send().await.unwrap().bytes_stream() };
                Body::wrap_stream(futures_util::FutureExt::flatten_stream(fetched))
            };
            sends(client(), piped).await.keep(other)
        }),
        // It can't be told from an upstream that is slow to take it.
        row("a stream that stalls", Fails(FailureKind::Timeout), || {
            sends(build(builder().timeout(SHORT)), stalling)
        }),
    ])
    .await;
}

#[cfg(feature = "http2")]
#[tokio::test]
async fn bodies_of_the_caller_over_http2() {
    use crate::support::http2;

    async fn sends(kind: io::ErrorKind) -> Scene {
        let server = Server::start(|mut connection| async move {
            http2::read_request(&mut connection).await;
            connection.stall().await;
        })
        .await;
        let url = server.url("/");
        let client = build(builder().http2_prior_knowledge());
        Scene::new(client, move |client| client.post(&url).body(failing(kind)))
            .keep(server)
            .streamed()
    }
    check(vec![
        row("a stream that fails", Ignored, || sends(io::ErrorKind::Other)),
        row("a stream that times out", Ignored, || sends(io::ErrorKind::TimedOut)),
        row("a stream that is reset", Ignored, || {
            sends(io::ErrorKind::ConnectionReset)
        }),
    ])
    .await;
}

/// A middleware below the stack under test that has errors of its own.
enum Inner {
    /// Fails before it calls.
    Refuses,
    /// Turns failing statuses into errors.
    ErrorForStatus,
    /// Adds words to an error.
    Explains,
}

#[async_trait::async_trait]
impl Middleware for Inner {
    async fn handle(
        &self,
        request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> reqwest_middleware::Result<Response> {
        match self {
            Self::Refuses => Err(reqwest_middleware::Error::middleware(io::Error::from(
                io::ErrorKind::TimedOut,
            ))),
            Self::ErrorForStatus => Ok(next.run(request, extensions).await?.error_for_status()?),
            Self::Explains => match next.run(request, extensions).await {
                Ok(response) => Ok(response),
                Err(error) => {
                    let error = anyhow::Error::new(error)
                        .context("while calling stock")
                        .context("while testing");
                    Err(reqwest_middleware::Error::Middleware(error))
                }
            },
        }
    }
}

/// Calls a server that answers so, through `inner` and, around it, each of the stacks.
async fn through(inner: fn() -> Inner, status: u16) -> Vec<(Option<FailureKind>, Option<u16>, bool, Verdict)> {
    let server = StatusServer::start([status]).await;
    let mut ends = Vec::new();
    for &stack in Stack::ALL {
        let builder = reqwest_middleware::ClientBuilder::new(client());
        let builder = match stack {
            Stack::Bare => builder,
            #[cfg(feature = "retry")]
            Stack::Retry(retries) => builder.with(crate::support::client::retry(retries)),
        };
        let error = builder
            .with(inner())
            .build()
            .get(server.url("/"))
            .send()
            .await
            .unwrap_err();
        let outcome = Outcome::of_error(&error);
        let status = outcome.status().map(|status| status.as_u16());
        let verdict = DefaultClassifier::default().classify(&outcome);
        ends.push((outcome.failure_kind(), status, outcome.answered(), verdict));
    }
    ends
}

#[tokio::test]
async fn an_error_of_another_middleware_is_ignored() {
    for end in through(|| Inner::Refuses, 200).await {
        assert_eq!(end, (None, None, false, Verdict::Ignored));
    }
}

#[tokio::test]
async fn an_error_that_carries_a_status_counts_by_it() {
    for end in through(|| Inner::ErrorForStatus, 503).await {
        let kind = FailureKind::Status(StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(end, (Some(kind), Some(503), true, Verdict::Failure(kind)));
    }
    for end in through(|| Inner::ErrorForStatus, 404).await {
        assert_eq!(end, (None, Some(404), true, Verdict::Success));
    }
}

#[tokio::test]
async fn context_hides_nothing() {
    let nobody = crate::support::server::Refusing::new();
    for &stack in Stack::ALL {
        let builder = reqwest_middleware::ClientBuilder::new(client());
        let builder = match stack {
            Stack::Bare => builder,
            #[cfg(feature = "retry")]
            Stack::Retry(retries) => builder.with(crate::support::client::retry(retries)),
        };
        let client = builder.with(Inner::Explains).build();
        let error = client.get(nobody.url("/")).send().await.unwrap_err();
        assert_eq!(
            FailureKind::of(&error),
            Some(FailureKind::Connect),
            "{stack:?}: {error:?}"
        );
    }
}

/// The connection belongs to a runtime that ends while a call is waiting on it.
#[tokio::test]
async fn a_runtime_that_is_gone_is_the_callers() {
    let server = Server::start(|mut connection| async move {
        connection.read_head().await;
        connection.send(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
        connection.stall().await;
    })
    .await;
    let (client, url) = (client(), server.url("/"));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let first = client.get(&url).send();
    runtime
        .spawn(async { first.await.unwrap().bytes().await.unwrap() })
        .await
        .unwrap();
    let second = tokio::spawn(client.get(&url).send());
    tokio::time::sleep(Duration::from_millis(100)).await;
    runtime.shutdown_background();
    let end = end_of(&second.await.unwrap().unwrap_err().into(), false);
    assert_eq!((end.kind, end.verdict), (None, Verdict::Ignored), "{end:?}");
}
