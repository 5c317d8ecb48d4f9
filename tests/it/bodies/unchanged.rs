//! The caller gets the same response, whether somebody waits for the end of its body or not.

use std::convert::Infallible;

use bytes::Bytes;
use http::HeaderMap;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Body, Frame};
use hyper_util::rt::{TokioExecutor, TokioIo};

use super::*;

/// All that can be seen of a response before its body is read.
#[derive(Debug, PartialEq)]
struct Head {
    status: http::StatusCode,
    version: http::Version,
    url: String,
    headers: HeaderMap,
    remote_address: Option<std::net::SocketAddr>,
    length: Option<u64>,
    mark: Option<u32>,
    reason: Option<Vec<u8>>,
}

/// An extension that a middleware further in puts into a response.
#[derive(Clone)]
struct Mark(u32);

struct Marking;

#[async_trait::async_trait]
impl reqwest_middleware::Middleware for Marking {
    async fn handle(
        &self,
        request: reqwest::Request,
        extensions: &mut http::Extensions,
        next: reqwest_middleware::Next<'_>,
    ) -> reqwest_middleware::Result<Response> {
        let mut response = next.run(request, extensions).await?;
        response.extensions_mut().insert(Mark(7));
        Ok(response)
    }
}

fn head(response: &Response) -> Head {
    Head {
        status: response.status(),
        version: response.version(),
        url: response.url().to_string(),
        headers: response.headers().clone(),
        remote_address: response.remote_addr(),
        length: response.content_length(),
        mark: response.extensions().get::<Mark>().map(|mark| mark.0),
        reason: response
            .extensions()
            .get::<hyper::ext::ReasonPhrase>()
            .map(|reason| reason.as_bytes().to_vec()),
    }
}

async fn fetch(client: reqwest::Client, at: VerdictAt, url: &str) -> Response {
    let world = World::with(|builder| builder.verdict_at(at));
    let client = reqwest_middleware::ClientBuilder::new(client)
        .with(world.breaker())
        .with(Marking)
        .build();
    client.get(url).send().await.unwrap()
}

#[tokio::test]
async fn an_http1_response_stays_the_same() {
    const CHUNKED: &[u8] =
        b"HTTP/1.1 200 Yes\r\ntransfer-encoding: chunked\r\nx: 1\r\nx: 2\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n";
    const SIZED: &[u8] = b"HTTP/1.1 203 Odd\r\ncontent-length: 6\r\nset-cookie: a=b\r\n\r\nabcdef";
    const OLD: &[u8] = b"HTTP/1.0 200 OK\r\n\r\nabcdef";
    for (bytes, length) in [(CHUNKED, None), (SIZED, Some(6)), (OLD, None)] {
        let server = Server::play([Read, Send(bytes), Fin]).await;
        let url = server.url("/a?b=c");
        let client = build(builder());
        let plain = fetch(client.clone(), VerdictAt::Headers, &url).await;
        let watched = fetch(client, VerdictAt::EndOfBody, &url).await;
        assert_eq!(head(&plain), head(&watched));
        assert_eq!((head(&watched).length, head(&watched).mark), (length, Some(7)));
        assert_eq!(
            (plain.text().await.unwrap(), watched.text().await.unwrap()),
            ("abcdef".into(), "abcdef".into())
        );
    }
}

#[tokio::test]
async fn the_url_after_a_redirect_stays_the_same() {
    let b = StatusServer::start([Answer::status(200).body("b")]).await;
    let a = StatusServer::start([Answer::status(302).header("location", b.url("/b?c=d"))]).await;
    let client = build(builder());
    let plain = fetch(client.clone(), VerdictAt::Headers, &a.url("/")).await;
    let watched = fetch(client, VerdictAt::EndOfBody, &a.url("/")).await;
    assert_eq!(head(&plain), head(&watched));
    assert_eq!(watched.url().as_str(), b.url("/b?c=d"));
}

/// A server that speaks HTTP/2 and sends two chunks and trailers.
async fn with_trailers() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = hyper::service::service_fn(async |_| {
                let mut trailers = HeaderMap::new();
                trailers.insert("grpc-status", "0".parse().unwrap());
                let frames = ["abc", "def"].map(|text| Frame::data(Bytes::from(text)));
                let frames = frames
                    .into_iter()
                    .chain([Frame::trailers(trailers)])
                    .map(Ok::<_, Infallible>);
                let body = StreamBody::new(futures_util::stream::iter(frames));
                Ok::<_, Infallible>(http::Response::new(body))
            });
            let serving = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            tokio::spawn(serving.serve_connection(TokioIo::new(stream), service));
        }
    });
    format!("http://{address}/")
}

#[tokio::test]
async fn an_http2_response_and_its_trailers_stay_the_same() {
    let url = with_trailers().await;
    let client = build(builder().http2_prior_knowledge());
    let plain = fetch(client.clone(), VerdictAt::Headers, &url).await;
    let watched = fetch(client, VerdictAt::EndOfBody, &url).await;
    assert_eq!(head(&plain), head(&watched));
    for response in [plain, watched] {
        let body: reqwest::Body = http::Response::from(response).into_body();
        assert_eq!((body.size_hint().lower(), body.size_hint().upper()), (0, None));
        let collected = body.collect().await.unwrap();
        assert_eq!(collected.trailers().unwrap()["grpc-status"], "0");
        assert_eq!(collected.to_bytes(), "abcdef");
    }
}

#[tokio::test]
async fn what_breaks_breaks_the_same_way() {
    let server = Server::play([Read, Send(SHORT_OF_SIX), Fin]).await;
    let client = build(builder());
    let mut flags = Vec::new();
    for at in [VerdictAt::Headers, VerdictAt::EndOfBody] {
        let mut response = fetch(client.clone(), at, &server.url("/")).await;
        assert_eq!(response.chunk().await.unwrap().unwrap(), "abc");
        let error = response.chunk().await.unwrap_err();
        flags.push([
            error.is_body(),
            error.is_decode(),
            error.is_timeout(),
            error.is_connect(),
            error.is_request(),
        ]);
    }
    assert_eq!(flags[0], flags[1]);
}
