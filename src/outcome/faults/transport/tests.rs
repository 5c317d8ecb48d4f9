use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::rt::{Read, ReadBufCursor, Write};

use super::*;

/// A wire that swallows what is written, and then gives some bytes and an error of the system.
struct Wire {
    bytes: &'static [u8],
    then: fn() -> io::Error,
    /// Waits for a request before it gives anything.
    waits: bool,
    reader: Option<Waker>,
}

impl Wire {
    fn new(bytes: &'static [u8], then: fn() -> io::Error) -> Self {
        Self {
            bytes,
            then,
            waits: true,
            reader: None,
        }
    }
}

impl Read for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if self.waits {
            self.reader = Some(context.waker().clone());
            return Poll::Pending;
        }
        if self.bytes.is_empty() {
            return Poll::Ready(Err((self.then)()));
        }
        buf.put_slice(std::mem::take(&mut self.bytes));
        Poll::Ready(Ok(()))
    }
}

impl Write for Wire {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.waits = false;
        self.reader.take().into_iter().for_each(Waker::wake);
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

async fn connect(wire: Wire) -> http1::SendRequest<Empty<Bytes>> {
    let (sender, connection) = http1::handshake(wire).await.unwrap();
    tokio::spawn(connection);
    sender
}

async fn get(wire: Wire) -> hyper::Result<http::Response<Incoming>> {
    connect(wire).await.send_request(http::Request::new(Empty::new())).await
}

/// An error of reqwest that says nothing of its own.
fn silent() -> reqwest::Error {
    let mut response = http::Response::new("");
    *response.status_mut() = http::StatusCode::BAD_GATEWAY;
    reqwest::Response::from(response).error_for_status().unwrap_err()
}

async fn before_the_head(then: fn() -> io::Error) -> Option<FailureKind> {
    let error = get(Wire::new(b"", then)).await.unwrap_err();
    of_exchange(&silent(), &error)
}

async fn in_the_body(then: fn() -> io::Error) -> Option<FailureKind> {
    let response = get(Wire::new(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc", then))
        .await
        .unwrap();
    let response = reqwest::Response::from(response.map(reqwest::Body::wrap));
    of_body(&response.bytes().await.unwrap_err())
}

#[tokio::test]
async fn the_ends_of_a_connection_are_disconnects() {
    let ends: [fn() -> io::Error; 5] = [
        || io::ErrorKind::ConnectionReset.into(),
        || io::ErrorKind::ConnectionAborted.into(),
        || io::ErrorKind::BrokenPipe.into(),
        || io::ErrorKind::NotConnected.into(),
        || {
            io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "peer closed connection without sending TLS close_notify",
            )
        },
    ];
    for end in ends {
        assert_eq!(before_the_head(end).await, Some(FailureKind::Disconnect), "{}", end());
        assert_eq!(in_the_body(end).await, Some(FailureKind::Body), "{}", end());
    }
}

#[tokio::test]
async fn an_alert_after_the_handshake_is_tls() {
    let alerts: [fn() -> io::Error; 2] = [
        || io::Error::new(io::ErrorKind::InvalidData, "received fatal alert: CertificateRequired"),
        || io::Error::other("tlsv13 alert certificate required"),
    ];
    for alert in alerts {
        assert_eq!(before_the_head(alert).await, Some(FailureKind::Tls), "{}", alert());
        assert_eq!(in_the_body(alert).await, Some(FailureKind::Body), "{}", alert());
    }
}

/// Holds what it is given until it is told to go.
#[cfg(feature = "http2")]
#[derive(Clone, Default)]
struct Held(std::sync::Arc<std::sync::Mutex<Vec<futures_util::future::BoxFuture<'static, ()>>>>);

#[cfg(feature = "http2")]
impl<F: Future<Output = ()> + Send + 'static> hyper::rt::Executor<F> for Held {
    fn execute(&self, task: F) {
        self.0.lock().unwrap().push(Box::pin(task));
    }
}

#[cfg(feature = "http2")]
impl Held {
    async fn go(self) {
        let tasks = std::mem::take(&mut *self.0.lock().unwrap());
        futures_util::future::join_all(tasks).await;
    }
}

/// hyper gives an I/O error of the connection as its own, without one of HTTP/2 around it.
#[cfg(feature = "http2")]
#[tokio::test]
async fn over_http2_too_an_alert_is_tls_and_an_end_is_a_disconnect() {
    let cases: [(fn() -> io::Error, FailureKind); 2] = [
        (
            || io::Error::new(io::ErrorKind::InvalidData, "received fatal alert: CertificateRequired"),
            FailureKind::Tls,
        ),
        (|| io::ErrorKind::ConnectionReset.into(), FailureKind::Disconnect),
    ];
    for (then, kind) in cases {
        let held = Held::default();
        let (mut sender, connection) = hyper::client::conn::http2::handshake(held.clone(), Wire::new(b"", then))
            .await
            .unwrap();
        let request = http::Request::get("http://stock.example/").body(Empty::<Bytes>::new());
        let answer = sender.send_request(request.unwrap());
        // The request is in flight when the connection ends.
        let (_, answer, ()) = tokio::join!(connection, answer, held.go());
        let error = answer.unwrap_err();
        assert!(
            !error.is_canceled() && first::<h2::Error>(&error).is_none(),
            "{error:?}"
        );
        assert_eq!(of_exchange(&silent(), &error), Some(kind), "{error:?}");
    }
}

/// An error of reqwest that says that the time was up.
async fn timed_out() -> reqwest::Error {
    let broken = futures_util::stream::iter([Err::<Bytes, _>(io::Error::from(io::ErrorKind::TimedOut))]);
    let response = http::Response::new(reqwest::Body::wrap_stream(broken));
    reqwest::Response::from(response).bytes().await.unwrap_err()
}

#[tokio::test]
async fn a_connection_that_timed_out_is_a_timeout() {
    let error = get(Wire::new(b"", || io::ErrorKind::TimedOut.into()))
        .await
        .unwrap_err();
    assert_eq!(of_exchange(&timed_out().await, &error), Some(FailureKind::Timeout));
    assert_eq!(
        in_the_body(|| io::ErrorKind::TimedOut.into()).await,
        Some(FailureKind::Timeout)
    );
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn exhaustion_of_this_machine_is_nobodys_failure() {
    // ENOBUFS and ENOMEM, on a connection that stands.
    let exhausted: [fn() -> io::Error; 2] = [
        || io::Error::from_raw_os_error(105),
        || io::Error::from_raw_os_error(12),
    ];
    for exhausted in exhausted {
        assert_eq!(before_the_head(exhausted).await, None, "{}", exhausted());
        assert_eq!(in_the_body(exhausted).await, None, "{}", exhausted());
    }
}

/// A request on a connection that ended while it was idle.
#[tokio::test]
async fn a_connection_that_ended_before_the_request_is_a_disconnect() {
    let mut sender = connect(Wire {
        waits: false,
        ..Wire::new(b"", || io::ErrorKind::ConnectionReset.into())
    })
    .await;
    while sender.ready().await.is_ok() {
        tokio::task::yield_now().await;
    }
    let closed = sender.ready().await.unwrap_err();
    assert!(closed.is_closed() && closed.source().is_none());
    assert_eq!(of_exchange(&silent(), &closed), Some(FailureKind::Disconnect));

    let canceled = sender.send_request(http::Request::new(Empty::new())).await.unwrap_err();
    assert!(canceled.is_canceled());
    assert_eq!(of_exchange(&silent(), &canceled), Some(FailureKind::Disconnect));
}

#[test]
fn what_is_not_the_http_clients_is_nobodys() {
    assert_eq!(
        of_exchange(&silent(), &io::Error::from(io::ErrorKind::ConnectionReset)),
        None
    );
    assert_eq!(of_body(&silent()), None);
}
