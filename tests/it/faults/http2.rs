//! HTTP/2: a stream or its connection ends before the response, or in its body.

use super::*;
use crate::support::client::{build, builder};
use crate::support::connection::Connection;
use crate::support::http2::{self as h2, FIRST};
use crate::support::scripted::Server;
use crate::support::scripted::Step::{self, Fin, Read, Reset, Send as Bytes, Stall};

fn client() -> reqwest::Client {
    build(builder().http2_prior_knowledge())
}

async fn scene<F, Fut>(script: F) -> Scene
where
    F: Fn(Connection) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let server = Server::start(script).await;
    Scene::get(client(), server.url("/")).keep(server)
}

/// Sends these frames in answer to every request, and keeps the connection.
async fn answers(frames: Vec<Vec<u8>>) -> Scene {
    answers_then(frames, Stall).await
}

async fn answers_then(frames: Vec<Vec<u8>>, last: Step) -> Scene {
    scene(move |mut connection| {
        let frames = frames.concat();
        async move {
            h2::read_request(&mut connection).await;
            connection.send(frames).await;
            match last {
                Reset => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    connection.reset();
                }
                Fin => connection.fin().await,
                _ => connection.stall().await,
            }
        }
    })
    .await
}

async fn plays(steps: impl Into<Vec<Step>>) -> Scene {
    let server = Server::play(steps).await;
    Scene::get(client(), server.url("/")).keep(server)
}

#[tokio::test]
async fn disconnects() {
    let mut rows = vec![
        row("GOAWAY below our stream", Fails(FailureKind::Disconnect), || {
            answers(vec![h2::go_away(0, h2::NO_ERROR)])
        }),
        row(
            "GOAWAY below our stream, with an error",
            Fails(FailureKind::Disconnect),
            || answers(vec![h2::go_away(0, h2::INTERNAL_ERROR)]),
        ),
        row(
            "GOAWAY that covers our stream, then FIN",
            Fails(FailureKind::Disconnect),
            || answers_then(vec![h2::go_away(FIRST, h2::NO_ERROR)], Fin),
        ),
        row(
            "GOAWAY with an error that covers our stream",
            Fails(FailureKind::Disconnect),
            || answers_then(vec![h2::go_away(FIRST, h2::INTERNAL_ERROR)], Fin),
        ),
        row("FIN", Fails(FailureKind::Disconnect), || answers_then(vec![], Fin)),
        row("RST", Fails(FailureKind::Disconnect), || answers_then(vec![], Reset)),
        row("FIN at once", Fails(FailureKind::Disconnect), || plays([Fin])),
        row("RST after the first bytes", Fails(FailureKind::Disconnect), || {
            plays([Step::Hear, Reset])
        }),
    ];
    for code in [0, 1, 2, 3, 5, 7, 8, 9, 0xa, 0xb, 0xc, 0xd, 0xff] {
        rows.push(row("RST_STREAM", Fails(FailureKind::Disconnect), move || {
            scene(move |mut connection| async move {
                let mut stream = h2::read_request(&mut connection).await;
                // reqwest itself tries again what was refused with REFUSED_STREAM.
                while let Some(refused) = stream {
                    connection.send(h2::reset(refused, code)).await;
                    stream = h2::read_next_request(&mut connection).await;
                }
            })
        }));
    }
    check(rows).await;
}

