//! One circuit breaker per key, shared by every client.
//!
//! State lives here and outlives the clients: a client built for one request still finds the verdict of the last one.

mod builder;
mod misuse;
mod queue;
mod store;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use http::Extensions;
use reqwest::Request;

pub use self::builder::CircuitBreakerRegistryBuilder;

use self::builder::ConfigFor;
use self::misuse::Misuse;
use self::store::Store;
use crate::breaker::clock::Tick;
use crate::breaker::site::Site;
use crate::breaker::{CircuitBreaker, CircuitBreakerConfig, Permit};
use crate::key::{CircuitKey, KeyRef, KeyScheme};
use crate::observe::{CircuitSnapshot, RegistryStats};
use crate::outcome::{Classifier, Outcome, VerdictAt};
use crate::verdict::Verdict;

/// All circuit breakers of an application. Every clone is the same registry.
///
/// Share one per application: a breaker learns from every client's calls, and a new client knows at once what the others
/// know.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use reqwest_circuit_breaker::{
///     CircuitBreakerConfig, CircuitBreakerMiddleware, CircuitBreakerRegistry, CircuitKey, TripPolicy,
/// };
///
/// let registry = CircuitBreakerRegistry::builder()
///     .name("payments")
///     .config(CircuitBreakerConfig::builder().recovery_timeout(Duration::from_secs(10)).build()?)
///     .max_breakers(1_000)
///     .build()?;
/// let client = reqwest_middleware::ClientBuilder::new(reqwest::Client::new())
///     .with(CircuitBreakerMiddleware::new(registry.clone()))
///     .build();
/// # let _ = client;
/// for snapshot in registry.snapshots() {
///     println!("{} {:?}", snapshot.key, snapshot.state);
/// }
/// # Ok::<(), reqwest_circuit_breaker::InvalidConfig>(())
/// ```
#[derive(Clone)]
pub struct CircuitBreakerRegistry {
    inner: Arc<Inner>,
}

struct Inner {
    site: Arc<Site>,
    store: Store,
    misuse: Misuse,
    key_scheme: KeyScheme,
    config: Arc<CircuitBreakerConfig>,
    config_for: Option<ConfigFor>,
    classifier: Box<dyn Classifier>,
    verdict_at: VerdictAt,
    jitter_seed: u64,
    follows_hops: AtomicBool,
}

/// What the registry has to say about a call at once.
pub(crate) enum Answer {
    /// No breaker stands in its way.
    Unprotected,
    /// A closed breaker admits it.
    Admitted(Permit),
    /// This breaker has to be asked.
    Ask(CircuitBreaker),
}

/// # Making one
impl CircuitBreakerRegistry {
    /// Creates a registry whose breakers all have `config`, and the defaults of [`builder`](Self::builder) otherwise.
    pub fn new(config: CircuitBreakerConfig) -> Self {
        Self::builder().config(config).finish()
    }

    /// Returns a builder that holds the defaults.
    pub fn builder() -> CircuitBreakerRegistryBuilder {
        CircuitBreakerRegistryBuilder::default()
    }
}

impl Default for CircuitBreakerRegistry {
    fn default() -> Self {
        Self::builder().finish()
    }
}

/// # Finding a breaker
impl CircuitBreakerRegistry {
    /// Returns the breaker of a key, if it exists. Never creates one.
    pub fn get(&self, key: &CircuitKey) -> Option<CircuitBreaker> {
        self.inner.store.get(&key.as_ref())
    }

    /// Returns the breaker of a key, and creates it if need be.
    ///
    /// If the registry is full and nothing may go, it is the breaker of the key's origin, if there is one, else `None`:
    /// the call should then go unprotected.
    pub fn get_or_create(&self, key: &CircuitKey) -> Option<CircuitBreaker> {
        let now = self.retire_idle();
        let breaker = self.get(key).or_else(|| self.create(key.as_ref()))?;
        self.inner.store.mark_used(&breaker, now);
        Some(breaker)
    }

    /// Returns the key under which a request would be counted, by the registry's [`KeyScheme`]; `None` if it would not be
    /// protected.
    ///
    /// With it a caller can ask [`would_admit`](CircuitBreaker::would_admit) before it chooses among upstreams.
    pub fn key_of(&self, request: &Request, extensions: &Extensions) -> Option<CircuitKey> {
        self.inner
            .key_scheme
            .with_key(request, extensions, |key| key.map(|key| key.to_key()))
    }
}

/// # Looking at it
impl CircuitBreakerRegistry {
    /// Returns a snapshot of every breaker, sorted by key.
    pub fn snapshots(&self) -> Vec<CircuitSnapshot> {
        let mut breakers = self.inner.store.all();
        breakers.sort_by(|a, b| a.key().cmp(b.key()));
        breakers.iter().map(CircuitBreaker::snapshot).collect()
    }

    /// Returns the registry's own counts.
    pub fn stats(&self) -> RegistryStats {
        let mut stats = self.inner.store.stats();
        stats.misplaced = self.inner.misuse.misplaced();
        stats
    }

    /// Returns the number of breakers.
    pub fn len(&self) -> usize {
        self.inner.store.len()
    }

    /// Returns `true` if there is no breaker.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the name, `"default"` unless the builder was given another.
    pub fn name(&self) -> &str {
        self.inner.site.registry()
    }
}

/// For the middleware.
impl CircuitBreakerRegistry {
    /// Finds the breaker of a request and lets it admit the call, if it can do so at once.
    pub(crate) fn find(&self, request: &Request, extensions: &Extensions) -> Answer {
        let now = self.retire_idle();
        let inner = &*self.inner;
        inner.key_scheme.with_key(request, extensions, |key| {
            let Some(key) = key else { return Answer::Unprotected };
            if let Some(answer) = inner.store.answer(key, now) {
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

impl CircuitBreakerRegistry {
    fn create(&self, key: KeyRef<'_>) -> Option<CircuitBreaker> {
        let inner = &*self.inner;
        let key = key.to_key();
        // Foreign code runs before any lock is taken.
        let config = inner.config_for.as_ref().and_then(|config_for| config_for(&key));
        let config = config.map_or_else(|| Arc::clone(&inner.config), Arc::new);
        let seed = config.recovery.jitter_seed.unwrap_or(inner.jitter_seed) ^ builder::fingerprint(&key);
        let (breaker, event) = inner.store.insert(&inner.site, &key, || {
            CircuitBreaker::new(key.clone(), config, Arc::clone(&inner.site), seed)
        });
        if let Some(breaker) = &breaker {
            breaker.announce();
        }
        let keys_grow = inner.misuse.keys_grow(&inner.site, &inner.store, &key);
        event
            .iter()
            .chain(&keys_grow)
            .for_each(|event| inner.site.publish(event));
        breaker
    }

    /// Retires idle breakers in passing, and returns the present time if idleness matters.
    #[inline]
    fn retire_idle(&self) -> Option<Tick> {
        self.inner.store.retires_idle().then(|| self.retire_idle_now())
    }

    #[cold]
    fn retire_idle_now(&self) -> Tick {
        let inner = &*self.inner;
        let now = inner.site.now();
        let events = inner.store.retire_idle(&inner.site, now);
        events.iter().for_each(|event| inner.site.publish(event));
        now
    }
}

impl fmt::Debug for CircuitBreakerRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CircuitBreakerRegistry")
            .field("name", &self.name())
            .field("breakers", &self.len())
            .finish_non_exhaustive()
    }
}
