//! A connection stands, and no whole response head comes over it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::support::client::{build, builder, client};
use crate::support::scripted::Server;
use crate::support::scripted::Step::{self, Cut, Fin, Read, Reset, Send, Stall, Wait};
use crate::support::tls::TRUSTED;

/// Long enough for bytes to arrive before a RST overtakes them.
const BEAT: Step = Wait(Duration::from_millis(50));

async fn plays(steps: impl Into<Vec<Step>>) -> Scene {
    let server = Server::play(steps).await;
    Scene::get(client(), server.url("/")).keep(server)
}

/// Answers a request with these bytes and closes.
async fn answers(bytes: &'static [u8]) -> Scene {
    plays([Read, Send(bytes), Fin]).await
}

async fn uploads(steps: impl Into<Vec<Step>>) -> Scene {
    let server = Server::play(steps).await;
    let url = server.url("/");
    let body = vec![b'x'; 8 << 20];
    Scene::new(client(), move |client| client.post(&url).body(body.clone())).keep(server)
}

#[tokio::test]
async fn disconnects() {
    const HALF: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-le";
    const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
    check(vec![
        row("FIN before a byte", Fails(FailureKind::Disconnect), || {
            plays([Read, Fin])
        }),
        row("FIN at once", Fails(FailureKind::Disconnect), || plays([Fin])),
        row("FIN in the headers", Fails(FailureKind::Disconnect), || {
            plays([Read, Send(HALF), Fin])
        }),
        row("FIN after 100", Fails(FailureKind::Disconnect), || {
            plays([Read, Send(CONTINUE), Fin])
        }),
        row("FIN after many 100", Fails(FailureKind::Disconnect), || {
            let mut steps = vec![Read];
            steps.extend([Send(CONTINUE); 200]);
            plays(steps)
        }),
        row("FIN after 103", Fails(FailureKind::Disconnect), || {
            plays([Read, Send(b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n"), Fin])
        }),
        row("RST before a byte", Fails(FailureKind::Disconnect), || {
            plays([Read, Reset])
        }),
        row("RST in the headers", Fails(FailureKind::Disconnect), || {
            plays([Read, Send(HALF), BEAT, Reset])
        }),
        row("RST after 100", Fails(FailureKind::Disconnect), || {
            plays([Read, Send(CONTINUE), BEAT, Reset])
        }),
        row("RST while uploading", Fails(FailureKind::Disconnect), || {
            uploads([Read, BEAT, Reset])
        }),
        row("FIN while uploading", Fails(FailureKind::Disconnect), || {
            uploads([Read, BEAT, Fin])
        }),
        row(
            "FIN on a connection that is used again",
            Fails(FailureKind::Disconnect),
            || async {
                let server = only_the_first_is_answered(false).await;
                let client = client();
                client.get(server.url("/")).send().await.unwrap().bytes().await.unwrap();
                Scene::get(client, server.url("/")).keep(server)
            },
        ),
        row(
            "RST on a connection that is used again",
            Fails(FailureKind::Disconnect),
            || async {
                let server = only_the_first_is_answered(true).await;
                let client = client();
                client.get(server.url("/")).send().await.unwrap().bytes().await.unwrap();
                Scene::get(client, server.url("/")).keep(server)
            },
        ),
        row(
            "TLS cut without a close_notify",
            Fails(FailureKind::Disconnect),
            || async {
                let server = Server::play_tls(TRUSTED.server("127.0.0.1"), [Read, Cut]).await;
                Scene::get(client(), server.url("/")).keep(server)
            },
        ),
        row("TLS closed as one should", Fails(FailureKind::Disconnect), || async {
            let server = Server::play_tls(TRUSTED.server("127.0.0.1"), [Read, Fin]).await;
            Scene::get(client(), server.url("/")).keep(server)
        }),
    ])
    .await;
}

/// Answers one request in its life, and hangs up on all others, after reading them.
async fn only_the_first_is_answered(reset: bool) -> Server {
    let requests = Arc::new(AtomicUsize::new(0));
    Server::start(move |mut connection| {
        let requests = Arc::clone(&requests);
        async move {
            while connection.read_head().await.is_some() {
                match requests.fetch_add(1, Ordering::SeqCst) {
                    0 => connection.send(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await,
                    _ if reset => return connection.reset(),
                    _ => return connection.fin().await,
                }
            }
        }
    })
    .await
}

#[tokio::test]
async fn bytes_that_are_not_http() {
    check(vec![
        row("garbage", Fails(FailureKind::Protocol), || {
            answers(b"\x00\x01\x02\x03\r\n\r\n")
        }),
        row("a banner", Fails(FailureKind::Protocol), || {
            answers(b"220 mail.example ESMTP\r\n")
        }),
        row("a banner before our request", Fails(FailureKind::Protocol), || {
            plays([Send(b"SSH-2.0-OpenSSH_9.6\r\n"), Read, Fin])
        }),
        row("a response before our request", Fails(FailureKind::Protocol), || {
            plays([
                Send(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nHTTP/1.1 200 OK\r\n"),
                Stall,
            ])
        }),
        row("an HTTP/2 server", Fails(FailureKind::Protocol), || {
            answers(b"\0\0\0\x04\0\0\0\0\0\0\0\x08\x07\0\0\0\0")
        }),
        row("a TLS server", Fails(FailureKind::Protocol), || {
            answers(b"\x15\x03\x03\x00\x02\x02\x46")
        }),
        row("a bad version", Fails(FailureKind::Protocol), || {
            answers(b"HTTP/9.9 200 OK\r\n\r\n")
        }),
        row("a bad status", Fails(FailureKind::Protocol), || {
            answers(b"HTTP/1.1 20x OK\r\n\r\n")
        }),
        row("a bad header name", Fails(FailureKind::Protocol), || {
            answers(b"HTTP/1.1 200 OK\r\nx y: 1\r\n\r\n")
        }),
        row("a bad header value", Fails(FailureKind::Protocol), || {
            answers(b"HTTP/1.1 200 OK\r\nx: \x01\r\n\r\n")
        }),
        row("a bad length", Fails(FailureKind::Protocol), || {
            answers(b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n")
        }),
        row("two lengths", Fails(FailureKind::Protocol), || {
            answers(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab")
        }),
        row("too many headers", Fails(FailureKind::Protocol), || async {
            let server = Server::start(|mut connection| async move {
                connection.read_head().await;
                connection
                    .send("HTTP/1.1 200 OK\r\n".to_owned() + &"x: 1\r\n".repeat(200) + "\r\n")
                    .await;
                connection.fin().await;
            })
            .await;
            Scene::get(client(), server.url("/")).keep(server)
        }),
        row("too large a head", Fails(FailureKind::Protocol), || async {
            let server = Server::start(|mut connection| async move {
                connection.read_head().await;
                connection
                    .send("HTTP/1.1 200 OK\r\nx: ".to_owned() + &"x".repeat(1 << 20))
                    .await;
                connection.fin().await;
            })
            .await;
            Scene::get(client(), server.url("/")).keep(server)
        }),
    ])
    .await;
}

#[tokio::test]
async fn no_answer_in_time() {
    check(vec![
        row("total timeout", Fails(FailureKind::Timeout), || async {
            let server = Server::play([Read, Stall]).await;
            Scene::get(build(builder().timeout(SHORT)), server.url("/")).keep(server)
        }),
        row("timeout of the request", Fails(FailureKind::Timeout), || async {
            let server = Server::play([Read, Stall]).await;
            let url = server.url("/");
            Scene::new(client(), move |client| client.get(&url).timeout(SHORT)).keep(server)
        }),
        row("read timeout", Fails(FailureKind::Timeout), || async {
            let server = Server::play([Read, Stall]).await;
            Scene::get(build(builder().read_timeout(SHORT)), server.url("/")).keep(server)
        }),
        row("timeout in the headers", Fails(FailureKind::Timeout), || async {
            let server = Server::play([Read, Send(b"HTTP/1.1 200 OK\r\n"), Stall]).await;
            Scene::get(build(builder().timeout(SHORT)), server.url("/")).keep(server)
        }),
        row("100 without end", Fails(FailureKind::Timeout), || async {
            let server = Server::start(|mut connection| async move {
                connection.read_head().await;
                for _ in 0..200 {
                    connection.send(b"HTTP/1.1 100 Continue\r\n\r\n").await;
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            })
            .await;
            Scene::get(build(builder().timeout(SHORT)), server.url("/")).keep(server)
        }),
        row("an upload that nobody reads", Fails(FailureKind::Timeout), || async {
            let server = Server::start(|connection| async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                connection.stall().await;
            })
            .await;
            let (url, body) = (server.url("/"), vec![b'x'; 16 << 20]);
            Scene::new(client(), move |client| {
                client.post(&url).body(body.clone()).timeout(SHORT)
            })
            .keep(server)
        }),
    ])
    .await;
}

#[tokio::test]
async fn answers_are_answers() {
    check(vec![
        row("200", Answers, || {
            answers(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
        }),
        row("200 after 100", Answers, || {
            answers(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
        }),
        row("404", Answers, || {
            answers(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
        }),
        row("429", Answers, || {
            answers(b"HTTP/1.1 429 Too Many\r\ncontent-length: 0\r\n\r\n")
        }),
        row("HTTP/1.0", Answers, || answers(b"HTTP/1.0 200 OK\r\n\r\nok")),
        row("500", Status(500), || {
            answers(b"HTTP/1.1 500 Oops\r\ncontent-length: 0\r\n\r\n")
        }),
        row("503", Status(503), || {
            answers(b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n")
        }),
        row("599", Status(599), || {
            answers(b"HTTP/1.1 599 What\r\ncontent-length: 0\r\n\r\n")
        }),
        row("an early 413, and RST while uploading", Answers, || {
            uploads([
                Read,
                Send(b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n"),
                BEAT,
                BEAT,
                Reset,
            ])
        }),
        row("an idle connection that the server has closed", Answers, || async {
            let closed = Arc::new(tokio::sync::Notify::new());
            let close = Arc::clone(&closed);
            let server = Server::start(move |mut connection| {
                let close = Arc::clone(&close);
                async move {
                    connection.read_head().await;
                    connection.send(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
                    // Comes back when the client has closed too.
                    connection.fin().await;
                    close.notify_one();
                }
            })
            .await;
            let client = client();
            client.get(server.url("/")).send().await.unwrap().bytes().await.unwrap();
            closed.notified().await;
            Scene::get(client, server.url("/")).keep(server)
        }),
    ])
    .await;
}
