//! The head was good, and the body breaks.

use super::*;
use crate::support::client::{build, builder, client};
use crate::support::scripted::Server;
use crate::support::scripted::Step::{self, Cut, Fin, Read, Reset, Send, Stall, Wait};
use crate::support::tls::TRUSTED;

/// A body of nine bytes that stops after three.
const SHORT_OF_SIX: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc";

/// Time enough for the head, and then too little.
const SHORTLY: Duration = Duration::from_secs(2);

async fn plays(steps: impl Into<Vec<Step>>) -> Scene {
    let server = Server::play(steps).await;
    Scene::get(client(), server.url("/")).keep(server)
}

async fn answers(bytes: &'static [u8]) -> Scene {
    plays([Read, Send(bytes), Fin]).await
}

#[tokio::test]
async fn bodies() {
    let reset = || [Read, Send(SHORT_OF_SIX), Wait(Duration::from_millis(100)), Reset];
    check(vec![
        row("a length that is not reached", BodyFails(FailureKind::Body), || {
            answers(SHORT_OF_SIX)
        }),
        row("RST", BodyFails(FailureKind::Body), move || plays(reset())),
        row("chunks that are cut", BodyFails(FailureKind::Body), || {
            answers(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n")
        }),
        row("a chunk that is cut", BodyFails(FailureKind::Body), || {
            answers(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nabc")
        }),
        row("a bad chunk size", BodyFails(FailureKind::Body), || {
            answers(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\nxyz\r\n")
        }),
        row("a chunk size out of range", BodyFails(FailureKind::Body), || {
            answers(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\nfffffffffffffffffff\r\n")
        }),
        row("a bad end of a chunk", BodyFails(FailureKind::Body), || {
            answers(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabcdef\r\n0\r\n\r\n")
        }),
        row("trailers that are cut", BodyFails(FailureKind::Body), || {
            answers(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nx: 1\r\n")
        }),
        row(
            "TLS cut without a close_notify",
            BodyFails(FailureKind::Body),
            || async {
                let server = Server::play_tls(TRUSTED.server("127.0.0.1"), [Read, Send(SHORT_OF_SIX), Cut]).await;
                Scene::get(client(), server.url("/")).keep(server)
            },
        ),
        row(
            "TLS cut without a close_notify, and no length",
            BodyFails(FailureKind::Body),
            || async {
                let steps = [Read, Send(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nabc"), Cut];
                let server = Server::play_tls(TRUSTED.server("127.0.0.1"), steps).await;
                Scene::get(client(), server.url("/")).keep(server)
            },
        ),
        // It can't be told from one that is whole.
        row("no length, and FIN", BodyEnds, || {
            answers(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nabc")
        }),
        row("whole", BodyEnds, || {
            answers(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc")
        }),
        row(
            "a failing status, whose body breaks too",
            StatusAndBodyFails(503, FailureKind::Body),
            || answers(b"HTTP/1.1 503 Busy\r\ncontent-length: 9\r\n\r\nabc"),
        ),
    ])
    .await;
}

#[tokio::test]
async fn bodies_in_time() {
    check(vec![
        row("total timeout", BodyFails(FailureKind::Timeout), || async {
            let server = Server::play([Read, Send(SHORT_OF_SIX), Stall]).await;
            Scene::get(build(builder().timeout(SHORTLY)), server.url("/")).keep(server)
        }),
        row("timeout of the request", BodyFails(FailureKind::Timeout), || async {
            let server = Server::play([Read, Send(SHORT_OF_SIX), Stall]).await;
            let url = server.url("/");
            Scene::new(client(), move |client| client.get(&url).timeout(SHORTLY)).keep(server)
        }),
        row("read timeout", BodyFails(FailureKind::Timeout), || async {
            let server = Server::play([Read, Send(SHORT_OF_SIX), Stall]).await;
            Scene::get(build(builder().read_timeout(SHORTLY)), server.url("/")).keep(server)
        }),
        row(
            "total timeout of a compressed one",
            BodyFails(FailureKind::Timeout),
            || async {
                let head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 99\r\n\r\n\x1f\x8b\x08";
                let server = Server::play([Read, Send(head), Stall]).await;
                Scene::get(build(builder().timeout(SHORTLY)), server.url("/")).keep(server)
            },
        ),
    ])
    .await;
}

/// The bytes arrived: what is wrong with them is not the transport's.
#[tokio::test]
async fn contents_that_cannot_be_decoded() {
    check(vec![
        row("corrupt gzip", BodyIgnored, || {
            answers(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 9\r\n\r\nnot gzip!")
        }),
        row("gzip that is cut inside a whole body", BodyIgnored, || {
            answers(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\n\x1f\x8b\x08")
        }),
        row("gzip in a body that is cut", BodyFails(FailureKind::Body), || {
            answers(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 9\r\n\r\n\x1f\x8b\x08")
        }),
    ])
    .await;
}

#[tokio::test]
async fn json_that_is_none() {
    let server = Server::play([Read, Send(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc"), Fin]).await;
    let error = client()
        .get(server.url("/"))
        .send()
        .await
        .unwrap()
        .json::<u8>()
        .await
        .unwrap_err();
    let end = end_of(&error.into(), true);
    assert_eq!((end.kind, end.verdict), (None, Verdict::Ignored), "{end:?}");
}
