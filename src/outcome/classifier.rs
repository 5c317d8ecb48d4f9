//! The decision what an outcome says about its upstream.
//!
//! A breaker for an endpoint and one for a whole host hear the same outcomes and must draw different conclusions, and a
//! service may know of statuses that mean something else in its own world. So the decision is one small trait: a pure
//! function of the outcome, called outside every lock.

use std::sync::Arc;

use http::StatusCode;

use super::Outcome;
use crate::verdict::{FailureKind, Verdict};

/// Decides what an outcome says about its upstream.
///
/// Closures are classifiers, and so is an `Arc` of one. It is called once for each logical call, and once more
/// for a body that breaks under [`VerdictAt::EndOfBody`](crate::VerdictAt::EndOfBody), on the thread that ends the call:
/// it should be quick. A panic in it is the caller's.
///
/// # Examples
///
/// A maintenance page is no failure; all else goes by the default:
///
/// ```
/// use http::{HeaderMap, StatusCode};
/// use reqwest_circuit_breaker::{Classifier, DefaultClassifier, FailureKind, Outcome, Verdict};
///
/// fn takes(classifier: impl Classifier, headers: &HeaderMap) -> Verdict {
///     classifier.classify(&Outcome::of_response(StatusCode::SERVICE_UNAVAILABLE, headers))
/// }
///
/// let usual = DefaultClassifier::default();
/// let classifier = move |outcome: &Outcome<'_>| match outcome.headers() {
///     Some(headers) if headers.contains_key("x-maintenance") => Verdict::Ignored,
///     _ => usual.classify(outcome),
/// };
///
/// let mut headers = HeaderMap::new();
/// assert_eq!(
///     takes(classifier.clone(), &headers),
///     Verdict::Failure(FailureKind::Status(StatusCode::SERVICE_UNAVAILABLE))
/// );
/// headers.insert("x-maintenance", "1".parse().unwrap());
/// assert_eq!(takes(classifier, &headers), Verdict::Ignored);
/// ```
pub trait Classifier: Send + Sync + 'static {
    /// Returns what `outcome` says about its upstream.
    fn classify(&self, outcome: &Outcome<'_>) -> Verdict;
}

impl<F> Classifier for F
where
    F: for<'o, 'a> Fn(&'o Outcome<'a>) -> Verdict + Send + Sync + 'static,
{
    fn classify(&self, outcome: &Outcome<'_>) -> Verdict {
        self(outcome)
    }
}

impl<C: Classifier + ?Sized> Classifier for Arc<C> {
    fn classify(&self, outcome: &Outcome<'_>) -> Verdict {
        (**self).classify(outcome)
    }
}

/// The usual rules: a 5xx and every fault of the transport is a failure, any other answer is a success, and what is the
/// caller's own is ignored.
///
/// The statuses 429 and 404 are successes: the upstream works. So is a redirect error (a loop, too many): it answered.
///
/// # Precedence
///
/// *Ignored* beats *failing*, *failing* beats *successful*, and each of them beats the usual rules. The order in which
/// they are set does not matter. A rule about a status holds for an error that carries that status too
/// (`error_for_status` inside the stack), and never for a body that broke after that status.
///
/// # Examples
///
/// ```
/// use http::{HeaderMap, StatusCode};
/// use reqwest_circuit_breaker::{Classifier, DefaultClassifier, FailureKind, Outcome, Verdict};
///
/// let classifier = DefaultClassifier::default()
///     .failing_status(StatusCode::TOO_MANY_REQUESTS)
///     .successful_status(StatusCode::NOT_IMPLEMENTED)
///     .ignored_status(StatusCode::SERVICE_UNAVAILABLE)
///     .failing_status(StatusCode::SERVICE_UNAVAILABLE);
///
/// let headers = HeaderMap::new();
/// let verdict = |status| classifier.classify(&Outcome::of_response(status, &headers));
/// assert_eq!(
///     verdict(StatusCode::TOO_MANY_REQUESTS),
///     Verdict::Failure(FailureKind::Status(StatusCode::TOO_MANY_REQUESTS))
/// );
/// assert_eq!(verdict(StatusCode::NOT_IMPLEMENTED), Verdict::Success);
/// assert_eq!(verdict(StatusCode::SERVICE_UNAVAILABLE), Verdict::Ignored);
/// assert_eq!(verdict(StatusCode::OK), Verdict::Success);
/// ```
#[derive(Clone, Debug, Default)]
pub struct DefaultClassifier {
    ignored: Vec<StatusCode>,
    failing: Vec<StatusCode>,
    successful: Vec<StatusCode>,
    ignored_kinds: Vec<FailureKind>,
}

impl DefaultClassifier {
    /// Makes a status a failure. By default every 5xx is one.
    ///
    /// For an upstream that says with another status that it can't answer.
    ///
    /// ```
    /// use http::{HeaderMap, StatusCode};
    /// use reqwest_circuit_breaker::{Classifier, DefaultClassifier, FailureKind, Outcome, Verdict};
    ///
    /// let status = StatusCode::from_u16(499).unwrap();
    /// let classifier = DefaultClassifier::default().failing_status(status);
    /// let headers = HeaderMap::new();
    /// let verdict = classifier.classify(&Outcome::of_response(status, &headers));
    /// assert_eq!(verdict, Verdict::Failure(FailureKind::Status(status)));
    /// ```
    #[must_use = "it returns the changed classifier"]
    pub fn failing_status(mut self, status: StatusCode) -> Self {
        self.failing.push(status);
        self
    }

