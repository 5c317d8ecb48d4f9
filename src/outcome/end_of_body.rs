//! The end of a response body, told once.
//!
//! Good headers are half an answer: an upstream that dies in the middle of every body has answered nobody. Where a
//! breaker is asked to wait for the end, the body is wrapped and says how it ended, whatever the caller does with it:
//! read it whole, drop it unread, or drop the response while panicking.
//!
//! The wrapper passes frames, trailers, size hint and errors on. Going through `http::Response` costs a few allocations
//! and puts two more layers of reqwest's *body error* between a broken body's error and its cause; its kind
//! (`is_decode`) and `is_timeout` stay as they were.

use std::fmt;
use std::mem;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll, ready};

use http::StatusCode;
use hyper::body::{Body, Frame, SizeHint};
use reqwest::{Response, ResponseBuilderExt};

use crate::foreign::contained;
use crate::verdict::FailureKind;

/// How a body ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyEnd {
    /// Read to its end, or given up by the caller.
    Fine,
    /// It broke or timed out. Without a kind that was not the transport's fault: its content could not be decoded.
    Broken(Option<FailureKind>),
}

/// Returns the same response, whose body calls `report` exactly once, when it ends. A response without a body reports
/// at once and is returned as it is.
pub(crate) fn watch(response: Response, report: impl FnOnce(BodyEnd) + Send + 'static) -> Response {
    let mut report = Report::new(report);
    if has_no_body(&response) {
        report.send(BodyEnd::Fine);
        return response;
    }
    let url = response.url().clone();
    let (mut parts, inner) = http::Response::<reqwest::Body>::from(response).into_parts();
    if let Some(extensions) = http::Response::builder().url(url).extensions_mut() {
        parts.extensions.extend(mem::take(extensions));
    }
    if inner.is_end_stream() {
        // HTTP/2 may announce a length and end with the headers, in the answer to a HEAD.
        report.send(BodyEnd::Fine);
        return http::Response::from_parts(parts, inner).into();
    }
    http::Response::from_parts(parts, reqwest::Body::wrap(WatchedBody { inner, report })).into()
}

/// Returns `true` if the response is known to have no body without looking into it. An upgraded connection is not a body.
fn has_no_body(response: &Response) -> bool {
    matches!(
        response.status(),
        StatusCode::SWITCHING_PROTOCOLS | StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED
    ) || response.content_length() == Some(0)
}

/// A body that says how it ended.
struct WatchedBody<F: FnOnce(BodyEnd)> {
    inner: reqwest::Body,
    report: Report<F>,
}

impl<F: FnOnce(BodyEnd) + Send + 'static> Body for WatchedBody<F> {
    type Data = <reqwest::Body as Body>::Data;
    type Error = reqwest::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = self.get_mut();
        let frame = ready!(Pin::new(&mut this.inner).poll_frame(context));
        match &frame {
            // Many readers stop as soon as the body says that this was all, and never ask for the end itself.
            Some(Ok(_)) if !this.inner.is_end_stream() => {}
            Some(Ok(_)) | None => this.report.send(BodyEnd::Fine),
            Some(Err(error)) => this.report.send(BodyEnd::Broken(FailureKind::of_body(error))),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// Calls back once: when told to, or else when it is dropped. A panic of the callback is contained, because a second one
/// in a drop while unwinding would abort the process.
struct Report<F: FnOnce(BodyEnd)>(
    /// `reqwest::Body` must be `Sync`, which the callback need not be. Nobody ever waits for this lock.
    Mutex<Option<F>>,
);

/// The callback is moved out and called, never pinned.
impl<F: FnOnce(BodyEnd)> Unpin for Report<F> {}

impl<F: FnOnce(BodyEnd)> Report<F> {
    fn new(callback: F) -> Self {
        Self(Mutex::new(Some(callback)))
    }

    fn send(&mut self, end: BodyEnd) {
        let callback = match self.0.get_mut() {
            Ok(callback) => callback.take(),
            Err(poisoned) => poisoned.into_inner().take(),
        };
        if let Some(callback) = callback {
            contained(|| callback(end));
        }
    }
}

impl<F: FnOnce(BodyEnd)> Drop for Report<F> {
    fn drop(&mut self) {
        self.send(BodyEnd::Fine);
    }
}

impl<F: FnOnce(BodyEnd)> fmt::Debug for Report<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Report").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
