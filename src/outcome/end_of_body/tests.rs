use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Version};
use http_body_util::BodyExt;

use super::*;

/// A body that gives its frames one by one and then ends, breaks, or panics.
struct Scripted {
    frames: VecDeque<Step>,
    /// Says at its last frame that it was the last, as a body with a known length does.
    knows_its_end: bool,
}

enum Step {
    Data(&'static str),
    Trailers,
    Break(io::ErrorKind),
    Panic,
}

impl Body for Scripted {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let this = self.get_mut();
        Poll::Ready(this.frames.pop_front().map(|step| match step {
            Step::Data(data) => Ok(Frame::data(Bytes::from_static(data.as_bytes()))),
            Step::Trailers => Ok(Frame::trailers(HeaderMap::from_iter([(
                http::header::ETAG,
                HeaderValue::from_static("v1"),
            )]))),
            Step::Break(kind) => Err(kind.into()),
            Step::Panic => panic!("the body panics"),
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.knows_its_end && self.frames.is_empty()
    }
}

fn response_with(body: impl Into<reqwest::Body>, status: u16) -> Response {
    let url = "https://user@stock.example/items?q=1".parse().unwrap();
    let mut response = http::Response::builder()
        .url(url)
        .status(status)
        .version(Version::HTTP_2)
        .header("x-kept", "header")
        .extension(7_u8)
        .body(body.into())
        .unwrap();
    response
        .extensions_mut()
        .insert(hyper::ext::ReasonPhrase::from_static(b"Kept"));
    response.into()
}

fn scripted(frames: impl IntoIterator<Item = Step>, knows_its_end: bool) -> Response {
    let frames = frames.into_iter().collect();
    response_with(reqwest::Body::wrap(Scripted { frames, knows_its_end }), 200)
}

/// Hears the reports of one watched body.
#[derive(Clone, Default)]
struct Ear(Arc<Mutex<Vec<BodyEnd>>>);

impl Ear {
    fn watch(&self, response: Response) -> Response {
        let heard = Arc::clone(&self.0);
        watch(response, move |end| heard.lock().unwrap().push(end))
    }

    fn heard(&self) -> Vec<BodyEnd> {
        self.0.lock().unwrap().clone()
    }
}

const FINE: [BodyEnd; 1] = [BodyEnd::Fine];

#[tokio::test]
async fn a_body_read_to_its_end_is_fine_once() {
    for knows_its_end in [true, false] {
        let ear = Ear::default();
        let response = ear.watch(scripted([Step::Data("he"), Step::Data("llo")], knows_its_end));
        assert!(ear.heard().is_empty());
        assert_eq!(response.text().await.unwrap(), "hello");
        assert_eq!(ear.heard(), FINE);
    }
}

#[tokio::test]
async fn the_last_frame_of_a_known_length_is_the_end() {
    let ear = Ear::default();
    let mut response = ear.watch(scripted([Step::Data("he"), Step::Data("llo")], true));
    response.chunk().await.unwrap();
    assert!(ear.heard().is_empty());
    response.chunk().await.unwrap();
    assert_eq!(ear.heard(), FINE, "nobody asked for the end, and it was known");
    assert_eq!(response.chunk().await.unwrap(), None);
    drop(response);
    assert_eq!(ear.heard(), FINE);
}

#[tokio::test]
async fn the_body_knows_its_end_where_it_knew_it_before() {
    for knows_its_end in [true, false] {
        let response = Ear::default().watch(scripted([Step::Data("hello")], knows_its_end));
        let mut body = http::Response::<reqwest::Body>::from(response).into_body();
        assert!(!body.is_end_stream());
        body.frame().await.unwrap().unwrap();
        assert_eq!(body.is_end_stream(), knows_its_end);
    }
}

#[tokio::test]
async fn a_body_dropped_unread_or_half_read_is_fine() {
    let ear = Ear::default();
    drop(ear.watch(scripted([Step::Data("hello")], false)));
    assert_eq!(ear.heard(), FINE);

    let ear = Ear::default();
    let mut response = ear.watch(scripted(
        [Step::Data("he"), Step::Break(io::ErrorKind::BrokenPipe)],
        false,
    ));
    response.chunk().await.unwrap();
    assert!(ear.heard().is_empty());
    drop(response);
    assert_eq!(ear.heard(), FINE);
}

#[tokio::test]
async fn a_body_that_breaks_is_broken_once_and_passes_its_error_on() {
    let ear = Ear::default();
    let mut response = ear.watch(scripted(
        [Step::Data("he"), Step::Break(io::ErrorKind::TimedOut)],
        false,
    ));
    response.chunk().await.unwrap();
    let error = response.chunk().await.unwrap_err();
    assert!(error.is_timeout() && error.is_decode());
    assert_eq!(ear.heard(), [BodyEnd::Broken(Some(FailureKind::Timeout))]);
    drop(response);
    assert_eq!(ear.heard().len(), 1);
}

#[tokio::test]
async fn a_content_that_cannot_be_decoded_is_broken_without_a_kind() {
    let ear = Ear::default();
    let response = ear.watch(scripted([Step::Break(io::ErrorKind::InvalidData)], false));
    response.bytes().await.unwrap_err();
    assert_eq!(ear.heard(), [BodyEnd::Broken(None)]);
}

/// What a caller can ask an error of reqwest.
fn flags(error: &reqwest::Error) -> ([bool; 6], Option<String>) {
    let flags = [
        error.is_decode(),
        error.is_body(),
        error.is_timeout(),
        error.is_request(),
        error.is_connect(),
        error.is_builder(),
    ];
    (flags, error.url().map(|url| url.path().to_owned()))
}

/// The caller sees the same predicates as without the wrapper, by whichever way it reads.
#[tokio::test]
async fn errors_keep_their_kind() {
    async fn read(way: usize, mut response: Response) -> reqwest::Error {
        match way {
            0 => response.bytes().await.unwrap_err(),
            1 => response.json::<()>().await.unwrap_err(),
            2 => response.chunk().await.unwrap_err(),
            _ => futures_util::StreamExt::next(&mut response.bytes_stream())
                .await
                .unwrap()
                .unwrap_err(),
        }
    }
    for kind in [
        io::ErrorKind::TimedOut,
        io::ErrorKind::InvalidData,
        io::ErrorKind::UnexpectedEof,
    ] {
        for way in 0..4 {
            let bare = read(way, scripted([Step::Break(kind)], false)).await;
            let watched = read(way, Ear::default().watch(scripted([Step::Break(kind)], false))).await;
            assert_eq!(flags(&watched), flags(&bare), "{kind} read by way {way}");
        }
    }
}

#[tokio::test]
async fn the_response_stays_the_same() {
    let ear = Ear::default();
    let response = ear.watch(response_with("hello", 206));
    assert_eq!(response.url().as_str(), "https://user@stock.example/items?q=1");
    assert_eq!(response.status(), 206);
    assert_eq!(response.version(), Version::HTTP_2);
    assert_eq!(response.headers()["x-kept"], "header");
    assert_eq!(response.headers().len(), 1);
    assert_eq!(response.extensions().get::<u8>(), Some(&7));
    assert!(response.extensions().get::<hyper::ext::ReasonPhrase>().is_some());
    assert_eq!(
        response.extensions().len(),
        2,
        "the url must not stay behind as an extension"
    );
    assert_eq!(response.content_length(), Some(5));
    assert!(ear.heard().is_empty());
    assert_eq!(response.text().await.unwrap(), "hello");
}

#[tokio::test]
async fn trailers_pass() {
    let ear = Ear::default();
    let response = ear.watch(scripted([Step::Data("hello"), Step::Trailers], false));
    let body = http::Response::<reqwest::Body>::from(response)
        .into_body()
        .collect()
        .await
        .unwrap();
    assert_eq!(body.trailers().unwrap()["etag"], "v1");
    assert_eq!(body.to_bytes(), "hello");
    assert_eq!(ear.heard(), FINE);
}

#[tokio::test]
async fn no_body_is_fine_at_once() {
    for (response, what) in [
        (response_with("", 200), "no bytes"),
        (scripted([], true), "an end with the headers"),
        (scripted([], false), "a body of unknown length"),
        (response_with("", 204), "204"),
        (response_with("", 304), "304"),
        (response_with("", 101), "an upgrade"),
    ] {
        let ear = Ear::default();
        let response = ear.watch(response);
        match what {
            "a body of unknown length" => assert!(ear.heard().is_empty()),
            what => assert_eq!(ear.heard(), FINE, "{what}"),
        }
        assert_eq!(response.url().path(), "/items");
        assert_eq!(response.bytes().await.unwrap(), "");
        assert_eq!(ear.heard(), FINE, "{what}");
    }
}

/// A panicking thread that drops a response must unwind, not abort.
#[tokio::test]
async fn a_report_that_panics_is_contained_also_while_unwinding() {
    let calls = Arc::new(AtomicUsize::new(0));
    let watched = || {
        let calls = Arc::clone(&calls);
        watch(scripted([Step::Data("hello")], false), move |_| {
            calls.fetch_add(1, Ordering::Relaxed);
            panic!("the report panics");
        })
    };
    drop(watched());
    assert_eq!(watched().text().await.unwrap(), "hello");
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let _response = watched();
        panic!("the caller panics");
    }));
    assert_eq!(unwound.unwrap_err().downcast_ref::<&str>(), Some(&"the caller panics"));
    assert_eq!(calls.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn a_body_that_panics_reports_once() {
    let ear = Ear::default();
    let response = ear.watch(scripted([Step::Panic], false));
    assert!(tokio::spawn(response.bytes()).await.unwrap_err().is_panic());
    assert_eq!(ear.heard(), FINE);
}

/// Serves these bytes on every connection and closes it, on a thread that ends with the process.
fn serve(bytes: &'static [u8]) -> String {
    use std::io::{Read, Write};

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/items", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            stream.write_all(bytes).ok();
        }
    });
    url
}