    /// Makes a status say nothing about the upstream. By default none is ignored.
    ///
    /// For a status that is neither a sign of health nor of failure, such as a planned maintenance. A probe that ends
    /// with it decides nothing, and the next call is the probe.
    ///
    /// ```
    /// use http::{HeaderMap, StatusCode};
    /// use reqwest_circuit_breaker::{Classifier, DefaultClassifier, Outcome, Verdict};
    ///
    /// let classifier = DefaultClassifier::default().ignored_status(StatusCode::TOO_MANY_REQUESTS);
    /// let headers = HeaderMap::new();
    /// let outcome = Outcome::of_response(StatusCode::TOO_MANY_REQUESTS, &headers);
    /// assert_eq!(classifier.classify(&outcome), Verdict::Ignored);
    /// ```
    #[must_use = "it returns the changed classifier"]
    pub fn ignored_status(mut self, status: StatusCode) -> Self {
        self.ignored.push(status);
        self
    }

    /// Makes a status a success. By default every status outside 5xx is one.
    ///
    /// For an upstream that uses a 5xx for what is wrong with a single request.
    ///
    /// ```
    /// use http::{HeaderMap, StatusCode};
    /// use reqwest_circuit_breaker::{Classifier, DefaultClassifier, Outcome, Verdict};
    ///
    /// let classifier = DefaultClassifier::default().successful_status(StatusCode::NOT_IMPLEMENTED);
    /// let headers = HeaderMap::new();
    /// let outcome = Outcome::of_response(StatusCode::NOT_IMPLEMENTED, &headers);
    /// assert_eq!(classifier.classify(&outcome), Verdict::Success);
    /// ```
    #[must_use = "it returns the changed classifier"]
    pub fn successful_status(mut self, status: StatusCode) -> Self {
        self.successful.push(status);
        self
    }

    /// Makes a kind of failure say nothing about the upstream. By default none is ignored.
    ///
    /// [`FailureKind::Status`] is the same as [`ignored_status`](Self::ignored_status) of its code.
    ///
    /// ```
    /// use http::{HeaderMap, StatusCode};
    /// use reqwest_circuit_breaker::{Classifier, DefaultClassifier, FailureKind, Outcome, Verdict};
    ///
    /// let classifier = DefaultClassifier::default()
    ///     .ignored_kind(FailureKind::Tls) // certificates are somebody else's watch here
    ///     .ignored_kind(FailureKind::Status(StatusCode::NOT_IMPLEMENTED));
    /// let headers = HeaderMap::new();
    /// let outcome = Outcome::of_response(StatusCode::NOT_IMPLEMENTED, &headers);
    /// assert_eq!(classifier.classify(&outcome), Verdict::Ignored);
    /// ```
    #[must_use = "it returns the changed classifier"]
    pub fn ignored_kind(mut self, kind: FailureKind) -> Self {
        match kind {
            FailureKind::Status(status) => self.ignored.push(status),
            kind => self.ignored_kinds.push(kind),
        }
        self
    }

    /// The verdict that a rule about this status gives, if there is a rule.
    fn ruled(&self, status: StatusCode) -> Option<Verdict> {
        if self.ignored.contains(&status) {
            return Some(Verdict::Ignored);
        }
        if self.failing.contains(&status) {
            return Some(Verdict::Failure(FailureKind::Status(status)));
        }
        self.successful.contains(&status).then_some(Verdict::Success)
    }
}

impl Classifier for DefaultClassifier {
    fn classify(&self, outcome: &Outcome<'_>) -> Verdict {
        if let Some(verdict) = outcome.status().and_then(|status| self.ruled(status)) {
            return verdict;
        }
        match outcome.failure_kind() {
            Some(kind) if self.ignored_kinds.contains(&kind) => Verdict::Ignored,
            Some(kind) => Verdict::Failure(kind),
            None if outcome.received() => Verdict::Success,
            None => Verdict::Ignored,
        }
    }
}

/// Counts connection failures only: for a breaker that stands for a whole host, outside of those for its endpoints.
///
/// | outcome | verdict |
/// |---|---|
/// | no connection: refused, no route, no name, no TLS, not in time | failure |
/// | any answer, a 5xx and one whose body broke too | success |
/// | a timeout, a disconnect, bytes that are not HTTP | ignored |
/// | the caller's own fault, a rejection by another breaker | ignored |
///
/// The third row proves neither. A timeout may have passed before or after the connection came about, and one that was
/// cut may have been an old one from the pool, to a host that is gone. Taken as failures, one broken endpoint would
/// cut off the whole host; taken as successes, they would close the breaker of a host that answers nobody.
///
/// # Examples
///
/// ```
/// use http::{HeaderMap, StatusCode};
/// use reqwest_circuit_breaker::{Classifier, ConnectionFailures, Outcome, Verdict};
///
/// let headers = HeaderMap::new();
/// let outcome = Outcome::of_response(StatusCode::SERVICE_UNAVAILABLE, &headers);
/// assert_eq!(ConnectionFailures.classify(&outcome), Verdict::Success);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ConnectionFailures;

impl Classifier for ConnectionFailures {
    fn classify(&self, outcome: &Outcome<'_>) -> Verdict {
        match outcome.failure_kind() {
            Some(kind) if kind.is_connection_failure() => Verdict::Failure(kind),
            _ if outcome.answered() => Verdict::Success,
            _ => Verdict::Ignored,
        }
    }
}

#[cfg(test)]
mod tests;
