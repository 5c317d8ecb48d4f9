//! No connection came about.

use std::io;
use std::net::SocketAddr;

use super::*;
use crate::support::client::{Resolver, build, builder, client};
use crate::support::scripted::{Server, Step};
use crate::support::server::{BlackHole, Refusing};

fn resolving(answer: impl Fn() -> io::Result<Vec<SocketAddr>> + Send + Sync + 'static) -> reqwest::ClientBuilder {
    builder().dns_resolver(Resolver(answer))
}

#[tokio::test]
async fn connecting() {
    check(vec![
        row("refused", Fails(FailureKind::Connect), || async {
            let nobody = Refusing::new();
            Scene::get(client(), nobody.url("/")).keep(nobody)
        }),
        row("refused over IPv6", Fails(FailureKind::Connect), || async {
            let nobody = Refusing::at("[::1]:0");
            Scene::get(client(), nobody.url("/")).keep(nobody)
        }),
        row("port 0", Fails(FailureKind::Connect), || async {
            Scene::get(client(), "http://127.0.0.1:0/")
        }),
        // Nothing leaves the machine: TCP has no route to a group.
        row("no route", Fails(FailureKind::Connect), || async {
            Scene::get(client(), "http://224.0.0.1/")
        }),
        row(
            "every address of a name refuses",
            Fails(FailureKind::Connect),
            || async {
                let (first, second) = (Refusing::new(), Refusing::at("[::1]:0"));
                let addresses = vec![first.address(), second.address()];
                let client = build(resolving(move || Ok(addresses.clone())));
                Scene::get(client, "http://stock.example/").keep((first, second))
            },
        ),
        row("a name without addresses", Fails(FailureKind::Connect), || async {
            Scene::get(build(resolving(|| Ok(Vec::new()))), "http://stock.example/")
        }),
        row("a resolver that fails", Fails(FailureKind::Dns), || async {
            let client = build(resolving(|| Err(io::Error::other("no such name"))));
            Scene::get(client, "http://stock.example/")
        }),
        row("a resolver that times out", Fails(FailureKind::Dns), || async {
            let client = build(resolving(|| Err(io::ErrorKind::TimedOut.into())));
            Scene::get(client, "http://stock.example/")
        }),
        row("a resolver that fails, and https", Fails(FailureKind::Dns), || async {
            let client = build(resolving(|| Err(io::Error::other("no such name"))));
            Scene::get(client, "https://stock.example/")
        }),
        row(
            "a Unix socket that is not there",
            Fails(FailureKind::Connect),
            || async {
                Scene::get(
                    build(builder().unix_socket("/nonexistent/socket")),
                    "http://stock.example/",
                )
            },
        ),
    ])
    .await;
}

#[tokio::test]
async fn connecting_in_time() {
    check(vec![
        row(
            "connect timeout during TCP",
            Fails(FailureKind::ConnectTimeout),
            || async {
                let hole = BlackHole::new().await;
                Scene::get(build(builder().connect_timeout(SHORT)), hole.url("/")).keep(hole)
            },
        ),
        row(
            "connect timeout during TLS",
            Fails(FailureKind::ConnectTimeout),
            || async {
                let server = Server::play([Step::Stall]).await;
                let url = server.url("/").replace("http", "https");
                Scene::get(build(builder().connect_timeout(SHORT)), url).keep(server)
            },
        ),
        row(
            "connect timeout during CONNECT",
            Fails(FailureKind::ConnectTimeout),
            || async {
                let proxy = Server::play([Step::Stall]).await;
                let client = builder()
                    .connect_timeout(SHORT)
                    .proxy(reqwest::Proxy::all(proxy.url("")).unwrap());
                Scene::get(build(client), "https://stock.example/").keep(proxy)
            },
        ),
        row(
            "total timeout while connecting",
            Fails(FailureKind::Timeout),
            || async {
                let hole = BlackHole::new().await;
                Scene::get(build(builder().timeout(SHORT)), hole.url("/")).keep(hole)
            },
        ),
    ])
    .await;
}

