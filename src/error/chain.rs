//! The walk over an error and everything it wraps.
//!
//! `source()` alone misses most of a middleware stack: `reqwest_middleware::Error` and one of the `RetryError`s are
//! transparent, so that each shows the source of what it wraps instead of what it wraps, and `io::Error` does the same
//! for an error it carries. This walk opens those by type and goes on with `source()` everywhere else.

use std::error::Error;
use std::io;
use std::iter::successors;
use std::sync::Arc;

use super::CircuitOpenError;

/// How many layers the walk opens before it gives up. Real chains have about ten; an error that is its own source, or
/// makes a new one each time it is asked, must not hang the caller.
const MAX_DEPTH: usize = 64;

/// Walks from `error` to the innermost error that it wraps, outermost first, without allocating.
pub(crate) fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    successors(Some(error), |error| below(*error)).take(MAX_DEPTH)
}

/// Finds the outermost error of type `E` in a chain.
pub(crate) fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    chain(error).find_map(|error| error.downcast_ref())
}

/// Finds the `reqwest::Error` that describes how the call ended: the outermost one. Those below it belong to a redirect,
/// to a body that was sent, or to the look-up of a name.
pub(crate) fn of_the_call<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a reqwest::Error> {
    find(error)
}

/// Finds a rejection, of whichever registry.
pub(crate) fn rejection<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a CircuitOpenError> {
    find(error)
}

/// What `error` wraps, seen through the layers that hide it from `source()`.
fn below<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    if let Some(stack) = error.downcast_ref::<reqwest_middleware::Error>() {
        return Some(match stack {
            reqwest_middleware::Error::Middleware(inner) => &**inner,
            reqwest_middleware::Error::Reqwest(inner) => inner,
        });
    }
    #[cfg(feature = "retry")]
    if let Some(retry) = error.downcast_ref::<reqwest_retry::RetryError>() {
        return Some(match retry {
            reqwest_retry::RetryError::WithRetries { err, .. } => err,
            reqwest_retry::RetryError::Error(err) => err,
        });
    }
    if let Some(carried) = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        return Some(carried);
    }
    // `Arc<E>` is transparent too. It is how one failure is given to several callers that share a request.
    if let Some(shared) = error.downcast_ref::<Arc<reqwest_middleware::Error>>() {
        return Some(&**shared);
    }
    if let Some(shared) = error.downcast_ref::<Arc<reqwest::Error>>() {
        return Some(&**shared);
    }
    error.source()
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;

    /// An error that wraps any other and shows it as its source.
    #[derive(Debug)]
    struct Wrapper(Box<dyn Error + Send + Sync>);

    impl fmt::Display for Wrapper {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("wrapper")
        }
    }

    impl Error for Wrapper {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&*self.0)
        }
    }

    /// An error that is its own source.
    #[derive(Debug)]
    struct Endless;

    impl fmt::Display for Endless {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("endless")
        }
    }

    impl Error for Endless {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(self)
        }
    }

    #[derive(Debug, PartialEq)]
    struct Needle;

    impl fmt::Display for Needle {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("needle")
        }
    }

    impl Error for Needle {}

    fn stacked(error: impl Error + Send + Sync + 'static) -> reqwest_middleware::Error {
        reqwest_middleware::Error::middleware(error)
    }

    /// An error of reqwest, which can't be made by hand.
    fn of_reqwest() -> reqwest::Error {
        let mut response = http::Response::new("");
        *response.status_mut() = http::StatusCode::BAD_GATEWAY;
        reqwest::Response::from(response)
            .error_for_status()
            .expect_err("a failing status")
    }

    #[test]
    fn a_bare_error_under_the_middleware_error_is_found() {
        assert!(find::<Needle>(&stacked(Needle)).is_some());
        assert!(find::<Needle>(&Needle).is_some());
        assert!(find::<Needle>(&Endless).is_none());
    }

    #[test]
    fn a_source_under_the_middleware_error_is_found() {
        assert!(find::<Needle>(&stacked(Wrapper(Box::new(Needle)))).is_some());
        assert!(find::<Needle>(&stacked(Wrapper(Box::new(stacked(Needle))))).is_some());
    }

    #[test]
    fn anyhow_context_and_io_errors_are_opened() {
        let context = reqwest_middleware::Error::Middleware(anyhow::Error::new(Needle).context("while testing"));
        assert!(find::<Needle>(&context).is_some());
        assert!(find::<Needle>(&io::Error::other(io::Error::other(Needle))).is_some());
        assert!(find::<Needle>(&io::Error::from(io::ErrorKind::NotFound)).is_none());
    }

    #[test]
    fn an_error_of_reqwest_is_found_under_every_transparent_layer() {
        assert!(of_the_call(&reqwest_middleware::Error::from(of_reqwest())).is_some());
        assert!(of_the_call(&stacked(Arc::new(of_reqwest()))).is_some());
        assert!(of_the_call(&stacked(Arc::new(reqwest_middleware::Error::from(of_reqwest())))).is_some());
    }

    #[cfg(feature = "retry")]
    #[test]
    fn both_retry_errors_are_opened_at_any_depth() {
        use reqwest_retry::RetryError;

        let with = || {
            stacked(RetryError::WithRetries {
                retries: 2,
                err: of_reqwest().into(),
            })
        };
        let without = || stacked(RetryError::Error(of_reqwest().into()));
        assert!(of_the_call(&with()).is_some());
        assert!(of_the_call(&without()).is_some());
        // Two retry layers, as a mistake in the set-up makes them.
        assert!(of_the_call(&stacked(RetryError::Error(with()))).is_some());
        assert!(
            of_the_call(&stacked(RetryError::WithRetries {
                retries: 1,
                err: without()
            }))
            .is_some()
        );
        assert!(find::<Needle>(&stacked(RetryError::Error(stacked(Needle)))).is_some());
    }

    #[test]
    fn an_endless_chain_ends() {
        assert_eq!(chain(&Endless).count(), MAX_DEPTH);
        assert!(rejection(&stacked(Endless)).is_none());
    }

    #[test]
    fn the_outermost_error_of_reqwest_is_the_calls() {
        let outer = of_reqwest();
        let address = std::ptr::from_ref(&outer);
        let found = of_the_call(&outer).map(std::ptr::from_ref);
        assert_eq!(found, Some(address));
    }
}