#[tokio::test]
async fn bytes_that_are_not_http2() {
    check(vec![
        row("DATA before the headers", Fails(FailureKind::Protocol), || {
            answers(vec![h2::data("ok")])
        }),
        row("DATA on no stream", Fails(FailureKind::Protocol), || {
            answers(vec![h2::frame(h2::DATA, 0, 0, b"ok")])
        }),
        row("SETTINGS of an odd length", Fails(FailureKind::Protocol), || {
            answers(vec![h2::frame(h2::SETTINGS, 0, 0, b"odd")])
        }),
        row("a frame that is too large", Fails(FailureKind::Protocol), || {
            answers(vec![h2::frame(h2::DATA, 0, FIRST, &[0; 1 << 17])])
        }),
        row("a bad header block", Fails(FailureKind::Protocol), || {
            answers(vec![h2::frame(h2::HEADERS, h2::END_HEADERS, FIRST, &[0xff; 8])])
        }),
        row("headers without a status", Fails(FailureKind::Protocol), || {
            answers(vec![h2::frame(h2::HEADERS, h2::END_HEADERS, FIRST, &[])])
        }),
        row("an HTTP/1 server", Fails(FailureKind::Protocol), || {
            plays([
                Read,
                Bytes(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"),
                Fin,
            ])
        }),
    ])
    .await;
}

#[tokio::test]
async fn no_answer_in_time() {
    check(vec![
        row("total timeout", Fails(FailureKind::Timeout), || async {
            let server = Server::play([Stall]).await;
            Scene::get(build(builder().http2_prior_knowledge().timeout(SHORT)), server.url("/")).keep(server)
        }),
        row("a ping without an echo", Fails(FailureKind::Timeout), || async {
            let server = Server::start(|mut connection| async move {
                h2::read_request(&mut connection).await;
                connection.stall().await;
            })
            .await;
            Scene::get(pinging(), server.url("/")).keep(server)
        }),
        // The ping's fate does not reach the body: it only sees that the connection is gone.
        row(
            "a ping without an echo, in the body",
            BodyFails(FailureKind::Body),
            || async {
                let server = Server::start(|mut connection| async move {
                    h2::read_request(&mut connection).await;
                    connection.send([h2::head(), h2::data("he")].concat()).await;
                    connection.stall().await;
                })
                .await;
                Scene::get(pinging(), server.url("/")).keep(server)
            },
        ),
    ])
    .await;
}

fn pinging() -> reqwest::Client {
    build(
        builder()
            .http2_prior_knowledge()
            .http2_keep_alive_interval(SHORT)
            .http2_keep_alive_timeout(SHORT)
            .http2_keep_alive_while_idle(true),
    )
}

#[tokio::test]
async fn bodies() {
    check(vec![
        row("whole", BodyEnds, || {
            answers(vec![h2::head(), h2::frame(h2::DATA, h2::END_STREAM, FIRST, b"hello")])
        }),
        row("RST_STREAM", BodyFails(FailureKind::Body), || {
            answers(vec![h2::head(), h2::data("he"), h2::reset(FIRST, h2::INTERNAL_ERROR)])
        }),
        // An upstream that gives up in the middle and calls it no error can't be told from one that has finished.
        row("RST_STREAM without an error", BodyEnds, || {
            answers(vec![h2::head(), h2::data("he"), h2::reset(FIRST, h2::NO_ERROR)])
        }),
        row("GOAWAY", BodyFails(FailureKind::Body), || {
            answers(vec![h2::head(), h2::data("he"), h2::go_away(0, h2::INTERNAL_ERROR)])
        }),
        row("FIN", BodyFails(FailureKind::Body), || {
            answers_then(vec![h2::head(), h2::data("he")], Fin)
        }),
        row("RST", BodyFails(FailureKind::Body), || {
            answers_then(vec![h2::head(), h2::data("he")], Reset)
        }),
        row("a bad frame", BodyFails(FailureKind::Body), || {
            answers(vec![h2::head(), h2::data("he"), h2::frame(h2::SETTINGS, 0, 0, b"odd")])
        }),
        row("total timeout", BodyFails(FailureKind::Timeout), || async {
            let server = Server::start(|mut connection| async move {
                h2::read_request(&mut connection).await;
                connection.send([h2::head(), h2::data("he")].concat()).await;
                connection.stall().await;
            })
            .await;
            let client = builder().http2_prior_knowledge().timeout(Duration::from_secs(2));
            Scene::get(build(client), server.url("/")).keep(server)
        }),
    ])
    .await;
}
