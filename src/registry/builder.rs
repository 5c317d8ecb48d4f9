//! The builder of a registry.

use std::fmt;
use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::misuse::Misuse;
use super::store::Store;
use super::{CircuitBreakerRegistry, Inner};
use crate::breaker::config::invalid::above_zero;
use crate::breaker::site::Site;
use crate::breaker::{CircuitBreakerConfig, Clock, InvalidConfig, SystemClock};
use crate::key::{CircuitKey, KeyScheme};
use crate::observe::Listener;
use crate::observe::listener::Listeners;
use crate::outcome::{Classifier, DefaultClassifier, VerdictAt};

const DEFAULT_NAME: &str = "default";
const DEFAULT_MAX_BREAKERS: usize = 10_000;

pub(super) type ConfigFor = Box<dyn Fn(&CircuitKey) -> Option<CircuitBreakerConfig> + Send + Sync>;

/// Builder of a [`CircuitBreakerRegistry`].
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use reqwest_circuit_breaker::{CircuitBreakerConfig, CircuitBreakerRegistry, ConnectionFailures, Event, KeyScheme, ManualClock, VerdictAt};
///
/// let registry = CircuitBreakerRegistry::builder()
///     .name("hosts")
///     .config(CircuitBreakerConfig::builder().recovery_timeout(Duration::from_secs(5)).build()?)
///     .key_scheme(KeyScheme::origin())
///     .classifier(ConnectionFailures)
///     .verdict_at(VerdictAt::Headers)
///     .max_breakers(1_000)
///     .idle_timeout(Duration::from_secs(3_600))
///     .listener(|event: &Event| println!("{event:?}"))
///     .clock(ManualClock::new())
///     .build()?;
/// assert_eq!(registry.name(), "hosts");
/// # Ok::<(), reqwest_circuit_breaker::InvalidConfig>(())
/// ```
#[must_use = "a builder does nothing until it is built"]
pub struct CircuitBreakerRegistryBuilder {
    name: Arc<str>,
    config: CircuitBreakerConfig,
    config_for: Option<ConfigFor>,
    key_scheme: KeyScheme,
    classifier: Box<dyn Classifier>,
    verdict_at: VerdictAt,
    max_breakers: usize,
    idle_timeout: Option<Duration>,
    listeners: Listeners,
    clock: Box<dyn Clock>,
}

impl Default for CircuitBreakerRegistryBuilder {
    fn default() -> Self {
        Self {
            name: DEFAULT_NAME.into(),
            config: CircuitBreakerConfig::default(),
            config_for: None,
            key_scheme: KeyScheme::default(),
            classifier: Box::new(DefaultClassifier::default()),
            verdict_at: VerdictAt::default(),
            max_breakers: DEFAULT_MAX_BREAKERS,
            idle_timeout: None,
            listeners: Listeners::default(),
            clock: Box::new(SystemClock),
        }
    }
}

impl CircuitBreakerRegistryBuilder {
    /// Sets the name that errors, events, snapshots and metrics show.
    ///
    /// Default: `"default"`. Name them where an application has more than one, as with a host layer.
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the config of all breakers. Default: [`CircuitBreakerConfig::default`].
    pub fn config(mut self, config: CircuitBreakerConfig) -> Self {
        self.config = config;
        self
    }

    /// Sets a function that may give a key a config of its own; `None` is the config of all.
    ///
    /// It is called when a breaker is about to be created, and under no lock: more than once if two calls come first at
    /// once, and each time that a call finds no room for its breaker.
    ///
    /// ```
    /// use reqwest_circuit_breaker::{CircuitBreakerConfig, CircuitBreakerRegistry, CircuitKey, TripPolicy};
    ///
    /// let patient = CircuitBreakerConfig::builder().trip_on(TripPolicy::consecutive_failures(20)).build()?;
    /// let registry = CircuitBreakerRegistry::builder()
    ///     .config_for(move |key: &CircuitKey| (key.origin().host() == "batch.example").then(|| patient.clone()))
    ///     .build()?;
    /// assert!(registry.is_empty(), "nothing was asked yet");
    /// # Ok::<(), reqwest_circuit_breaker::InvalidConfig>(())
    /// ```
    pub fn config_for(
        mut self,
        config_for: impl Fn(&CircuitKey) -> Option<CircuitBreakerConfig> + Send + Sync + 'static,
    ) -> Self {
        self.config_for = Some(Box::new(config_for));
        self
    }

    /// Sets what a breaker is for. Default: [`KeyScheme::origin`], one per scheme, host and port.
    pub fn key_scheme(mut self, key_scheme: KeyScheme) -> Self {
        self.key_scheme = key_scheme;
        self
    }

