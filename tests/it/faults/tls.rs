//! The handshake failed.

use rustls::version::{TLS12, TLS13};
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::support::client::{build, builder, client};
use crate::support::scripted::Server;
use crate::support::scripted::Step::{self, Fin, Read, Reset, Send, Stall};
use crate::support::tls::{TRUSTED, UNTRUSTED};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// A server with this certificate, asked for by its IP address.
async fn served(tls: TlsAcceptor, client: reqwest::Client) -> Scene {
    let server = Server::play_tls(tls, [Read, Send(OK), Fin]).await;
    Scene::get(client, server.url("/")).keep(server)
}

/// A server that knows nothing of TLS, asked for by https.
async fn unserved(steps: impl Into<Vec<Step>>) -> Scene {
    let server = Server::play(steps).await;
    Scene::get(client(), server.url("/").replace("http", "https")).keep(server)
}

#[tokio::test]
async fn handshakes() {
    check(vec![
        row("a good one", Answers, || served(TRUSTED.server("127.0.0.1"), client())),
        row("untrusted certificate", Fails(FailureKind::Tls), || {
            served(UNTRUSTED.server("127.0.0.1"), client())
        }),
        row("expired certificate", Fails(FailureKind::Tls), || {
            served(TRUSTED.expired_server("127.0.0.1"), client())
        }),
        row("another's name", Fails(FailureKind::Tls), || {
            served(TRUSTED.server("stock.example"), client())
        }),
        row("no version in common", Fails(FailureKind::Tls), || {
            let client = build(builder().tls_version_max(reqwest::tls::Version::TLS_1_2));
            served(TRUSTED.strict_server("127.0.0.1", &TLS13, false), client)
        }),
        row(
            "a client's certificate demanded by TLS 1.2",
            Fails(FailureKind::Tls),
            || served(TRUSTED.strict_server("127.0.0.1", &TLS12, true), client()),
        ),
        row(
            "a client's certificate demanded by TLS 1.3",
            Fails(FailureKind::Tls),
            || served(TRUSTED.strict_server("127.0.0.1", &TLS13, true), client()),
        ),
        row("plain HTTP", Fails(FailureKind::Tls), || {
            unserved([Send(b"HTTP/1.1 400 Bad Request\r\n\r\n"), Fin])
        }),
        row("RST after the first bytes", Fails(FailureKind::Tls), || {
            unserved([Step::Hear, Reset])
        }),
        row("FIN at once", Fails(FailureKind::Tls), || unserved([Fin])),
        // The record's head of a ServerHello, and no more.
        row("RST in the handshake", Fails(FailureKind::Tls), || {
            unserved([
                Step::Hear,
                Send(b"\x16\x03\x03\x00\x7a\x02"),
                Step::Wait(Duration::from_millis(50)),
                Reset,
            ])
        }),
        row("FIN in the handshake", Fails(FailureKind::Tls), || {
            unserved([Send(b"\x16\x03\x03\x00\x7a\x02"), Fin])
        }),
        row("an alert", Fails(FailureKind::Tls), || {
            unserved([Send(b"\x15\x03\x03\x00\x02\x02\x28"), Fin])
        }),
    ])
    .await;
}

const ESTABLISHED: Step = Send(b"HTTP/1.1 200 Connection established\r\n\r\n");

/// What happens behind an HTTP tunnel reaches us with one layer less.
#[tokio::test]
async fn handshakes_behind_a_tunnel() {
    async fn behind(steps: impl Into<Vec<Step>>) -> Scene {
        let proxy = Server::play(steps).await;
        let client = build(builder().proxy(reqwest::Proxy::all(proxy.url("")).unwrap()));
        Scene::get(client, "https://stock.example/").keep(proxy)
    }
    check(vec![
        row("untrusted certificate", Fails(FailureKind::Tls), || async {
            // The tunnel ends in the proxy itself.
            let tls = UNTRUSTED.server("stock.example");
            let proxy = Server::start(move |mut connection| {
                let tls = tls.clone();
                async move {
                    connection.read_head().await;
                    connection.send(b"HTTP/1.1 200 OK\r\n\r\n").await;
                    connection.accept(&tls).await;
                }
            })
            .await;
            let client = build(builder().proxy(reqwest::Proxy::all(proxy.url("")).unwrap()));
            Scene::get(client, "https://stock.example/").keep(proxy)
        }),
        row("plain HTTP", Fails(FailureKind::Tls), || {
            behind([Read, ESTABLISHED, Send(b"HTTP/1.1 400 Bad Request\r\n\r\n"), Fin])
        }),
        row("FIN", Fails(FailureKind::Tls), || behind([Read, ESTABLISHED, Fin])),
        row("RST", Fails(FailureKind::Tls), || {
            behind([Read, ESTABLISHED, Step::Wait(Duration::from_millis(50)), Reset])
        }),
        row("no answer in time", Fails(FailureKind::ConnectTimeout), || async {
            let proxy = Server::play([Read, ESTABLISHED, Stall]).await;
            let client = builder()
                .connect_timeout(SHORT)
                .proxy(reqwest::Proxy::all(proxy.url("")).unwrap());
            Scene::get(build(client), "https://stock.example/").keep(proxy)
        }),
    ])
    .await;
}
