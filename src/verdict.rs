//! What a call said about its upstream.
//!
//! The outcome side makes a verdict and the state machine acts on it; neither needs to know the other.

use std::fmt;

use http::StatusCode;

/// What one logical call said about its upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// The upstream answered. A 404, a 429 and a redirect are answers too.
    Success,
    /// The upstream could not answer.
    Failure(FailureKind),
    /// The call says nothing about the upstream: what went wrong was the caller's own.
    Ignored,
}

/// What kind of failure of the upstream ended a call.
///
/// [`FailureKind::of`] tells it from an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FailureKind {
    /// No connection: refused, no route, a proxy or tunnel that would not.
    Connect,
    /// No connection in time.
    ConnectTimeout,
    /// The name could not be resolved.
    Dns,
    /// The TLS handshake failed: certificate, name, protocol, or a peer that hung up in it.
    Tls,
    /// No answer in time, or a body that stopped coming.
    Timeout,
    /// The connection or the stream was cut before the answer.
    Disconnect,
    /// The answer was not HTTP.
    Protocol,
    /// The answer's status was a failing one, by default any 5xx.
    Status(StatusCode),
    /// The body broke after a good start. Only under [`VerdictAt::EndOfBody`](crate::VerdictAt::EndOfBody).
    Body,
    /// A probe succeeded but was slower than a slow-call policy allows.
    Slow,
    /// The caller gave up after [`abandoned_after`](crate::CircuitBreakerConfigBuilder::abandoned_after).
    Abandoned,
    /// Any other failure, as a classifier of yours says.
    Other,
}

impl FailureKind {
    /// How many names [`as_str`](Self::as_str) has.
    pub(crate) const NAMES: [&'static str; 12] = [
        "connect",
        "connect_timeout",
        "dns",
        "tls",
        "timeout",
        "disconnect",
        "protocol",
        "status",
        "body",
        "slow",
        "abandoned",
        "other",
    ];

    /// Position of the kind's name in [`Self::NAMES`].
    pub(crate) const fn index(self) -> usize {
        match self {
            Self::Connect => 0,
            Self::ConnectTimeout => 1,
            Self::Dns => 2,
            Self::Tls => 3,
            Self::Timeout => 4,
            Self::Disconnect => 5,
            Self::Protocol => 6,
            Self::Status(_) => 7,
            Self::Body => 8,
            Self::Slow => 9,
            Self::Abandoned => 10,
            Self::Other => 11,
        }
    }

    /// Returns the kind's name in `snake_case`, as logs, metrics and JSON show it: every status is `"status"`.
    ///
    /// ```
    /// use reqwest_circuit_breaker::FailureKind;
    ///
    /// assert_eq!(FailureKind::ConnectTimeout.as_str(), "connect_timeout");
    /// ```
    pub const fn as_str(self) -> &'static str {
        Self::NAMES[self.index()]
    }

    /// Returns `true` if no connection came about: [`Connect`](Self::Connect),
    /// [`ConnectTimeout`](Self::ConnectTimeout), [`Dns`](Self::Dns) or [`Tls`](Self::Tls).
    ///
    /// Such a failure is the whole host's, whichever endpoint was asked for.
    ///
    /// ```
    /// use reqwest_circuit_breaker::FailureKind;
    ///
    /// assert!(FailureKind::Dns.is_connection_failure());
    /// assert!(!FailureKind::Timeout.is_connection_failure());
    /// ```
    pub const fn is_connection_failure(self) -> bool {
        matches!(self, Self::Connect | Self::ConnectTimeout | Self::Dns | Self::Tls)
    }
}

impl fmt::Display for FailureKind {
    /// Shows the name, and a status with its code: `status 503`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "status {}", status.as_str()),
            kind => f.pad(kind.as_str()),
        }
    }
}

/// Serializes as it is displayed: `"timeout"`, `"status 503"`.
#[cfg(feature = "serde")]
impl serde::Serialize for FailureKind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_name_of_its_own() {
        let kinds = [
            FailureKind::Connect,
            FailureKind::ConnectTimeout,
            FailureKind::Dns,
            FailureKind::Tls,
            FailureKind::Timeout,
            FailureKind::Disconnect,
            FailureKind::Protocol,
            FailureKind::Status(StatusCode::BAD_GATEWAY),
            FailureKind::Body,
            FailureKind::Slow,
            FailureKind::Abandoned,
            FailureKind::Other,
        ];
        assert_eq!(kinds.map(FailureKind::as_str), FailureKind::NAMES);
    }
}
