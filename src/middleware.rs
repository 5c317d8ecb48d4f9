//! The door: one logical call in, one signal out.

mod account;
mod hops;
mod placement;
mod stop_retries;

use std::future::Future;
use std::pin::Pin;

use http::{Extensions, StatusCode};
use reqwest::{Request, Response};
use reqwest_middleware::{Error, Middleware, Next, Result};

pub use self::stop_retries::StopRetriesWhenOpen;

use self::account::Account;
use self::hops::Follow;
use self::placement::{MarkedCall, Probing};
use crate::breaker::Permit;
use crate::error::{CircuitOpenError, Rejected};
use crate::key::CircuitKey;
use crate::outcome::end_of_body::{self, BodyEnd};
use crate::outcome::retry_after::retry_after;
use crate::outcome::{Outcome, VerdictAt};
use crate::registry::{Answer, CircuitBreakerRegistry};
use crate::verdict::Verdict;

/// The middleware that asks a registry before each call and tells it the outcome.
///
/// Attach it **outside** the retries, that is before them, so that it hears one signal per logical call. See
/// [the stack](crate::guide::stack) for what goes where.
///
/// A rejected call ends with a `reqwest_middleware::Error` in which [`CircuitOpenError::find`] finds the rejection. All
/// other responses and errors pass untouched.
///
/// # Examples
///
/// ```
/// use reqwest_circuit_breaker::{CircuitBreakerMiddleware, CircuitBreakerRegistry};
///
/// let registry = CircuitBreakerRegistry::default();
/// let client = reqwest_middleware::ClientBuilder::new(reqwest::Client::new())
///     .with(CircuitBreakerMiddleware::new(registry.clone()))
///     .build();
/// # let _ = client;
/// assert!(registry.is_empty(), "breakers come with the calls");
/// ```
#[derive(Clone, Debug)]
pub struct CircuitBreakerMiddleware {
    registry: CircuitBreakerRegistry,
}

/// Request extension: this call is not protected, not counted, and its retries are not stopped.
///
/// For health checks and the like, which must reach the upstream whatever its breaker thinks.
///
/// # Examples
///
/// ```
/// use reqwest_circuit_breaker::SkipCircuitBreaker;
///
/// let client = reqwest_middleware::ClientWithMiddleware::from(reqwest::Client::new());
/// let mut request = client.get("https://stock.example/health").with_extension(SkipCircuitBreaker);
/// assert!(request.extensions().get::<SkipCircuitBreaker>().is_some());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SkipCircuitBreaker;

impl CircuitBreakerMiddleware {
    /// Creates the middleware. Every clone of the registry is the same registry: keep one to look at it.
    pub fn new(registry: CircuitBreakerRegistry) -> Self {
        Self { registry }
    }
}

impl Middleware for CircuitBreakerMiddleware {
    // Written out, since `#[async_trait]` moves every argument once more, and a request is large.
    fn handle<'a, 'e, 'n, 'f>(
        &'a self,
        request: Request,
        extensions: &'e mut Extensions,
        next: Next<'n>,
    ) -> Pin<Box<dyn Future<Output = Result<Response>> + Send + 'f>>
    where
        'a: 'f,
        'e: 'f,
        'n: 'f,
        Self: 'f,
    {
        Box::pin(async move {
            let registry = &self.registry;
            if extensions.get::<SkipCircuitBreaker>().is_some() {
                return Follow::skipping(registry, next.run(request, extensions)).await;
            }
            // From here on the permit ends with this future: recorded below, or dropped with it.
            let (permit, _probing) = match registry.find(&request) {
                Some(Answer::Admitted(permit)) => (permit, None),
                other => match self.ask(other, &request, extensions) {
                    Ok(Some(admitted)) => admitted,
                    Ok(None) => return next.run(request, extensions).await,
                    Err(open) => return Err(Error::middleware(Rejected(open))),
                },
            };
            let mut rest = Follow::hops(registry, &permit, next.run(request, &mut *extensions));
            let result = (&mut rest).await;
            let hop = rest.into_hop();
            let waiting = match &result {
                Ok(response) => self.hear_response(permit, response, extensions),
                Err(error) => {
                    self.hear_error(permit, error, hop, extensions);
                    None
                }
            };
            match waiting {
                None => result,
                Some(account) => result.map(|response| self.watch(response, account)),
            }
        })
    }
}

