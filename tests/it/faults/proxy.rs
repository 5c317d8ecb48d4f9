//! The way to the upstream goes through a proxy that would not.

use super::*;
use crate::support::client::{build, builder};
use crate::support::scripted::Step::{self, Fin, Read, Reset, Send};
use crate::support::scripted::{Server, Step::Stall};
use crate::support::server::Refusing;
use crate::support::tls::UNTRUSTED;

fn through(proxy: &str, url: &str) -> Scene {
    Scene::get(build(builder().proxy(reqwest::Proxy::all(proxy).unwrap())), url)
}

async fn tunnel(steps: impl Into<Vec<Step>>) -> Scene {
    let proxy = Server::play(steps).await;
    through(&proxy.url(""), "https://stock.example/").keep(proxy)
}

/// SOCKS5 without its greeting is what these bytes answer.
async fn socks(answers: &'static [&'static [u8]]) -> Scene {
    let proxy = Server::start(move |mut connection| async move {
        for answer in answers {
            connection.read(3).await;
            connection.send(answer).await;
        }
        connection.fin().await;
    })
    .await;
    through(&format!("socks5h://{}", proxy.address()), "http://stock.example/").keep(proxy)
}

#[tokio::test]
async fn http_proxies() {
    check(vec![
        row("refused", Fails(FailureKind::Connect), || async {
            let nobody = Refusing::new();
            through(&nobody.url(""), "http://stock.example/").keep(nobody)
        }),
        row(
            "refused, and a tunnel was wanted",
            Fails(FailureKind::Connect),
            || async {
                let nobody = Refusing::new();
                through(&nobody.url(""), "https://stock.example/").keep(nobody)
            },
        ),
        row("502 for a request", Status(502), || async {
            let proxy = Server::play([Read, Send(b"HTTP/1.1 502 No\r\ncontent-length: 0\r\n\r\n"), Fin]).await;
            through(&proxy.url(""), "http://stock.example/").keep(proxy)
        }),
        row("407 for a tunnel", Fails(FailureKind::Connect), || {
            tunnel([Read, Send(b"HTTP/1.1 407 No\r\n\r\n"), Fin])
        }),
        row("502 for a tunnel", Fails(FailureKind::Connect), || {
            tunnel([Read, Send(b"HTTP/1.1 502 No\r\n\r\n"), Fin])
        }),
        row("garbage for a tunnel", Fails(FailureKind::Connect), || {
            tunnel([Read, Send(b"\0\0\0\0\r\n\r\n"), Fin])
        }),
        row("FIN for a tunnel", Fails(FailureKind::Connect), || tunnel([Read, Fin])),
        row("RST for a tunnel", Fails(FailureKind::Connect), || {
            tunnel([Read, Reset])
        }),
        row("an endless head for a tunnel", Fails(FailureKind::Connect), || async {
            let proxy = Server::start(|mut connection| async move {
                connection.read_head().await;
                connection
                    .send("HTTP/1.1 200 OK\r\nx: ".to_owned() + &"x".repeat(10_000))
                    .await;
                connection.fin().await;
            })
            .await;
            through(&proxy.url(""), "https://stock.example/").keep(proxy)
        }),
        row(
            "a proxy over TLS whom nobody trusts, without a tunnel",
            Fails(FailureKind::Tls),
            || async {
                let proxy = Server::play_tls(UNTRUSTED.server("127.0.0.1"), [Stall]).await;
                through(&proxy.url(""), "http://stock.example/").keep(proxy)
            },
        ),
        row(
            "a proxy over TLS whom nobody trusts",
            Fails(FailureKind::Connect),
            || async {
                let proxy = Server::play_tls(UNTRUSTED.server("127.0.0.1"), [Stall]).await;
                through(&proxy.url(""), "https://stock.example/").keep(proxy)
            },
        ),
    ])
    .await;
}

#[tokio::test]
async fn socks_proxies() {
    check(vec![
        row("refused", Fails(FailureKind::Connect), || async {
            let nobody = Refusing::new();
            through(&format!("socks5h://{}", nobody.address()), "http://stock.example/").keep(nobody)
        }),
        row("refused, and https", Fails(FailureKind::Connect), || async {
            let nobody = Refusing::new();
            through(&format!("socks5h://{}", nobody.address()), "https://stock.example/").keep(nobody)
        }),
        row("FIN", Fails(FailureKind::Connect), || socks(&[])),
        row("garbage", Fails(FailureKind::Connect), || {
            socks(&[b"HTTP/1.1 400 Bad Request\r\n\r\n"])
        }),
        row("no method in common", Fails(FailureKind::Connect), || {
            socks(&[b"\x05\xff"])
        }),
        row("general failure", Fails(FailureKind::Connect), || {
            socks(&[b"\x05\x00", b"\x05\x01\x00\x01\x00\x00\x00\x00\x00\x00"])
        }),
        row("the host is unreachable", Fails(FailureKind::Connect), || {
            socks(&[b"\x05\x00", b"\x05\x04\x00\x01\x00\x00\x00\x00\x00\x00"])
        }),
        row("SOCKS4 refuses", Fails(FailureKind::Connect), || async {
            let proxy = Server::start(|mut connection| async move {
                connection.read(9).await;
                connection.send(b"\x00\x5b\x00\x00\x00\x00\x00\x00").await;
                connection.fin().await;
            })
            .await;
            through(&format!("socks4://{}", proxy.address()), "http://127.0.0.1:9/").keep(proxy)
        }),
    ])
    .await;
}