/// What a real connection does to a body, with and without the wrapper.
#[tokio::test]
async fn real_bodies_end_as_they_did() {
    rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
    let client = reqwest::Client::builder()
        .no_proxy()
        .pool_max_idle_per_host(0)
        .build()
        .unwrap();
    let broken = |kind| [BodyEnd::Broken(kind)];
    for (bytes, expected) in [
        (&b"HTTP/1.1 200 Fine\r\ncontent-length: 3\r\n\r\nabc"[..], FINE),
        (b"HTTP/1.1 200 Fine\r\nconnection: close\r\n\r\nabc", FINE),
        (b"HTTP/1.1 200 Fine\r\ncontent-length: 0\r\n\r\n", FINE),
        (
            b"HTTP/1.1 200 Fine\r\ncontent-length: 9\r\n\r\nabc",
            broken(Some(FailureKind::Body)),
        ),
        (
            b"HTTP/1.1 200 Fine\r\ntransfer-encoding: chunked\r\n\r\nxyz",
            broken(Some(FailureKind::Body)),
        ),
        (
            b"HTTP/1.1 200 Fine\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc",
            broken(None),
        ),
    ] {
        let url = serve(bytes);
        let bare = client.get(&url).send().await.unwrap();
        let ear = Ear::default();
        let watched = ear.watch(client.get(&url).send().await.unwrap());
        assert_eq!(watched.url(), bare.url());
        assert_eq!(watched.remote_addr(), bare.remote_addr());
        assert!(watched.remote_addr().is_some());
        assert_eq!(watched.content_length(), bare.content_length());
        assert_eq!(watched.headers(), bare.headers());
        assert_eq!(watched.extensions().len(), bare.extensions().len());

        let (bare, watched) = (bare.bytes().await, watched.bytes().await);
        assert_eq!(ear.heard(), expected);
        assert_eq!(watched.as_ref().ok(), bare.as_ref().ok());
        let (bare, watched) = (bare.err(), watched.err());
        assert_eq!(watched.as_ref().map(flags), bare.as_ref().map(flags));
        // Whoever reads the body in the stack, outside of the wrapper, comes to the same conclusion.
        assert_eq!(
            watched.map(|error| FailureKind::of(&error.into())),
            bare.map(|error| FailureKind::of(&error.into()))
        );
    }
}
