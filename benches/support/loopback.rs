//! A server on a thread of its own, and a client on this one: a request between two cores.

use std::net::SocketAddr;
use std::thread;

use axum::Router;
use axum::routing::get;
use reqwest::Client;
use reqwest_middleware::{ClientBuilder, ClientWithMiddleware, Middleware};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

/// The server, and the runtime of its clients. It serves until the process ends.
pub(crate) struct Loopback {
    address: SocketAddr,
    runtime: Runtime,
}

impl Loopback {
    pub(crate) fn start() -> Self {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.set_nonblocking(true).expect("a socket");
        let address = listener.local_addr().expect("an address");
        thread::spawn(move || {
            new_runtime().block_on(async {
                let listener = TcpListener::from_std(listener).expect("a runtime");
                let app = Router::new().route("/items/7", get(|| async { "seven" }));
                axum::serve(listener, app).await
            })
        });
        Self {
            address,
            runtime: new_runtime(),
        }
    }

    /// A client with one middleware and a connection of its own.
    pub(crate) fn client(&self, middleware: impl Middleware) -> ClientWithMiddleware {
        let client = Client::builder().no_proxy().build().expect("a client");
        ClientBuilder::new(client).with(middleware).build()
    }

    /// Requests the item and reads it to its end.
    pub(crate) fn get(&self, client: &ClientWithMiddleware) {
        self.runtime.block_on(async {
            let response = client.get(format!("http://{}/items/7", self.address)).send().await;
            let body = response.expect("it answers").bytes().await;
            assert_eq!(&body.expect("it has a body")[..], b"seven");
        });
    }
}

fn new_runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}
