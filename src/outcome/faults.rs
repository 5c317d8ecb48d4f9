//! From an error of the stack to the kind of failure it is, or to none.
//!
//! The predicates of `reqwest::Error` are not enough. They see nothing through a retry middleware, `is_timeout()` is true
//! for a body stream of the caller's own that timed out, and `is_connect()` is true when this machine has run out of
//! file descriptors. So the question *whose fault?* is asked first, and *which?* only of what is left.

use std::error::Error;
use std::io;

use http::StatusCode;
use hyper_util::client::legacy;

use super::{Answer, failing};
use crate::error::chain::{self, chain};
use crate::verdict::FailureKind;

mod connect;
mod local;
mod transport;

impl FailureKind {
    /// Tells the kind of failure that an error is, or `None` if it is not the upstream's.
    ///
    /// Sees through `reqwest_retry::RetryError` (feature `retry`), `anyhow` context, and any wrapper whose `source()` is
    /// what it wraps. A wrapper that is transparent (`#[error(transparent)]`) and not known here hides the error: it is
    /// then `None`.
    ///
    /// Without the feature `http2`, a body stream of the caller's that failed over HTTP/2 is taken for a disconnect.
    ///
    /// `None` are the errors of other middlewares, a rejection by a breaker, a request that could not be built, a body
    /// stream of the caller's that failed, a local exhaustion (file descriptors, ports), a redirect error (the upstream
    /// answered), and a body that arrived whole but could not be decoded.
    ///
    /// # Examples
    ///
    /// ```
    /// use reqwest_circuit_breaker::FailureKind;
    ///
    /// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    /// # runtime.block_on(async {
    /// // Nobody listens on a port that was just given back.
    /// let address = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    /// let client = reqwest::Client::builder().no_proxy().build()?;
    /// let error = client.get(format!("http://{address}/")).send().await.unwrap_err();
    /// assert_eq!(FailureKind::of(&error.into()), Some(FailureKind::Connect));
    ///
    /// let error = client.get("not a URL").send().await.unwrap_err();
    /// assert_eq!(FailureKind::of(&error.into()), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(error: &reqwest_middleware::Error) -> Option<Self> {
        of_error(error).kind
    }

    /// Tells the kind of failure of a response body that broke.
    pub(crate) fn of_body(error: &reqwest::Error) -> Option<Self> {
        transport::of_body(error)
    }
}

/// What an error says about the upstream.
pub(super) struct Fault {
    pub(super) kind: Option<FailureKind>,
    pub(super) status: Option<StatusCode>,
    pub(super) answer: Answer,
}

impl Fault {
    /// Nothing: it is somebody else's.
    const FOREIGN: Self = Self {
        kind: None,
        status: None,
        answer: Answer::None,
    };
}

pub(super) fn of_error(error: &reqwest_middleware::Error) -> Fault {
    let Some(call) = chain::of_the_call(error) else {
        return Fault::FOREIGN;
    };
    if let Some(status) = call.status() {
        return Fault {
            kind: failing(status),
            status: Some(status),
            answer: Answer::Received,
        };
    }
    // Before the rejection: a redirect that a breaker stopped was an answer of the one that sent it.
    if call.is_redirect() {
        return Fault {
            answer: Answer::Received,
            ..Fault::FOREIGN
        };
    }
    if chain::rejection(error).is_some() {
        return Fault::FOREIGN;
    }
    if call.is_request() {
        return Fault {
            kind: of_request(call),
            ..Fault::FOREIGN
        };
    }
    if call.is_decode() || call.is_body() {
        return Fault {
            kind: transport::of_body(call),
            status: None,
            answer: Answer::Broken,
        };
    }
    Fault::FOREIGN
}

/// Returns `true` if the error is reqwest's refusal to go to a URL that is neither `http` nor `https`.
pub(super) fn leads_out_of_http(error: &reqwest_middleware::Error) -> bool {
    chain::of_the_call(error)
        .filter(|call| call.is_builder())
        .and_then(reqwest::Error::url)
        .is_some_and(|url| !matches!(url.scheme(), "http" | "https"))
}

/// The kind of an error that came instead of a response.
fn of_request(call: &reqwest::Error) -> Option<FailureKind> {
    match chain(call).find_map(|error| error.downcast_ref::<legacy::Error>()) {
        Some(client) if client.is_connect() => connect::of(call, client),
        // Without a source it is a request that this client can't send: an HTTP version, a method.
        Some(client) => transport::of_exchange(call, client.source()?),
        // A total or read timeout cuts from outside and has nothing below it.
        None => call.is_timeout().then_some(FailureKind::Timeout),
    }
}

/// Finds the innermost I/O error: the operating system's own, if there is one.
fn innermost_io<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a io::Error> {
    chain(error).filter_map(|error| error.downcast_ref()).last()
}
