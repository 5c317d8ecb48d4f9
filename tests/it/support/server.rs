//! A server that answers with the statuses it is given, and a port where nobody does.
//!
//! ```text
//! let server = StatusServer::start([503, 503, 200]).await;      // the last one repeats
//! let response = client.get(server.url("/items/7")).send().await?;
//! assert_eq!(server.requests(), 1);
//! ```

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::net::TcpSocket;
use tokio::sync::watch;

use super::connection::Connection;
use super::scripted::Server;

/// One answer of a [`StatusServer`]. A bare status is one too.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl Answer {
    pub(crate) fn status(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: String::new(),
        }
    }

    pub(crate) fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    pub(crate) fn body(mut self, body: impl Into<String>) -> Self {
        self.body = body.into();
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let mut text = format!("HTTP/1.1 {} scripted\r\n", self.status);
        // Neither has a body, nor a length to announce it.
        if !matches!(self.status, 204 | 304) {
            text += &format!("content-length: {}\r\n", self.body.len());
        }
        for (name, value) in &self.headers {
            text += &format!("{name}: {value}\r\n");
        }
        (text + "\r\n" + &self.body).into_bytes()
    }
}

impl From<u16> for Answer {
    fn from(status: u16) -> Self {
        Self::status(status)
    }
}

/// An HTTP/1.1 server with keep-alive that plays a list of answers, one for each request, and repeats the last. It counts
/// the requests and keeps their heads.
pub(crate) struct StatusServer {
    server: Server,
    state: Arc<State>,
}

struct State {
    answers: Mutex<Vec<Answer>>,
    heads: Mutex<Vec<String>>,
    open: watch::Sender<bool>,
}

impl StatusServer {
    pub(crate) async fn start<A: Into<Answer>>(answers: impl IntoIterator<Item = A>) -> Self {
        let state = Arc::new(State {
            answers: Mutex::new(reversed(answers)),
            heads: Mutex::default(),
            open: watch::Sender::new(true),
        });
        let shared = Arc::clone(&state);
        let server = Server::start(move |connection| serve(connection, Arc::clone(&shared))).await;
        Self { server, state }
    }

    /// From now on, plays these answers instead.
    pub(crate) fn answer_with<A: Into<Answer>>(&self, answers: impl IntoIterator<Item = A>) {
        *self.state.answers.lock().unwrap() = reversed(answers);
    }

    /// From now on, keeps requests waiting (they are counted) until [`release`](Self::release).
    pub(crate) fn hold(&self) {
        self.state.open.send_replace(false);
    }

    pub(crate) fn release(&self) {
        self.state.open.send_replace(true);
    }

    pub(crate) fn url(&self, path: &str) -> String {
        self.server.url(path)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// How many requests have arrived.
    pub(crate) fn requests(&self) -> usize {
        self.state.heads.lock().unwrap().len()
    }

    /// The request lines that have arrived, such as `GET /items/7 HTTP/1.1`.
    pub(crate) fn request_lines(&self) -> Vec<String> {
        let heads = self.state.heads.lock().unwrap();
        heads
            .iter()
            .map(|head| head.lines().next().unwrap_or_default().to_owned())
            .collect()
    }

    /// How many connections have been made.
    pub(crate) fn connections(&self) -> usize {
        self.server.connections()
    }
}

/// Answers in the order in which they are popped; the last one stays.
fn reversed<A: Into<Answer>>(answers: impl IntoIterator<Item = A>) -> Vec<Answer> {
    let mut answers: Vec<Answer> = answers.into_iter().map(Into::into).collect();
    assert!(!answers.is_empty(), "a server needs at least one answer");
    answers.reverse();
    answers
}

async fn serve(mut connection: Connection, state: Arc<State>) {
    while let Some(head) = connection.read_request().await {
        state.heads.lock().unwrap().push(head);
        let answer = {
            let mut answers = state.answers.lock().unwrap();
            if answers.len() > 1 {
                answers.pop()
            } else {
                answers.last().cloned()
            }
        };
        if state.open.subscribe().wait_for(|open| *open).await.is_err() {
            return;
        }
        connection.send(answer.expect("there is always one").bytes()).await;
    }
}

/// A port that is taken, so that nobody else gets it, and where nobody listens: connections to it are refused.
pub(crate) struct Refusing {
    _socket: TcpSocket,
    address: SocketAddr,
}

impl Refusing {
    pub(crate) fn new() -> Self {
        Self::at("127.0.0.1:0")
    }

    pub(crate) fn at(address: &str) -> Self {
        let address: SocketAddr = address.parse().expect("an address");
        let socket = if address.is_ipv4() {
            TcpSocket::new_v4()
        } else {
            TcpSocket::new_v6()
        }
        .expect("a socket");
        socket.bind(address).expect("a free port");
        let address = socket.local_addr().expect("a bound address");
        Self {
            _socket: socket,
            address,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

/// A port where connections neither come about nor fail: its queue is full, and nobody takes from it.
pub(crate) struct BlackHole {
    address: SocketAddr,
    _listener: tokio::net::TcpListener,
    _queued: Vec<tokio::task::JoinHandle<()>>,
}

impl BlackHole {
    pub(crate) async fn new() -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket
            .bind("127.0.0.1:0".parse().expect("an address"))
            .expect("a free port");
        let listener = socket.listen(1).expect("a listener");
        let address = listener.local_addr().expect("a bound address");
        let (connected, mut queued) = tokio::sync::mpsc::unbounded_channel();
        let tasks = (0..8).map(|_| {
            let connected = connected.clone();
            tokio::spawn(async move {
                let stream = tokio::net::TcpStream::connect(address).await;
                connected.send(()).ok();
                if stream.is_ok() {
                    std::future::pending::<()>().await;
                }
            })
        });
        let tasks = tasks.collect();
        // The queue holds one more than asked for. The others are waiting by then, and will for seconds.
        for _ in 0..2 {
            queued.recv().await;
        }
        Self {
            address,
            _listener: listener,
            _queued: tasks,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

impl Drop for BlackHole {
    fn drop(&mut self) {
        self._queued.iter().for_each(tokio::task::JoinHandle::abort);
    }
}
