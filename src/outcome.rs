//! WHAT happened? One outcome in, one verdict out.
//!
//! A call ends with a response, with an error, or with a body that breaks after a good start. The outcome is all three
//! in one shape: what was answered, if anything was, and what kind of failure it is, if it is one of the upstream's.
//! A [`Classifier`](crate::Classifier) turns it into a verdict and needs to know nothing of how reqwest nests its errors.

use http::{HeaderMap, StatusCode};
use url::Url;

use crate::error::chain;
use crate::verdict::FailureKind;

pub(crate) mod classifier;
pub(crate) mod end_of_body;
mod faults;
pub(crate) mod retry_after;
mod verdict_at;

pub use self::classifier::{Classifier, ConnectionFailures, DefaultClassifier};
pub use self::verdict_at::VerdictAt;

/// How one logical call ended, as a [`Classifier`](crate::Classifier) sees it.
///
/// There are three shapes. A **response** has a status and headers. An **error** has the error, and a status if it was
/// made from a response (`error_for_status` inside the stack). A **body that broke** after a good start, heard only under
/// [`VerdictAt::EndOfBody`](crate::VerdictAt::EndOfBody), has neither: its status was a good one, and no rule about
/// statuses may hide the failure.
///
/// # Examples
///
/// A classifier of one's own, tested without a network:
///
/// ```
/// use reqwest::{StatusCode, header::HeaderMap};
/// use reqwest_circuit_breaker::{Classifier, FailureKind, Outcome, Verdict};
///
/// let too_busy = |outcome: &Outcome<'_>| match outcome.status() {
///     Some(StatusCode::TOO_MANY_REQUESTS) => Verdict::Failure(FailureKind::Other),
///     _ => match outcome.failure_kind() {
///         Some(kind) => Verdict::Failure(kind),
///         None if outcome.answered() => Verdict::Success,
///         None => Verdict::Ignored,
///     },
/// };
///
/// let headers = HeaderMap::new();
/// let busy = Outcome::of_response(StatusCode::TOO_MANY_REQUESTS, &headers);
/// assert_eq!(too_busy.classify(&busy), Verdict::Failure(FailureKind::Other));
/// let missing = Outcome::of_response(StatusCode::NOT_FOUND, &headers);
/// assert_eq!(too_busy.classify(&missing), Verdict::Success);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Outcome<'a> {
    status: Option<StatusCode>,
    headers: Option<&'a HeaderMap>,
    error: Option<&'a reqwest_middleware::Error>,
    failure_kind: Option<FailureKind>,
    answer: Answer,
}

/// What is known about an answer of the upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    /// None is known of.
    None,
    /// It began, but could not be used to its end: its body broke, or its content encoding was corrupt.
    Broken,
    /// It was received: a response, or an error that could only be made from one.
    Received,
}

/// # Making one
impl<'a> Outcome<'a> {
    /// Makes the outcome of a call that ended with a response.
    ///
    /// ```
    /// use reqwest::{StatusCode, header::HeaderMap};
    /// use reqwest_circuit_breaker::{FailureKind, Outcome};
    ///
    /// let headers = HeaderMap::new();
    /// let outcome = Outcome::of_response(StatusCode::BAD_GATEWAY, &headers);
    /// assert_eq!(outcome.status(), Some(StatusCode::BAD_GATEWAY));
    /// assert_eq!(outcome.failure_kind(), Some(FailureKind::Status(StatusCode::BAD_GATEWAY)));
    /// assert!(outcome.answered());
    /// ```
    #[inline]
    pub fn of_response(status: StatusCode, headers: &'a HeaderMap) -> Self {
        Self {
            status: Some(status),
            headers: Some(headers),
            error: None,
            failure_kind: failing(status),
            answer: Answer::Received,
        }
    }

    /// Makes the outcome of a call that ended with an error.
    ///
    /// ```
    /// use reqwest_circuit_breaker::Outcome;
    ///
    /// let error = reqwest_middleware::Error::middleware(std::io::Error::other("no token for this tenant"));
    /// let outcome = Outcome::of_error(&error);
    /// assert!(outcome.error().is_some());
    /// assert!(outcome.failure_kind().is_none());
    /// assert!(!outcome.answered());
    /// ```
    pub fn of_error(error: &'a reqwest_middleware::Error) -> Self {
        let fault = faults::of_error(error);
        Self {
            status: fault.status,
            headers: None,
            error: Some(error),
            failure_kind: fault.kind,
            answer: fault.answer,
        }
    }

    /// Makes the outcome of a call *to an `http` or `https` URL* that ended with an error. `is_ours` tells whether a URL
    /// has the origin that was asked.
    ///
    /// Knowing what was asked for, two more errors can be told. reqwest's refusal to follow a redirect to another scheme
    /// proves an answer of the upstream; and since reqwest keeps the URL first asked for, an error with another origin's
    /// was made by another middleware that went somewhere on its own, to fetch a token, say.
    pub(crate) fn of_protected(error: &'a reqwest_middleware::Error, is_ours: impl FnOnce(&Url) -> bool) -> Self {
        let mut outcome = Self::of_error(error);
        if faults::leads_out_of_http(error) {
            outcome.answer = Answer::Received;
        } else if outcome.answer == Answer::None && !outcome.url().is_none_or(is_ours) {
            outcome.failure_kind = None;
        }
        outcome
    }

