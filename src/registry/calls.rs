//! What the middleware asks of a registry, call by call.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, SystemTime};

use http::Extensions;
use reqwest::Request;

use super::{Answer, CircuitBreakerRegistry};
use crate::breaker::CircuitBreaker;
use crate::key::{CircuitKey, KeyRef};
use crate::outcome::{Outcome, VerdictAt};
use crate::verdict::Verdict;

impl CircuitBreakerRegistry {
    /// Finds the breaker of a request and lets it admit the call, if it can do so at once. `None`: the key's text has to be
    /// written first, or the breaker to be created.
    #[inline]
    pub(crate) fn find(&self, request: &Request) -> Option<Answer> {
        let inner = &*self.inner;
        let text = inner.key_scheme.text_at_hand(request)?;
        inner.store.answer(text, self.retire_idle())
    }

    /// As [`find`](Self::find), whatever it takes.
    pub(crate) fn find_by_pieces(&self, request: &Request, extensions: &Extensions) -> Answer {
        let now = self.retire_idle();
        self.inner.key_scheme.with_key(request, extensions, |key| {
            let Some(key) = key else { return Answer::Unprotected };
            if let Some(answer) = key.with_text(|text| self.inner.store.answer(text, now)) {
                return answer;
            }
            match self.create(*key) {
                Some(breaker) => Answer::Ask(breaker),
                None => Answer::Unprotected,
            }
        })
    }

    /// Gives an origin's breaker the verdict of a call that was sent to another origin and redirected here. The breaker
    /// never admitted it, so it listens only while it is closed.
    pub(crate) fn charge(&self, origin: KeyRef<'_>, verdict: Verdict, wish: Option<Duration>) {
        let now = self.retire_idle();
        let create = || self.inner.key_scheme.is_origin().then(|| self.create(origin)).flatten();
        let Some(breaker) = self.inner.store.get(&origin).or_else(create) else {
            return;
        };
        self.inner.store.mark_used(&breaker, now);
        if let Some(permit) = breaker.admit_if_closed() {
            permit.record_with(verdict, wish);
        }
    }

    pub(crate) fn classify(&self, outcome: &Outcome<'_>) -> Verdict {
        self.inner.classifier.classify(outcome)
    }

    pub(crate) fn verdict_at(&self) -> VerdictAt {
        self.inner.verdict_at
    }

    pub(crate) fn wall(&self) -> SystemTime {
        self.inner.site.wall()
    }

    /// Finds the breaker of a request and lends it to `look`. Never creates one, and counts nothing.
    pub(crate) fn look_at<T>(
        &self,
        request: &Request,
        extensions: &Extensions,
        look: impl FnOnce(CircuitBreaker) -> Option<T>,
    ) -> Option<T> {
        let find = |key: Option<&KeyRef<'_>>| {
            let key = key?;
            // As for the call itself: where there was no room for a narrower one, it is the origin's.
            let of_origin = || {
                key.is_narrow()
                    .then(|| self.inner.store.get(&key.origin_only()))
                    .flatten()
            };
            self.inner.store.get(key).or_else(of_origin)
        };
        self.inner.key_scheme.with_key(request, extensions, find).and_then(look)
    }

    /// Finds the breaker of an origin. Never creates one.
    pub(crate) fn breaker_of(&self, origin: KeyRef<'_>) -> Option<CircuitBreaker> {
        self.inner.store.get(&origin)
    }

    /// Whether a redirect policy of this registry exists, so that hops are worth following.
    #[inline]
    pub(crate) fn follows_hops(&self) -> bool {
        self.inner.follows_hops.load(Ordering::Relaxed)
    }

    pub(crate) fn follow_hops(&self) {
        self.inner.follows_hops.store(true, Ordering::Relaxed);
    }

    /// Whether both are the same registry.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// Counts a second attempt of one request.
    pub(crate) fn note_misplaced(&self, key: &CircuitKey) {
        self.inner.misuse.note_misplaced(&self.inner.site, key);
    }
}