impl CircuitBreakerMiddleware {
    /// Asks for a call that was not admitted at once. `Ok(None)`: it is not protected, or already admitted further out in
    /// this stack.
    #[inline(never)]
    fn ask(
        &self,
        answer: Option<Answer>,
        request: &Request,
        extensions: &mut Extensions,
    ) -> std::result::Result<Option<(Permit, Option<Probing>)>, CircuitOpenError> {
        let answer = answer.unwrap_or_else(|| self.registry.find_by_pieces(request, extensions));
        let breaker = match answer {
            Answer::Admitted(permit) => return Ok(Some((permit, None))),
            Answer::Unprotected => return Ok(None),
            Answer::Ask(breaker) => breaker,
        };
        if !breaker.is_closed() {
            let earlier = placement::of(extensions, &self.registry, breaker.key());
            if earlier.is_some() {
                self.registry.note_misplaced(breaker.key());
            }
            if earlier == Some(MarkedCall::Probing) {
                return Ok(None);
            }
        }
        let permit = breaker.admit(request.timeout().copied())?;
        let probed = permit.probed_key();
        let probing = probed.map(|key| placement::leave_probing(extensions, &self.registry, key));
        Ok(Some((permit, probing)))
    }

    /// Returns the account if its verdict waits for the end of the body.
    #[inline]
    fn hear_response(&self, permit: Permit, response: &Response, extensions: &mut Extensions) -> Option<Account> {
        let verdict = self
            .registry
            .classify(&Outcome::of_response(response.status(), response.headers()));
        let is_last_word = verdict == Verdict::Success && self.registry.verdict_at() == VerdictAt::Headers;
        if is_last_word && !permit.is_probe() && account::is_from(response.url(), &permit) {
            permit.record(verdict);
            return None;
        }
        self.weigh_response(verdict, permit, response, extensions)
    }

    /// As [`hear_response`](Self::hear_response), for all but a plain success.
    #[inline(never)]
    fn weigh_response(
        &self,
        verdict: Verdict,
        permit: Permit,
        response: &Response,
        extensions: &mut Extensions,
    ) -> Option<Account> {
        let registry = &self.registry;
        let account = Account::of_response(permit, response);
        let verdict = self.heard_once(verdict, &account, extensions);
        if verdict == Verdict::Success && registry.verdict_at() == VerdictAt::EndOfBody {
            return Some(account);
        }
        let unavailable = response.status() == StatusCode::SERVICE_UNAVAILABLE && verdict != Verdict::Success;
        let wish = if unavailable {
            retry_after(response.headers(), registry.wall())
        } else {
            None
        };
        account.settle(registry, verdict, wish);
        None
    }

    fn watch(&self, response: Response, account: Account) -> Response {
        let registry = self.registry.clone();
        end_of_body::watch(response, move |end| {
            let verdict = match end {
                BodyEnd::Fine => Verdict::Success,
                BodyEnd::Broken(kind) => registry.classify(&Outcome::of_broken_body(kind)),
            };
            account.settle(&registry, verdict, None);
        })
    }

    #[cold]
    fn hear_error(&self, permit: Permit, error: &Error, hop: Option<CircuitKey>, extensions: &mut Extensions) {
        let outcome = Outcome::of_protected(error, |url| permit.key().is_some_and(|key| key.has_origin_of(url)));
        let verdict = self.registry.classify(&outcome);
        let account = Account::of_error(permit, &outcome, hop);
        let verdict = self.heard_once(verdict, &account, extensions);
        account.settle(&self.registry, verdict, None);
    }

    /// Keeps a failure from being counted twice if this is the second attempt of one request, and leaves the mark by
    /// which the next one is told. Successes pass as they are.
    fn heard_once(&self, verdict: Verdict, account: &Account, extensions: &mut Extensions) -> Verdict {
        let Some(key) = account.key() else { return verdict };
        if !account.is_probes() {
            if !matches!(verdict, Verdict::Failure(_)) {
                return verdict;
            }
            if placement::of(extensions, &self.registry, key).is_some() {
                self.registry.note_misplaced(key);
                return Verdict::Ignored;
            }
        }
        placement::leave_ended(extensions, &self.registry, key);
        verdict
    }
}
