//! Upstreams with moods.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::connection::Connection;
use crate::support::http2;
use crate::support::scripted::Server;

/// How an upstream takes its next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    Healthy,
    /// Answers 503.
    Overloaded,
    /// Answers after some milliseconds.
    Slow,
    /// Never answers.
    Stalled,
    /// Resets the connection.
    Resetting,
    /// Says what no client understands.
    Lying,
    /// Promises a longer body than it sends.
    Cutting,
}

impl Mood {
    const ALL: [Self; 7] = [
        Self::Healthy,
        Self::Overloaded,
        Self::Slow,
        Self::Stalled,
        Self::Resetting,
        Self::Lying,
        Self::Cutting,
    ];
    /// Half of the moods are good, so that it recovers now and then.
    pub(super) const MIXED: [Self; 12] = [
        Self::Healthy,
        Self::Healthy,
        Self::Healthy,
        Self::Healthy,
        Self::Healthy,
        Self::Slow,
        Self::Overloaded,
        Self::Overloaded,
        Self::Stalled,
        Self::Resetting,
        Self::Lying,
        Self::Cutting,
    ];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Http1,
    Http2,
}

pub(super) struct Upstream {
    server: Server,
    pub(super) protocol: Protocol,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    mood: AtomicUsize,
    requests: AtomicUsize,
}

impl Shared {
    fn take_request(&self) -> Mood {
        self.requests.fetch_add(1, Ordering::SeqCst);
        Mood::ALL[self.mood.load(Ordering::SeqCst)]
    }
}

impl Upstream {
    pub(super) async fn start(protocol: Protocol, mood: Mood) -> Self {
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        let server = Server::start(move |connection| {
            let shared = Arc::clone(&own);
            async move {
                match protocol {
                    Protocol::Http1 => speak_http1(connection, &shared).await,
                    Protocol::Http2 => speak_http2(connection, &shared).await,
                }
            }
        })
        .await;
        let upstream = Self {
            server,
            protocol,
            shared,
        };
        upstream.turn(mood);
        upstream
    }

    /// Changes its mood.
    pub(super) fn turn(&self, mood: Mood) {
        self.shared.mood.store(mood as usize, Ordering::SeqCst);
    }

    pub(super) fn url(&self) -> String {
        self.server.url("/items/7")
    }

    /// How many requests have arrived.
    pub(super) fn requests(&self) -> usize {
        self.shared.requests.load(Ordering::SeqCst)
    }
}

async fn speak_http1(mut connection: Connection, shared: &Shared) {
    while connection.read_request().await.is_some() {
        match shared.take_request() {
            Mood::Healthy => connection.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await,
            Mood::Slow => {
                tokio::time::sleep(Duration::from_millis(5)).await;
                connection.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
            }
            Mood::Overloaded => connection.send("HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n").await,
            Mood::Stalled => return connection.stall().await,
            Mood::Resetting => return connection.reset(),
            Mood::Lying => {
                connection.send("220 mail.example ESMTP\r\n\r\n").await;
                return connection.fin().await;
            }
            Mood::Cutting => {
                connection.send("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok").await;
                return connection.cut().await;
            }
        }
    }
}

async fn speak_http2(mut connection: Connection, shared: &Shared) {
    // The literal `:status: 503`, its name from the static table.
    const STATUS_503: &[u8] = b"\x08\x03503";

    let mut next = http2::read_request(&mut connection).await;
    while let Some(stream) = next {
        let head = |status, flags| http2::frame(http2::HEADERS, http2::END_HEADERS | flags, stream, status);
        match shared.take_request() {
            Mood::Healthy => connection.send(head(http2::STATUS_200, http2::END_STREAM)).await,
            Mood::Slow => {
                tokio::time::sleep(Duration::from_millis(5)).await;
                connection.send(head(http2::STATUS_200, http2::END_STREAM)).await;
            }
            Mood::Overloaded => connection.send(head(STATUS_503, http2::END_STREAM)).await,
            Mood::Stalled => {}
            Mood::Resetting => connection.send(http2::reset(stream, http2::INTERNAL_ERROR)).await,
            Mood::Lying => {
                connection.send("HTTP/1.1 400 Bad Request\r\n\r\n").await;
                return connection.fin().await;
            }
            Mood::Cutting => {
                connection.send(head(http2::STATUS_200, 0)).await;
                connection.send(http2::frame(http2::DATA, 0, stream, b"ok")).await;
                connection.send(http2::reset(stream, http2::INTERNAL_ERROR)).await;
            }
        }
        next = http2::read_next_request(&mut connection).await;
    }
}