    /// Makes the outcome of a call whose body broke after a good start. Without a kind, what went wrong was not the
    /// upstream's transport.
    pub(crate) fn of_broken_body(failure_kind: Option<FailureKind>) -> Self {
        Self {
            status: None,
            headers: None,
            error: None,
            failure_kind,
            answer: Answer::Broken,
        }
    }
}

/// # Asking it
impl<'a> Outcome<'a> {
    /// Returns the status that the upstream answered with: of the response, or of an error that was made from one.
    #[inline]
    pub fn status(&self) -> Option<StatusCode> {
        self.status
    }

    /// Returns the headers of the response, if the call ended with one.
    ///
    /// ```
    /// use reqwest::{StatusCode, header::{HeaderMap, HeaderValue, RETRY_AFTER}};
    /// use reqwest_circuit_breaker::Outcome;
    ///
    /// let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static("120"))]);
    /// let outcome = Outcome::of_response(StatusCode::SERVICE_UNAVAILABLE, &headers);
    /// assert!(outcome.headers().is_some_and(|headers| headers.contains_key(RETRY_AFTER)));
    /// ```
    #[inline]
    pub fn headers(&self) -> Option<&'a HeaderMap> {
        self.headers
    }

    /// Returns the error, if the call ended with one: as the caller gets it, with all that wraps it.
    #[inline]
    pub fn error(&self) -> Option<&'a reqwest_middleware::Error> {
        self.error
    }

    /// Returns the kind of failure, if this is one of the upstream's: a 5xx, or an error for which
    /// [`FailureKind::of`] finds a kind.
    #[inline]
    pub fn failure_kind(&self) -> Option<FailureKind> {
        self.failure_kind
    }

    /// Returns `true` if the upstream is known to have answered, whatever the answer: with a response, with a body that
    /// broke later, or with what made an error that needs an answer (a redirect loop, `error_for_status`).
    #[inline]
    pub fn answered(&self) -> bool {
        self.answer != Answer::None
    }

    /// The URL that gave the answer which the error was made from. A redirect that was not followed has none: its error
    /// may name a URL that nobody went to.
    pub(crate) fn answering_url(&self) -> Option<&'a Url> {
        let made_from_one = self.status.is_some() || self.answer == Answer::Broken;
        made_from_one.then(|| self.url()).flatten()
    }

    fn url(&self) -> Option<&'a Url> {
        self.error
            .and_then(|error| chain::of_the_call(error))
            .and_then(reqwest::Error::url)
    }

    /// Returns `true` if the answer was received, so that the call is a success unless its status says otherwise.
    #[inline]
    fn received(&self) -> bool {
        self.answer == Answer::Received
    }
}

/// The failure kind of a status: any 5xx is one.
#[inline]
fn failing(status: StatusCode) -> Option<FailureKind> {
    status.is_server_error().then_some(FailureKind::Status(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_5xx_is_a_failing_status() {
        let headers = HeaderMap::new();
        for code in 100..=999 {
            let status = StatusCode::from_u16(code).unwrap();
            let outcome = Outcome::of_response(status, &headers);
            let expected = (500..600).contains(&code).then_some(FailureKind::Status(status));
            assert_eq!(outcome.failure_kind(), expected, "{code}");
            assert!(outcome.answered());
        }
    }

    #[test]
    fn a_response_has_its_status_and_headers_and_no_error() {
        let headers = HeaderMap::from_iter([(http::header::RETRY_AFTER, http::HeaderValue::from_static("120"))]);
        let outcome = Outcome::of_response(StatusCode::SERVICE_UNAVAILABLE, &headers);
        assert_eq!(outcome.status(), Some(StatusCode::SERVICE_UNAVAILABLE));
        assert_eq!(outcome.headers(), Some(&headers));
        assert!(outcome.error().is_none());
    }

    #[test]
    fn a_broken_body_has_a_kind_and_neither_status_nor_error() {
        let outcome = Outcome::of_broken_body(Some(FailureKind::Body));
        assert_eq!(outcome.failure_kind(), Some(FailureKind::Body));
        assert!(outcome.answered());
        assert!(outcome.status().is_none() && outcome.headers().is_none() && outcome.error().is_none());
    }

    /// The error of a request to this URL, which reqwest refuses to send.
    async fn refused(url: &str) -> reqwest_middleware::Error {
        rustls::crypto::aws_lc_rs::default_provider().install_default().ok();
        let client = reqwest::Client::builder().no_proxy().https_only(true).build().unwrap();
        client.get(url).send().await.unwrap_err().into()
    }

    #[tokio::test]
    async fn a_way_out_of_http_proves_an_answer_if_the_request_was_one_of_http() {
        for url in ["ftp://stock.example/", "foo://stock.example/"] {
            let error = refused(url).await;
            assert!(!Outcome::of_error(&error).answered());
            assert!(Outcome::of_protected(&error, |_| true).received());
            assert_eq!(Outcome::of_protected(&error, |_| true).failure_kind(), None);
        }
    }

    #[tokio::test]
    async fn a_request_that_could_not_be_made_proves_nothing() {
        for url in ["http://stock.example/", "not a URL"] {
            let error = refused(url).await;
            assert!(!Outcome::of_protected(&error, |_| true).answered(), "{error:?}");
        }
        let foreign = reqwest_middleware::Error::middleware(std::io::Error::other("ftp://stock.example/"));
        assert!(!Outcome::of_protected(&foreign, |_| true).answered());
    }
}
