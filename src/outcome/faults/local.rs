//! What this machine could not do.
//!
//! An upstream must not be cut off because the caller has run out of file descriptors or ports: its breaker would open
//! for a fault that no probe can cure.

use std::error::Error;
use std::io;

use super::innermost_io;

/// Returns `true` if the operating system refused something that has nothing to do with the peer.
pub(super) fn exhausted(error: &(dyn Error + 'static)) -> bool {
    innermost_io(error).is_some_and(is_exhaustion)
}

fn is_exhaustion(error: &io::Error) -> bool {
    // An error without a code was made by a library, whatever its kind says.
    let Some(code) = error.raw_os_error() else { return false };
    matches!(
        error.kind(),
        io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable | io::ErrorKind::OutOfMemory
    ) || OUT_OF_FILES_OR_BUFFERS.contains(&code)
}

/// `EMFILE`, `ENFILE` and `ENOBUFS`, for which `io::ErrorKind` has no name.
#[cfg(any(target_os = "linux", target_os = "android"))]
const OUT_OF_FILES_OR_BUFFERS: [i32; 3] = [24, 23, 105];
/// `WSAEMFILE`, `ERROR_TOO_MANY_OPEN_FILES` and `WSAENOBUFS`.
#[cfg(windows)]
const OUT_OF_FILES_OR_BUFFERS: [i32; 3] = [10024, 4, 10055];
/// `EMFILE`, `ENFILE` and `ENOBUFS` of the BSDs and macOS.
#[cfg(not(any(target_os = "linux", target_os = "android", windows)))]
const OUT_OF_FILES_OR_BUFFERS: [i32; 3] = [24, 23, 55];

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn exhaustion_is_known_by_its_code_at_any_depth() {
        for code in [12, 23, 24, 98, 99, 105] {
            let error = io::Error::other(io::Error::from_raw_os_error(code));
            assert!(exhausted(&error), "{error}");
        }
        // ECONNREFUSED, ECONNRESET, ETIMEDOUT, ENETUNREACH, EHOSTUNREACH, EPIPE, ECONNABORTED, ENETDOWN, EACCES.
        for code in [111, 104, 110, 101, 113, 32, 103, 100, 13] {
            assert!(!exhausted(&io::Error::from_raw_os_error(code)), "{code}");
        }
    }

    #[test]
    fn an_error_that_a_library_made_is_not_the_systems() {
        assert!(!exhausted(&io::Error::from(io::ErrorKind::AddrNotAvailable)));
        assert!(!exhausted(&io::Error::new(io::ErrorKind::OutOfMemory, "too large")));
    }
}
