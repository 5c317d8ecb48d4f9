//! One circuit breaker per key, shared by every client.
//!
//! State lives here and outlives the clients: a client built for one request still finds the verdict of the last one.

mod builder;
mod calls;
mod misuse;
mod queue;
mod store;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

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
use crate::outcome::{Classifier, VerdictAt};

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
    ///
    /// ```
    /// use reqwest_circuit_breaker::{CircuitBreakerConfig, CircuitBreakerRegistry, TripPolicy};
    ///
    /// let config = CircuitBreakerConfig::builder().trip_on(TripPolicy::consecutive_failures(3)).build()?;
    /// let registry = CircuitBreakerRegistry::new(config);
    /// assert_eq!(registry.name(), "default");
    /// # Ok::<(), reqwest_circuit_breaker::InvalidConfig>(())
    /// ```
    pub fn new(config: CircuitBreakerConfig) -> Self {
        Self::builder().config(config).finish()
    }

    /// Returns a builder that holds the defaults.
    ///
    /// ```
    /// use reqwest_circuit_breaker::CircuitBreakerRegistry;
    ///
    /// let registry = CircuitBreakerRegistry::builder().name("payments").build()?;
    /// assert_eq!(registry.name(), "payments");
    /// # Ok::<(), reqwest_circuit_breaker::InvalidConfig>(())
    /// ```
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
    ///
    /// It exists from the first call on. With a scheme narrower than the origin, ask with the narrow key.
    ///
    /// ```
    /// use reqwest_circuit_breaker::{CircuitBreakerRegistry, CircuitKey};
    ///
    /// let registry = CircuitBreakerRegistry::default();
    /// let key: CircuitKey = "https://stock.example".parse()?;
    /// assert!(registry.get(&key).is_none(), "nobody called it yet");
    /// registry.get_or_create(&key);
    /// assert!(registry.get(&key).is_some());
    /// # Ok::<(), reqwest_circuit_breaker::InvalidKey>(())
    /// ```
    pub fn get(&self, key: &CircuitKey) -> Option<CircuitBreaker> {
        self.inner.store.get(&key.as_ref())
    }

    /// Returns the breaker of a key, and creates it if need be.
    ///
    /// If the registry is full and nothing may go, it is the breaker of the key's origin, if there is one, else `None`:
    /// the call should then go unprotected.
    ///
    /// ```
    /// use reqwest_circuit_breaker::{CircuitBreakerRegistry, CircuitKey};
    ///
    /// let registry = CircuitBreakerRegistry::builder().max_breakers(1).build()?;
    /// let stock: CircuitKey = "https://stock.example".parse()?;
    /// let breaker = registry.get_or_create(&stock).expect("there is room");
    /// breaker.force_open();
    ///
    /// let items = stock.with_part("/items/{id}");
    /// let fallen_back = registry.get_or_create(&items).expect("its origin has one");
    /// assert_eq!(fallen_back.key(), breaker.key());
    /// assert!(registry.get_or_create(&"https://prices.example".parse()?).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    /// The extensions are those of the `reqwest_middleware` request, where its [`Route`](crate::Route) is. Where there are
    /// none, `&Default::default()` will do.
    ///
    /// ```
    /// use reqwest_circuit_breaker::CircuitBreakerRegistry;
    ///
    /// let registry = CircuitBreakerRegistry::default();
    /// let request = reqwest::Client::new().get("https://stock.example/items/7?full=1").build()?;
    /// let key = registry.key_of(&request, &Default::default()).expect("it is https");
    /// assert_eq!(key.to_string(), "https://stock.example");
    /// # Ok::<(), reqwest::Error>(())
    /// ```
    pub fn key_of(&self, request: &Request, extensions: &Extensions) -> Option<CircuitKey> {
        self.inner
            .key_scheme
            .with_key(request, extensions, |key| key.map(|key| key.to_key()))
    }
}

/// # Looking at it
impl CircuitBreakerRegistry {
    /// Returns a snapshot of every breaker, sorted by key.
    ///
    /// Each is of one moment, but not all of the same. The cost grows with the number of breakers.
    ///
    /// ```
    /// use reqwest_circuit_breaker::{CircuitBreakerRegistry, State};
    ///
    /// let registry = CircuitBreakerRegistry::default();
    /// registry.get_or_create(&"https://stock.example".parse()?);
    /// registry.get_or_create(&"https://prices.example".parse()?).expect("there is room").force_open();
    ///
    /// let mut dark = registry.snapshots();
    /// dark.retain(|snapshot| snapshot.state != State::Closed);
    /// assert_eq!(dark.len(), 1);
    /// assert_eq!(dark[0].key.to_string(), "https://prices.example");
    /// # Ok::<(), reqwest_circuit_breaker::InvalidKey>(())
    /// ```
    pub fn snapshots(&self) -> Vec<CircuitSnapshot> {
        let mut breakers = self.inner.store.all();
        breakers.sort_by(|a, b| a.key().cmp(b.key()));
        breakers.iter().map(CircuitBreaker::snapshot).collect()
    }

    /// Returns the registry's own counts.
    ///
    /// ```
    /// use reqwest_circuit_breaker::CircuitBreakerRegistry;
    ///
    /// let registry = CircuitBreakerRegistry::default();
    /// registry.get_or_create(&"https://stock.example".parse()?);
    /// let stats = registry.stats();
    /// assert_eq!((stats.breakers, stats.created, stats.evicted), (1, 1, 0));
    /// assert_eq!(stats.misplaced, 0, "no retry middleware stands outside");
    /// # Ok::<(), reqwest_circuit_breaker::InvalidKey>(())
    /// ```
    pub fn stats(&self) -> RegistryStats {
        let mut stats = self.inner.store.stats();
        stats.misplaced = self.inner.misuse.misplaced();
        stats
    }

    /// Returns the number of breakers.
    ///
    /// ```
    /// use reqwest_circuit_breaker::CircuitBreakerRegistry;
    ///
    /// let registry = CircuitBreakerRegistry::default();
    /// registry.get_or_create(&"https://stock.example".parse()?);
    /// assert_eq!(registry.len(), 1);
    /// # Ok::<(), reqwest_circuit_breaker::InvalidKey>(())
    /// ```
    pub fn len(&self) -> usize {
        self.inner.store.len()
    }

    /// Returns `true` if there is no breaker.
    ///
    /// ```
    /// use reqwest_circuit_breaker::CircuitBreakerRegistry;
    ///
    /// assert!(CircuitBreakerRegistry::default().is_empty(), "breakers come with the calls");
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the name, `"default"` unless the builder was given another.
    ///
    /// ```
    /// use reqwest_circuit_breaker::CircuitBreakerRegistry;
    ///
    /// assert_eq!(CircuitBreakerRegistry::default().name(), "default");
    /// ```
    pub fn name(&self) -> &str {
        self.inner.site.registry()
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
