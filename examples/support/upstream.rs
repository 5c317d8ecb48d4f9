//! A small HTTP server for the examples: it answers what it is told, hangs, dies and comes back.
//!
//! ```text
//! #[path = "support/upstream.rs"]
//! mod upstream;
//!
//! let stock = Upstream::start().await;                        // answers 200 to everything
//! stock.answer(503);                                          // from now on
//! stock.answer_with(|path| if path.starts_with("/search") { Answer::Status(503) } else { Answer::Status(200) });
//! stock.kill().await;                                         // connections are refused
//! stock.revive();
//! assert_eq!(stock.hits(), 0);
//! ```

#![allow(dead_code, reason = "each example uses a part")]

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// A server on the loopback interface. It ends when it is dropped.
pub(crate) struct Upstream {
    address: SocketAddr,
    shared: Arc<Shared>,
    serving: Mutex<Serving>,
}

/// What an [`Upstream`] does with a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answer {
    Status(u16),
    /// A status and one header, such as `retry-after: 60`.
    WithHeader(u16, &'static str),
    /// A status, after a while.
    Slow(Duration, u16),
    /// Lets the caller wait for ever.
    Hang,
}

type Script = Arc<dyn Fn(&str) -> Answer + Send + Sync>;

struct Shared {
    hits: AtomicUsize,
    script: Mutex<Script>,
}

enum Serving {
    Up(JoinHandle<()>, watch::Sender<()>),
    /// The port is taken, so that nobody else gets it, and nobody listens.
    Down(TcpSocket),
    Changing,
}

impl Upstream {
    /// Starts one that answers 200 to everything.
    pub(crate) async fn start() -> Self {
        let socket = bind(([127, 0, 0, 1], 0).into());
        let upstream = Self {
            address: socket.local_addr().expect("a bound socket has an address"),
            shared: Arc::new(Shared {
                hits: AtomicUsize::new(0),
                script: Mutex::new(Arc::new(|_| Answer::Status(200))),
            }),
            serving: Mutex::new(Serving::Down(socket)),
        };
        upstream.revive();
        upstream
    }

    /// The URL of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// How many requests have arrived.
    pub(crate) fn hits(&self) -> usize {
        self.shared.hits.load(Ordering::SeqCst)
    }

    /// From now on, answers every request with this status.
    pub(crate) fn answer(&self, status: u16) {
        self.answer_with(move |_| Answer::Status(status));
    }

    /// From now on, answers as `script` says, which is given the path.
    pub(crate) fn answer_with(&self, script: impl Fn(&str) -> Answer + Send + Sync + 'static) {
        *self.shared.script.lock().expect("no script panics") = Arc::new(script);
    }

    /// From now on, lets every request wait for ever.
    pub(crate) fn hang(&self) {
        self.answer_with(|_| Answer::Hang);
    }

    /// Closes all connections and refuses new ones.
    pub(crate) async fn kill(&self) {
        let serving = self.exchange(Serving::Changing);
        let socket = match serving {
            Serving::Up(accepting, stop) => {
                drop(stop);
                accepting.await.expect("the server did not panic");
                bind(self.address)
            }
            Serving::Down(socket) => socket,
            Serving::Changing => panic!("killed twice at once"),
        };
        self.exchange(Serving::Down(socket));
    }

    /// Listens again, at the same address.
    pub(crate) fn revive(&self) {
        let serving = match self.exchange(Serving::Changing) {
            Serving::Down(socket) => {
                let listener = socket.listen(1024).expect("a bound socket can listen");
                let (stop, stopped) = watch::channel(());
                Serving::Up(tokio::spawn(accept(listener, Arc::clone(&self.shared), stopped)), stop)
            }
            up => up,
        };
        self.exchange(serving);
    }

    fn exchange(&self, serving: Serving) -> Serving {
        std::mem::replace(&mut *self.serving.lock().expect("nothing panics in here"), serving)
    }
}

fn bind(address: SocketAddr) -> TcpSocket {
    let socket = TcpSocket::new_v4().expect("a socket");
    // Connections of its former life may linger on the port.
    socket.set_reuseaddr(true).expect("an option that every system has");
    socket.bind(address).expect("a free port");
    socket
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, mut stopped: watch::Receiver<()>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            // The sender is gone.
            _ = stopped.changed() => break,
            Some(_) = connections.join_next() => {}
            Ok((stream, _)) = listener.accept() => { connections.spawn(serve(stream, Arc::clone(&shared))); }
        }
    }
    drop(listener);
    connections.shutdown().await;
}

/// Answers requests without a body, one after the other.
async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    stream.set_nodelay(true).ok();
    let mut stream = BufReader::new(stream);
    while let Some(path) = read_request(&mut stream).await {
        shared.hits.fetch_add(1, Ordering::SeqCst);
        let script = Arc::clone(&shared.script.lock().expect("no script panics"));
        let (status, header) = match script(&path) {
            Answer::Status(status) => (status, String::new()),
            Answer::WithHeader(status, header) => (status, format!("{header}\r\n")),
            Answer::Slow(wait, status) => {
                tokio::time::sleep(wait).await;
                (status, String::new())
            }
            Answer::Hang => std::future::pending().await,
        };
        let answer = format!("HTTP/1.1 {status} -\r\ncontent-length: 0\r\n{header}\r\n");
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Reads the head of a request and returns its path. `None` if the client hangs up.
async fn read_request(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut head = String::new();
    // An empty line, of two bytes, ends it.
    while stream.read_line(&mut head).await.ok().filter(|length| *length > 0)? > 2 {}
    head.split(' ').nth(1).map(str::to_owned)
}
