//! Faults of making a connection.
//!
//! reqwest's connector gives errors of private types: of TCP, of a CONNECT tunnel, of SOCKS, of the TLS library that was
//! compiled in. TLS libraries are many, so a TLS fault is told by what it is not. The others are told by how they begin to
//! describe themselves. Should a wording change, the kind is named [`Tls`](FailureKind::Tls) instead of
//! [`Connect`](FailureKind::Connect); it stays a connection failure.

use std::error::Error;
use std::fmt::{self, Write};
use std::io;

use hyper_util::client::legacy;

use super::{innermost_io, local};
use crate::verdict::FailureKind;

/// How errors of TCP, of a tunnel and of SOCKS begin.
const NOT_TLS: [&str; 5] = [
    "tcp ",
    "tunnel error",
    "error connecting to socks",
    "error resolving for socks",
    "socks proxy destination",
];

/// How errors begin that come before any packet: a URL that the connector can't use.
const UNUSABLE_URL: [&str; 3] = ["invalid URL", "invalid dns name", "Invalid Server Name"];

/// The kind of a failure to connect, below `client`.
pub(super) fn of(call: &reqwest::Error, client: &legacy::Error) -> Option<FailureKind> {
    let cause = client.source()?;
    if is_this_machines(cause) {
        return None;
    }
    // Before the timeout: a resolver may say of its own that it timed out.
    if call.is_dns() {
        return Some(FailureKind::Dns);
    }
    if call.is_timeout() {
        return Some(FailureKind::ConnectTimeout);
    }
    if let Some(io) = cause.downcast_ref::<io::Error>() {
        return Some(of_bare_io(io));
    }
    if begins_with_any(cause, &UNUSABLE_URL) {
        return None;
    }
    let encrypted = call.url().is_none_or(|url| url.scheme() == "https");
    Some(match encrypted && !begins_with_any(cause, &NOT_TLS) {
        true => FailureKind::Tls,
        false => FailureKind::Connect,
    })
}

/// An I/O error that no layer of the connector has named. rustls gives its own inside one; a plain one is a handshake
/// that the peer cut, or a Unix socket that could not be opened.
fn of_bare_io(error: &io::Error) -> FailureKind {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof};

    let cut = matches!(
        error.kind(),
        BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | UnexpectedEof
    );
    if error.get_ref().is_some() || cut {
        FailureKind::Tls
    } else {
        FailureKind::Connect
    }
}

/// Returns `true` if this machine could not make the connection, whoever was at its other end.
fn is_this_machines(cause: &(dyn Error + 'static)) -> bool {
    local::exhausted(cause) && !lacks_ipv6(cause)
}

/// Returns `true` if the last address that was tried is an IPv6 one, and this machine has no IPv6 to reach it from. The
/// system uses the code of exhausted ports for that too. A name with addresses of both families is tried to its last,
/// so a dead upstream looks like this from a container without IPv6.
fn lacks_ipv6(error: &(dyn Error + 'static)) -> bool {
    innermost_io(error).is_some_and(|io| io.kind() == io::ErrorKind::AddrNotAvailable)
        && begins_with(format_args!("{error:?}"), "ConnectError(\"tcp connect error\", [")
}

fn begins_with_any(error: &(dyn Error + 'static), beginnings: &[&str]) -> bool {
    beginnings
        .iter()
        .any(|beginning| begins_with(format_args!("{error}"), beginning))
}

/// Returns `true` if a text begins so. Stops the writer as soon as that is known, and allocates nothing.
fn begins_with(text: fmt::Arguments<'_>, beginning: &str) -> bool {
    /// What of the beginning has not been seen yet.
    struct Expected<'a>(&'a [u8]);

    impl Write for Expected<'_> {
        fn write_str(&mut self, piece: &str) -> fmt::Result {
            let length = self.0.len().min(piece.len());
            let (seen, rest) = self.0.split_at(length);
            if seen != &piece.as_bytes()[..length] {
                return Err(fmt::Error);
            }
            self.0 = rest;
            if rest.is_empty() { Err(fmt::Error) } else { Ok(()) }
        }
    }

    // Both a match and a mismatch stop the writer: only what is left tells them apart.
    let mut expected = Expected(beginning.as_bytes());
    let _ = expected.write_fmt(text);
    expected.0.is_empty()
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;

    #[test]
    fn a_beginning_is_seen_across_pieces() {
        let (tcp, space) = ("tcp", " ");
        assert!(begins_with(format_args!("{tcp}{space}connect error"), "tcp "));
        assert!(begins_with(format_args!("tcp "), "tcp "));
        assert!(!begins_with(format_args!("tcp"), "tcp "));
        assert!(!begins_with(format_args!("{tcp}-connect error"), "tcp "));
        assert!(!begins_with(format_args!(""), "tcp "));
    }

    #[test]
    fn a_bare_io_error_is_tls_if_it_carries_one_or_the_peer_cut_it() {
        for kind in [io::ErrorKind::ConnectionReset, io::ErrorKind::UnexpectedEof] {
            assert_eq!(of_bare_io(&kind.into()), FailureKind::Tls);
        }
        assert_eq!(
            of_bare_io(&io::Error::new(io::ErrorKind::InvalidData, "bad certificate")),
            FailureKind::Tls
        );
        for kind in [
            io::ErrorKind::NotFound,
            io::ErrorKind::ConnectionRefused,
            io::ErrorKind::PermissionDenied,
        ] {
            assert_eq!(of_bare_io(&kind.into()), FailureKind::Connect);
        }
    }

    /// What hyper-util's connector says when the last address of a name could not be reached.
    #[derive(Debug)]
    struct ConnectError(
        #[expect(dead_code, reason = "shown")] &'static str,
        SocketAddr,
        io::Error,
    );

    impl fmt::Display for ConnectError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("tcp connect error")
        }
    }

    impl Error for ConnectError {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.2)
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_missing_ipv6_is_told_from_exhausted_ports() {
        let not_available = |address: &str| {
            let address = address.parse().unwrap();
            ConnectError("tcp connect error", address, io::Error::from_raw_os_error(99))
        };
        let (ipv4, ipv6) = (not_available("192.0.2.1:443"), not_available("[2001:db8::1]:443"));
        assert!(ipv4.1.is_ipv4() && ipv6.1.is_ipv6());
        assert!(is_this_machines(&ipv4));
        assert!(!is_this_machines(&ipv6));
        // Exhausted descriptors are exhausted, whatever the address.
        let no_files = ConnectError("tcp connect error", ipv6.1, io::Error::from_raw_os_error(24));
        assert!(is_this_machines(&no_files));
    }
}
