//! Redirects between origins, where reqwest lets us see them.
//!
//! reqwest follows redirects below the middleware and says nothing of it, but for its redirect policy: that is asked
//! before each hop. The policy knows no request, and the middleware knows no hop; but reqwest calls the policy inside the
//! very poll of the future that the middleware waits for, so a thread-local tells the one of the other. A middleware
//! further in that hands the request to another task breaks that link: then no hop is seen, and an error is charged to
//! the origin that was asked.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use reqwest::redirect::Policy;

use crate::breaker::Permit;
use crate::key::{CircuitKey, KeyRef};
use crate::registry::CircuitBreakerRegistry;

thread_local! {
    /// The calls whose futures are being polled on this thread, the innermost last.
    static CALLS: RefCell<Vec<Call>> = const { RefCell::new(Vec::new()) };
}

/// A call under way, as the redirect policy finds it.
struct Call {
    registry: CircuitBreakerRegistry,
    /// It wants nothing to do with breakers.
    skipped: bool,
    /// Whose probe it is, if it is one.
    probed: Option<CircuitKey>,
    /// Where the last hop led.
    hop: Option<CircuitKey>,
}

impl CircuitBreakerRegistry {
    /// Wraps a redirect policy of reqwest so that breakers have a say in redirects.
    ///
    /// A hop into an origin whose breaker rejects is not followed: the call ends with that rejection, and the origin that
    /// sent the redirect has answered. An error after a hop is charged to the origin that failed; without this policy it
    /// is charged to the origin that was asked, since reqwest does not tell where it happened. The breaker is asked
    /// before your policy.
    ///
    /// Only the breaker of the whole origin is asked; it takes no probe slot for a hop. A probe that is redirected back to
    /// the origin it probes goes on: its slot is the one that it would be rejected for.
    ///
    /// Retries start over: an attempt that fails before its first hop is charged to the last hop of the attempt before,
    /// unless [`StopRetriesWhenOpen`](crate::StopRetriesWhenOpen) stands inside the retries and marks where each begins.
    ///
    /// # Examples
    ///
    /// ```
    /// use reqwest::redirect::Policy;
    /// use reqwest_circuit_breaker::{CircuitBreakerMiddleware, CircuitBreakerRegistry};
    ///
    /// let registry = CircuitBreakerRegistry::default();
    /// let client = reqwest::Client::builder()
    ///     .redirect(registry.redirect_policy(Policy::limited(3)))
    ///     .build()?;
    /// let client = reqwest_middleware::ClientBuilder::new(client)
    ///     .with(CircuitBreakerMiddleware::new(registry))
    ///     .build();
    /// # let _ = client;
    /// # Ok::<(), reqwest::Error>(())
    /// ```
    pub fn redirect_policy(&self, policy: Policy) -> Policy {
        self.follow_hops();
        let registry = self.clone();
        Policy::custom(move |attempt| {
            if let Some(next) = KeyRef::of_url(attempt.url()) {
                let last = attempt.previous().last().and_then(KeyRef::of_url);
                if last != Some(next) && !passes(&registry, next) {
                    if let Some(open) = registry.breaker_of(next).and_then(|breaker| breaker.reject()) {
                        return attempt.error(open);
                    }
                }
                note(&registry, Some(next.to_key()));
            }
            policy.redirect(attempt)
        })
    }
}

/// Whether the call of this thread may go to an origin without asking.
fn passes(registry: &CircuitBreakerRegistry, origin: KeyRef<'_>) -> bool {
    let probes = |call: &Call| call.probed.as_ref().is_some_and(|key| key.as_ref() == origin);
    with_call(registry, |call| call.skipped || probes(call)).unwrap_or(false)
}

/// Notes where the call of this thread has got to: `None` where an attempt begins.
pub(super) fn note(registry: &CircuitBreakerRegistry, hop: Option<CircuitKey>) {
    with_call(registry, |call| call.hop = hop);
}

fn with_call<T>(registry: &CircuitBreakerRegistry, change: impl FnOnce(&mut Call) -> T) -> Option<T> {
    CALLS.with_borrow_mut(|calls| {
        calls
            .iter_mut()
            .rfind(|call| call.registry.is_same(registry))
            .map(change)
    })
}

/// The rest of the stack, and where its redirects led.
pub(super) struct Follow<F> {
    rest: F,
    /// `None` if the registry follows no hops, and while it is polled.
    call: Option<Call>,
}

impl<F: Future + Unpin> Follow<F> {
    /// Waits for the rest of the stack.
    pub(super) fn hops(registry: &CircuitBreakerRegistry, permit: &Permit, rest: F) -> Self {
        Self::new(registry, Some(permit), rest)
    }

    /// Waits for the rest of the stack, whose hops are nobody's concern.
    pub(super) fn skipping(registry: &CircuitBreakerRegistry, rest: F) -> Self {
        Self::new(registry, None, rest)
    }

    #[inline]
    fn new(registry: &CircuitBreakerRegistry, permit: Option<&Permit>, rest: F) -> Self {
        let call = registry.follows_hops().then(|| Call {
            registry: registry.clone(),
            skipped: permit.is_none(),
            probed: permit.and_then(Permit::probed_key).cloned(),
            hop: None,
        });
        Self { rest, call }
    }

    /// Where the redirects led at last.
    #[inline]
    pub(super) fn into_hop(self) -> Option<CircuitKey> {
        self.call.and_then(|call| call.hop)
    }
}

impl<F: Future + Unpin> Future for Follow<F> {
    type Output = F::Output;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.call.is_none() {
            return Pin::new(&mut self.rest).poll(context);
        }
        let polled = self.call.take().map(Polled::enter);
        let output = Pin::new(&mut self.rest).poll(context);
        self.call = polled.and_then(Polled::leave);
        output
    }
}

/// A call stands among the thread's calls while its future is polled, also if that panics.
struct Polled;

impl Polled {
    fn enter(call: Call) -> Self {
        CALLS.with_borrow_mut(|calls| calls.push(call));
        Self
    }

    fn leave(self) -> Option<Call> {
        std::mem::forget(self);
        CALLS.with_borrow_mut(Vec::pop)
    }
}

impl Drop for Polled {
    fn drop(&mut self) {
        let call = CALLS.with_borrow_mut(Vec::pop);
        drop(call);
    }
}