/// What is wrong with the caller's own machine is no failure of the upstream.
#[tokio::test]
async fn this_machine() {
    check(vec![
        row("a local address that is not ours", Ignored, || async {
            let nobody = Refusing::new();
            let address: std::net::IpAddr = "192.0.2.1".parse().unwrap();
            Scene::get(build(builder().local_address(address)), nobody.url("/")).keep(nobody)
        }),
        #[cfg(target_os = "linux")]
        row("out of descriptors in the resolver", Ignored, || async {
            let client = build(resolving(|| Err(io::Error::from_raw_os_error(24))));
            Scene::get(client, "http://stock.example/")
        }),
        row("a name that TLS can't use", Ignored, || async {
            let address: SocketAddr = "127.0.0.1:9".parse().unwrap();
            Scene::get(build(resolving(move || Ok(vec![address]))), "https://a..example/")
        }),
        row("a name that TLS can't use, behind a tunnel", Ignored, || async {
            let proxy = Server::play([Step::Read, Step::Send(b"HTTP/1.1 200 OK\r\n\r\n"), Step::Stall]).await;
            let client = build(builder().proxy(reqwest::Proxy::all(proxy.url("")).unwrap()));
            Scene::get(client, "https://a..example/").keep(proxy)
        }),
    ])
    .await;
}

/// A process that can open nothing more: it needs one of its own, and a limit that does not touch the other tests.
#[cfg(unix)]
#[test]
fn out_of_descriptors() {
    const CHILD: &str = "BREAKER_TEST_OUT_OF_DESCRIPTORS";
    if std::env::var_os(CHILD).is_none() {
        let status = std::process::Command::new("sh")
            .args([
                "-c",
                "ulimit -n 48 && exec \"$0\" --exact faults::connect::out_of_descriptors",
            ])
            .arg(std::env::current_exe().unwrap())
            .env(CHILD, "1")
            .stdout(std::process::Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "without descriptors the verdict is not Ignored");
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let by_address = Scene::get(client(), "http://127.0.0.1:9/");
        let mut hoard = Vec::new();
        while let Ok(file) = std::fs::File::open("/dev/null") {
            hoard.push(file);
        }
        assert!(!hoard.is_empty());
        for &stack in Stack::ALL {
            let end = outcome_of(&by_address, stack).await;
            drop(hoard.pop());
            hoard.push(std::fs::File::open("/dev/null").unwrap());
            assert_eq!((end.kind, end.verdict), (None, Verdict::Ignored), "{end:?}");
        }
    });
}

/// The classifier tells a missing IPv6 from exhausted ports by how hyper-util shows the address it tried last.
#[tokio::test]
async fn an_address_of_ipv6_shows_in_the_connectors_error() {
    let nobody = Refusing::at("[::1]:0");
    let error = client().get(nobody.url("/")).send().await.unwrap_err();
    assert!(
        format!("{error:?}").contains("ConnectError(\"tcp connect error\", [::1]:"),
        "{error:?}"
    );
}

/// A layer of the caller's own around the connector, whose error nobody here knows.
#[derive(Clone)]
struct Overloaded;

impl<S> tower_layer::Layer<S> for Overloaded {
    type Service = Shedding<S>;

    fn layer(&self, inner: S) -> Shedding<S> {
        Shedding(inner)
    }
}

#[derive(Clone)]
struct Shedding<S>(S);

impl<S: tower_service::Service<R>, R> tower_service::Service<R> for Shedding<S> {
    type Response = S::Response;
    type Error = Box<dyn std::error::Error + Send + Sync>;
    type Future = std::future::Ready<Result<S::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Self::Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: R) -> Self::Future {
        std::future::ready(Err("overloaded".into()))
    }
}

/// TLS libraries are many: their errors are told by what they are not.
#[tokio::test]
async fn an_unknown_error_of_the_connector_is_taken_for_tls_where_there_is_tls() {
    check(vec![
        row("http", Fails(FailureKind::Connect), || async {
            Scene::get(build(builder().connector_layer(Overloaded)), "http://stock.example/")
        }),
        row("https", Fails(FailureKind::Tls), || async {
            Scene::get(build(builder().connector_layer(Overloaded)), "https://stock.example/")
        }),
    ])
    .await;
}