    /// Sets who turns an outcome into a verdict. Default: [`DefaultClassifier::default`].
    ///
    /// It is called under no lock, on the thread that ends the call: once, and once more for a body that breaks under
    /// [`VerdictAt::EndOfBody`]. If it panics, the call counts as cancelled.
    ///
    /// One for all breakers of the registry: a second call replaces the first.
    pub fn classifier(mut self, classifier: impl Classifier) -> Self {
        self.classifier = Box::new(classifier);
        self
    }

    /// Sets when the verdict is made. Default: [`VerdictAt::Headers`].
    pub fn verdict_at(mut self, verdict_at: VerdictAt) -> Self {
        self.verdict_at = verdict_at;
        self
    }

    /// Sets how many breakers there may be. It is a hard bound.
    ///
    /// Default: 10 000. When it is reached, the least recently used breaker that is closed and not in use makes room; if
    /// there is none, a new key goes without a breaker.
    pub fn max_breakers(mut self, n: usize) -> Self {
        self.max_breakers = n;
        self
    }

    /// Retires closed breakers that nobody used for this long; calls do it in passing. Each that goes is an
    /// [`Event::Evicted`](crate::Event::Evicted), and its counts go with it.
    ///
    /// Default: off. Set it where keys come and go, so that snapshots show only what lives.
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout = Some(timeout);
        self
    }

    /// Adds a listener; each hears every event.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// use reqwest_circuit_breaker::{CircuitBreakerRegistry, Event};
    ///
    /// let trips = Arc::new(AtomicU32::new(0));
    /// let counted = Arc::clone(&trips);
    /// let registry = CircuitBreakerRegistry::builder()
    ///     .listener(move |event: &Event| {
    ///         if let Event::Transition(_) = event {
    ///             counted.fetch_add(1, Ordering::Relaxed);
    ///         }
    ///     })
    ///     .build()?;
    /// registry.get_or_create(&"https://stock.example".parse()?).expect("there is room").force_open();
    /// assert_eq!(trips.load(Ordering::Relaxed), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn listener(mut self, listener: impl Listener) -> Self {
        self.listeners.add(listener);
        self
    }

    /// Sets the source of time. Default: [`SystemClock`]. Give a test a [`ManualClock`](crate::ManualClock).
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Box::new(clock);
        self
    }

    /// Builds the registry.
    ///
    /// # Errors
    ///
    /// [`InvalidConfig`] names the setter: an empty `name`, a `max_breakers` or an `idle_timeout` of zero.
    ///
    /// ```
    /// use reqwest_circuit_breaker::CircuitBreakerRegistry;
    ///
    /// let error = CircuitBreakerRegistry::builder().max_breakers(0).build().expect_err("room for none");
    /// assert_eq!(error.to_string(), "invalid `max_breakers`: must be at least 1");
    /// ```
    pub fn build(self) -> Result<CircuitBreakerRegistry, InvalidConfig> {
        if self.name.is_empty() {
            return Err(InvalidConfig::new("name", "must not be empty"));
        }
        if self.max_breakers == 0 {
            return Err(InvalidConfig::new("max_breakers", "must be at least 1"));
        }
        above_zero("idle_timeout", self.idle_timeout)?;
        Ok(self.finish())
    }

    /// Builds what is known to be valid.
    pub(super) fn finish(self) -> CircuitBreakerRegistry {
        let inner = Inner {
            site: Arc::new(Site::new(self.name, self.listeners, self.clock)),
            store: Store::new(self.max_breakers, self.idle_timeout),
            misuse: Misuse::default(),
            key_scheme: self.key_scheme,
            config: Arc::new(self.config),
            config_for: self.config_for,
            classifier: self.classifier,
            verdict_at: self.verdict_at,
            // The standard library's only source of randomness: every `RandomState` has other keys.
            jitter_seed: RandomState::new().hash_one(0),
            follows_hops: AtomicBool::new(false),
        };
        CircuitBreakerRegistry { inner: Arc::new(inner) }
    }
}

/// A number that tells keys apart and is the same in every process.
pub(super) fn fingerprint(key: &CircuitKey) -> u64 {
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    hasher.finish()
}

impl fmt::Debug for CircuitBreakerRegistryBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CircuitBreakerRegistryBuilder")
            .field("name", &self.name)
            .field("config", &self.config)
            .field("key_scheme", &self.key_scheme)
            .field("verdict_at", &self.verdict_at)
            .field("max_breakers", &self.max_breakers)
            .field("idle_timeout", &self.idle_timeout)
            .finish_non_exhaustive()
    }
}
