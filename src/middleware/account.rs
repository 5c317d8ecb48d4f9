//! Whose breaker hears the verdict.
//!
//! reqwest follows redirects below the middleware: the one that was asked may not be the one that answered. Whoever sent
//! the redirect has answered, which is a success; what came after it is charged to the origin it came from.

use std::time::Duration;

use reqwest::{Response, Url};

use crate::breaker::Permit;
use crate::key::{CircuitKey, KeyRef};
use crate::outcome::Outcome;
use crate::registry::CircuitBreakerRegistry;
use crate::verdict::Verdict;

/// What reqwest gives to a response without a URL: a cache or a mock inside the stack made it.
const NO_URL: &str = "http://no.url.provided.local/";

/// Whose breaker hears the verdict.
pub(super) enum Account {
    /// The one that admitted the call.
    Admitted(Permit),
    /// That of the origin the call was redirected to. The one that admitted it has heard that it was answered.
    Redirected(CircuitKey),
}

impl Account {
    /// For an answer: the origin that gave it.
    pub(super) fn of_response(permit: Permit, response: &Response) -> Self {
        let origin = elsewhere(response.url(), &permit);
        Self::new(permit, origin)
    }

    /// For an error: the origin that gave the answer it was made from, else that of the last hop, if there was one.
    pub(super) fn of_error(permit: Permit, outcome: &Outcome<'_>, hop: Option<CircuitKey>) -> Self {
        let origin = if outcome.answered() {
            outcome.answering_url().and_then(|url| elsewhere(url, &permit))
        } else {
            hop.filter(|origin| permit.key().is_some_and(|key| *origin != key.origin_key()))
        };
        Self::new(permit, origin)
    }

    fn new(permit: Permit, redirected_to: Option<CircuitKey>) -> Self {
        match redirected_to {
            None => Self::Admitted(permit),
            Some(origin) => {
                permit.record(Verdict::Success);
                Self::Redirected(origin)
            }
        }
    }

    /// The key of the breaker.
    pub(super) fn key(&self) -> Option<&CircuitKey> {
        match self {
            Self::Admitted(permit) => permit.key(),
            Self::Redirected(origin) => Some(origin),
        }
    }

    /// Whether the verdict is a probe's.
    pub(super) fn is_probes(&self) -> bool {
        matches!(self, Self::Admitted(permit) if permit.is_probe())
    }

    /// Gives the verdict, and the upstream's wish to be left alone for a while.
    pub(super) fn settle(self, registry: &CircuitBreakerRegistry, verdict: Verdict, wish: Option<Duration>) {
        match self {
            Self::Admitted(permit) => permit.record_with(verdict, wish),
            Self::Redirected(origin) => registry.charge(origin.as_ref(), verdict, wish),
        }
    }
}

/// Whether the origin that admitted the call has answered it.
#[inline]
pub(super) fn is_from(url: &Url, permit: &Permit) -> bool {
    url.as_str() == NO_URL || permit.key().is_some_and(|key| key.has_origin_of(url))
}

/// The origin of a URL, if it is not the one that admitted the call.
fn elsewhere(url: &Url, permit: &Permit) -> Option<CircuitKey> {
    if is_from(url, permit) {
        return None;
    }
    KeyRef::of_url(url).map(KeyRef::to_key)
}
