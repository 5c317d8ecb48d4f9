//! One accepted connection, as a script sees it.
//!
//! Nothing here fails: the client may hang up at any time, and then there is nothing left to do.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

pub(crate) struct Connection {
    stream: Stream,
    /// Read already, and not yet asked for.
    buffer: Vec<u8>,
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

trait Wire: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Wire for T {}

impl Connection {
    pub(super) fn plain(stream: TcpStream) -> Self {
        Self {
            stream: Stream::Plain(stream),
            buffer: Vec::new(),
        }
    }

    pub(super) fn tls(stream: TlsStream<TcpStream>) -> Self {
        Self {
            stream: Stream::Tls(Box::new(stream)),
            buffer: Vec::new(),
        }
    }

    fn wire(&mut self) -> &mut dyn Wire {
        match &mut self.stream {
            Stream::Plain(stream) => stream,
            Stream::Tls(stream) => &mut **stream,
        }
    }

    fn into_tcp(self) -> TcpStream {
        match self.stream {
            Stream::Plain(stream) => stream,
            Stream::Tls(stream) => stream.into_inner().0,
        }
    }

    /// Reads some more bytes. `false` at the end.
    async fn fill(&mut self) -> bool {
        let mut chunk = [0; 16 * 1024];
        match self.wire().read(&mut chunk).await {
            Ok(0) | Err(_) => false,
            Ok(length) => {
                self.buffer.extend_from_slice(&chunk[..length]);
                true
            }
        }
    }

    /// Reads exactly so many bytes, or what there is before the client hangs up.
    pub(crate) async fn read(&mut self, length: usize) -> Vec<u8> {
        while self.buffer.len() < length && self.fill().await {}
        let length = length.min(self.buffer.len());
        self.buffer.drain(..length).collect()
    }

    /// Reads the head of an HTTP/1 request, with the empty line. `None` if the client hangs up before.
    pub(crate) async fn read_head(&mut self) -> Option<String> {
        const END: &[u8] = b"\r\n\r\n";
        loop {
            if let Some(at) = self.buffer.windows(END.len()).position(|window| window == END) {
                let head = self.buffer.drain(..at + END.len()).collect();
                return Some(String::from_utf8(head).expect("heads are text here"));
            }
            if !self.fill().await {
                return None;
            }
        }
    }

    /// Reads a whole HTTP/1 request with a body of known length, and returns its head.
    pub(crate) async fn read_request(&mut self) -> Option<String> {
        let head = self.read_head().await?;
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length")
                .then(|| value.trim().parse().expect("a length"))
        });
        self.read(length.unwrap_or(0)).await;
        Some(head)
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let wire = self.wire();
        if wire.write_all(bytes.as_ref()).await.is_ok() {
            wire.flush().await.ok();
        }
    }

    /// Goes on in TLS, as the end of a tunnel does. `None` if the handshake fails.
    pub(crate) async fn accept(self, tls: &TlsAcceptor) -> Option<Self> {
        tls.accept(self.into_tcp()).await.ok().map(Self::tls)
    }

    /// Closes as one should: FIN, and under TLS a `close_notify` before it.
    pub(crate) async fn fin(mut self) {
        self.wire().shutdown().await.ok();
        self.drain().await;
    }

    /// Closes with FIN and without a `close_notify`.
    pub(crate) async fn cut(self) {
        let mut tcp = self.into_tcp();
        tcp.shutdown().await.ok();
        Self::plain(tcp).drain().await;
    }

    /// Closes with RST.
    pub(crate) fn reset(self) {
        self.into_tcp().set_zero_linger().expect("a socket that can be reset");
    }

    /// Says nothing more, until the client hangs up.
    pub(crate) async fn stall(mut self) {
        while self.fill().await {
            self.buffer.clear();
        }
    }

    /// Reads what still comes: a socket that is closed with unread bytes sends RST instead of FIN.
    async fn drain(mut self) {
        let all = async {
            while self.fill().await {
                self.buffer.clear();
            }
        };
        tokio::time::timeout(Duration::from_secs(5), all).await.ok();
    }
}
