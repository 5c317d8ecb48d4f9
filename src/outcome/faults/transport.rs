//! Faults of an exchange over a connection that stands: before the response, and in its body.

use std::error::Error;
use std::io;

use super::local;
use crate::error::chain::chain;
use crate::verdict::FailureKind;

/// The kind of an error that ended an exchange before its response. `cause` is what the HTTP client gave as the reason.
pub(super) fn of_exchange(call: &reqwest::Error, cause: &(dyn Error + 'static)) -> Option<FailureKind> {
    let hyper = first::<hyper::Error>(cause)?;
    if is_callers(hyper) {
        return None;
    }
    // A request that was never begun is *canceled*, by what had happened to its connection before.
    let hyper = if hyper.is_canceled() {
        hyper.source().and_then(first).unwrap_or(hyper)
    } else {
        hyper
    };
    if call.is_timeout() || hyper.is_timeout() {
        return Some(FailureKind::Timeout);
    }
    if let Some(kind) = of_http2(hyper) {
        return Some(kind);
    }
    let Some(below) = hyper.source() else {
        // Of those without a cause, two are ends of the connection. The others are bytes that could not be understood or
        // were not expected.
        let ended = hyper.is_incomplete_message() || hyper.is_closed();
        return Some(if ended {
            FailureKind::Disconnect
        } else {
            FailureKind::Protocol
        });
    };
    Some(match below.downcast_ref::<io::Error>() {
        // A TLS alert after the handshake, as TLS 1.3 refuses a client's certificate.
        Some(io) if is_from_tls(io) => FailureKind::Tls,
        _ => FailureKind::Disconnect,
    })
}

/// The kind of an error that broke the body of a response.
pub(super) fn of_body(error: &reqwest::Error) -> Option<FailureKind> {
    let hyper = first::<hyper::Error>(error);
    if hyper.is_some_and(is_callers) {
        return None;
    }
    if error.is_timeout() || hyper.is_some_and(hyper::Error::is_timeout) {
        return Some(FailureKind::Timeout);
    }
    // Without an error of hyper the bytes arrived, and it was their content that could not be decoded.
    hyper.map(|_| FailureKind::Body)
}

/// Returns `true` if the caller's side is to blame: its body stream, its runtime, its machine, its own reset.
fn is_callers(hyper: &hyper::Error) -> bool {
    hyper.is_user() || local::exhausted(hyper) || is_local_reset(hyper)
}

/// Returns `true` if an I/O error carries one of the TLS library. An end of the file is no alert, although rustls
/// explains it in the same way.
fn is_from_tls(error: &io::Error) -> bool {
    error.get_ref().is_some() && matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::Other)
}

#[cfg(feature = "http2")]
fn of_http2(hyper: &hyper::Error) -> Option<FailureKind> {
    // An I/O error of the connection is hyper's own, without one of HTTP/2 around it.
    let h2 = first::<h2::Error>(hyper)?;
    Some(if h2.is_library() {
        FailureKind::Protocol
    } else {
        FailureKind::Disconnect
    })
}

#[cfg(not(feature = "http2"))]
fn of_http2(_: &hyper::Error) -> Option<FailureKind> {
    None
}

/// Returns `true` if a stream was reset by the client itself, which is how HTTP/2 ends a body stream that failed.
#[cfg(feature = "http2")]
fn is_local_reset(hyper: &hyper::Error) -> bool {
    first::<h2::Error>(hyper).is_some_and(|h2| !h2.is_remote() && !h2.is_library() && !h2.is_io())
}

#[cfg(not(feature = "http2"))]
fn is_local_reset(_: &hyper::Error) -> bool {
    false
}

fn first<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    chain(error).find_map(|error| error.downcast_ref())
}

#[cfg(test)]
mod tests;
