//! A raw server that plays a script on every connection.
//!
//! ```text
//! let server = Server::play([Read, Send(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc"), Fin]).await;
//! let server = Server::start(|mut connection| async move { .. }).await;
//! ```

use std::any::Any;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use super::connection::Connection;

/// No script takes longer. One that does is a mistake of the test.
const LIMIT: Duration = Duration::from_secs(60);

/// One step of a script.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// Reads the head of a request.
    Read,
    /// Waits for the client's first byte.
    Hear,
    Send(&'static [u8]),
    Wait(Duration),
    /// Closes as one should: FIN, and under TLS a `close_notify` before it.
    Fin,
    /// Closes with FIN and without a `close_notify`.
    Cut,
    /// Closes with RST.
    Reset,
    /// Says nothing more, until the client hangs up.
    Stall,
}

/// A listener on the loopback interface. Dropping it ends all its connections, and fails the test if a script panicked.
pub(crate) struct Server {
    address: SocketAddr,
    scheme: &'static str,
    connections: Arc<AtomicUsize>,
    panics: Arc<Mutex<Vec<String>>>,
    accepting: JoinHandle<()>,
}

impl Server {
    /// Runs `script` for every connection.
    pub(crate) async fn start<F, Fut>(script: F) -> Self
    where
        F: Fn(Connection) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        Self::listen(None, script).await
    }

    /// Runs `script` for every connection that has come through the TLS handshake.
    pub(crate) async fn start_tls<F, Fut>(tls: TlsAcceptor, script: F) -> Self
    where
        F: Fn(Connection) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        Self::listen(Some(tls), script).await
    }

    /// Plays the steps on every connection.
    pub(crate) async fn play(steps: impl Into<Vec<Step>>) -> Self {
        let steps = steps.into();
        Self::start(move |connection| play(connection, steps.clone())).await
    }

    /// Plays the steps on every connection that has come through the TLS handshake.
    pub(crate) async fn play_tls(tls: TlsAcceptor, steps: impl Into<Vec<Step>>) -> Self {
        let steps = steps.into();
        Self::start_tls(tls, move |connection| play(connection, steps.clone())).await
    }

    async fn listen<F, Fut>(tls: Option<TlsAcceptor>, script: F) -> Self
    where
        F: Fn(Connection) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let scheme = if tls.is_some() { "https" } else { "http" };
        let connections = Arc::new(AtomicUsize::new(0));
        let panics = Arc::new(Mutex::new(Vec::new()));
        let accepting = tokio::spawn(accept(
            listener,
            tls,
            script,
            Arc::clone(&connections),
            Arc::clone(&panics),
        ));
        Self {
            address,
            scheme,
            connections,
            panics,
            accepting,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a path, by the server's IP address.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.address)
    }

    /// The URL of a path, by a host name that the client must be told to resolve.
    pub(crate) fn url_at(&self, host: &str, path: &str) -> String {
        format!("{}://{host}:{}{path}", self.scheme, self.address.port())
    }

    /// How many connections have been made.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
        let panics = self.panics.lock().unwrap();
        if !std::thread::panicking() {
            assert!(panics.is_empty(), "the server's script panicked: {panics:?}");
        }
    }
}

async fn accept<F, Fut>(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    script: F,
    connections: Arc<AtomicUsize>,
    panics: Arc<Mutex<Vec<String>>>,
) where
    F: Fn(Connection) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let script = Arc::new(script);
    // Dropped with this task, and every connection with it.
    let mut scripts = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.fetch_add(1, Ordering::SeqCst);
        let (tls, script, panics) = (tls.clone(), Arc::clone(&script), Arc::clone(&panics));
        scripts.spawn(async move {
            let connection = match tls {
                None => Connection::plain(stream),
                // A handshake that fails is the client's answer, not a fault of the script.
                Some(tls) => match tls.accept(stream).await {
                    Ok(stream) => Connection::tls(stream),
                    Err(_) => return,
                },
            };
            let run = std::panic::AssertUnwindSafe(tokio::time::timeout(LIMIT, script(connection))).catch_unwind();
            match run.await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => panics.lock().unwrap().push(format!("took longer than {LIMIT:?}")),
                Err(payload) => panics.lock().unwrap().push(message(&*payload)),
            }
        });
        while scripts.try_join_next().is_some() {}
    }
}

async fn play(mut connection: Connection, steps: Vec<Step>) {
    for step in steps {
        match step {
            Step::Read => drop(connection.read_head().await),
            Step::Hear => drop(connection.read(1).await),
            Step::Send(bytes) => connection.send(bytes).await,
            Step::Wait(time) => tokio::time::sleep(time).await,
            Step::Fin => return connection.fin().await,
            Step::Cut => return connection.cut().await,
            Step::Reset => return connection.reset(),
            Step::Stall => return connection.stall().await,
        }
    }
    connection.fin().await;
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "with no message".into())
}
