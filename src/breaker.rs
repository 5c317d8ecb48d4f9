//! MAY this call go?
//!
//! One breaker, usable around any call: ask for a [`Permit`], make the call, record the verdict. It knows nothing of
//! HTTP, of URLs or of an async runtime.

pub(crate) mod clock;
pub(crate) mod config;
mod core;
#[cfg(all(test, breaker_loom))]
pub(crate) mod interleavings;
mod machine;
mod permit;
mod recovery;
pub(crate) mod site;
mod snapshot;
mod stripes;
mod usage;
mod window;

use std::fmt;
use std::time::Duration;

pub use self::clock::{Clock, ManualClock, SystemClock};
pub use self::config::{CircuitBreakerConfig, CircuitBreakerConfigBuilder, InvalidConfig, TripPolicy};
pub use self::permit::Permit;

use self::clock::Tick;
use self::core::Core;
use self::site::Site;
use self::stripes::Stripes;
use crate::error::CircuitOpenError;
use crate::key::CircuitKey;
use crate::state::State;
use crate::sync::{Arc, AtomicU64};

/// A handle to one circuit breaker. Every clone is the same breaker.
///
/// The middleware uses it for you. By hand it works around any call, HTTP or not; see [`Permit`].
///
/// It comes from a registry: [`get`](crate::CircuitBreakerRegistry::get),
/// [`get_or_create`](crate::CircuitBreakerRegistry::get_or_create). Its key is an `http` or `https` origin, also where the
/// call is none of HTTP: name a database `https://db.internal:5432`.
///
/// # Examples
///
/// ```
/// use reqwest_circuit_breaker::{CircuitBreakerRegistry, CircuitKey, FailureKind, Verdict};
///
/// fn query() -> Result<u32, std::io::Error> {
///     Err(std::io::ErrorKind::TimedOut.into())
/// }
///
/// let registry = CircuitBreakerRegistry::builder().name("databases").build()?;
/// let key: CircuitKey = "https://db.internal:5432".parse()?;
/// let breaker = registry.get_or_create(&key).expect("there is room");
///
/// let mut asked = 0;
/// for _ in 0..8 {
///     let Ok(permit) = breaker.try_acquire() else { continue };
///     asked += 1;
///     permit.record(match query() {
///         Ok(_) => Verdict::Success,
///         Err(_) => Verdict::Failure(FailureKind::Other),
///     });
/// }
/// assert_eq!(asked, 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct CircuitBreaker {
    handle: Arc<Handle>,
}

struct Handle {
    stripes: Stripes,
    /// For whoever evicts: the order of the last use, and its time.
    last_used: AtomicU64,
    last_seen: AtomicU64,
}

impl CircuitBreaker {
    pub(crate) fn new(
        key: CircuitKey,
        config: std::sync::Arc<CircuitBreakerConfig>,
        site: std::sync::Arc<Site>,
        jitter_seed: u64,
    ) -> Self {
        let core = Arc::new(Core::new(key, config, site, jitter_seed));
        let (last_used, last_seen) = (AtomicU64::new(0), AtomicU64::new(0));
        Self {
            handle: Arc::new(Handle {
                stripes: Stripes::new(&core),
                last_used,
                last_seen,
            }),
        }
    }

    /// Returns the key.
    ///
    /// ```
    /// use reqwest_circuit_breaker::CircuitBreakerRegistry;
    ///
    /// let registry = CircuitBreakerRegistry::default();
    /// let breaker = registry.get_or_create(&"https://stock.example".parse()?).expect("there is room");
    /// assert_eq!(breaker.key().to_string(), "https://stock.example");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn key(&self) -> &CircuitKey {
        self.core().key()
    }

    /// Returns the state, and changes nothing: an opening whose time is over stays [`State::Open`] until a call comes.
    ///
    /// ```
    /// use reqwest_circuit_breaker::{CircuitBreakerRegistry, State};
    ///
    /// let registry = CircuitBreakerRegistry::default();
    /// let breaker = registry.get_or_create(&"https://stock.example".parse()?).expect("there is room");
    /// assert_eq!(breaker.state(), State::Closed);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn state(&self) -> State {
        self.core().state()
    }

    /// Returns `true` if a call would be admitted now. Takes no slot and changes nothing.
    ///
    /// Under [`report_only`](CircuitBreakerConfigBuilder::report_only) it is always `true`.
    ///
    /// ```
    /// use reqwest_circuit_breaker::CircuitBreakerRegistry;
    ///
    /// let registry = CircuitBreakerRegistry::default();
    /// let breaker = registry.get_or_create(&"https://stock.example".parse()?).expect("there is room");
    /// assert!(breaker.would_admit());
    /// breaker.force_open();
    /// assert!(!breaker.would_admit());
    /// assert_eq!(breaker.snapshot().totals.rejected, 0, "asking is not calling");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn would_admit(&self) -> bool {
        self.peek().is_none()
    }

    /// Admits a call, or says why not.
    ///
    /// The first call after the recovery timeout gets the probe's permit, and makes the breaker half-open.
    ///
    /// # Errors
    ///
    /// [`CircuitOpenError`] if the breaker is open, forced open, or half-open with every probe slot taken.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use reqwest_circuit_breaker::{CircuitBreakerRegistry, RejectReason, Verdict};
    ///
    /// let registry = CircuitBreakerRegistry::default();
    /// let breaker = registry.get_or_create(&"https://stock.example".parse()?).expect("there is room");
    /// breaker.try_acquire()?.record(Verdict::Success);
    ///
    /// breaker.trip(Duration::ZERO);
    /// let probe = breaker.try_acquire()?;
    /// assert!(probe.is_probe());
    /// let rejection = breaker.try_acquire().expect_err("the probe holds the only slot");
    /// assert_eq!(rejection.reason(), RejectReason::ProbeInFlight);
    /// drop(probe); // says nothing, and the slot is free at once
    /// assert!(breaker.try_acquire()?.is_probe());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    // By force, here and along the path of a closed breaker: a permit that a function returns goes through memory.
    #[inline(always)]
    pub fn try_acquire(&self) -> Result<Permit, CircuitOpenError> {
        match self.admit_untimed() {
            Some(permit) => Ok(permit),
            None => self.admit(None),
        }
    }

    /// Opens the breaker until it is [reset](Self::reset): every call is rejected, no probe passes.
    ///
    /// On a breaker that is forced open it does nothing.
    ///
    /// ```
    /// use reqwest_circuit_breaker::{CircuitBreakerRegistry, State};
    ///
    /// let registry = CircuitBreakerRegistry::default();
    /// let breaker = registry.get_or_create(&"https://stock.example".parse()?).expect("there is room");
    /// breaker.force_open();
    /// assert!(breaker.try_acquire().is_err());
    /// assert_eq!(breaker.state(), State::ForcedOpen);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn force_open(&self) {
        self.core().by_hand(|machine, now| machine.force_open(now));
    }

    /// Lets every call pass, whatever their verdicts, until the breaker is [reset](Self::reset).
    ///
    /// On a disabled breaker it does nothing.
    ///
    /// ```
    /// use reqwest_circuit_breaker::{CircuitBreakerRegistry, FailureKind, State, Verdict};
    ///
    /// let registry = CircuitBreakerRegistry::default();
    /// let breaker = registry.get_or_create(&"https://stock.example".parse()?).expect("there is room");
    /// breaker.disable();
    /// for _ in 0..100 {
    ///     breaker.try_acquire()?.record(Verdict::Failure(FailureKind::Timeout));
    /// }
    /// assert_eq!(breaker.state(), State::Disabled);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn disable(&self) {
        self.core().by_hand(|machine, now| machine.disable(now));
    }

    /// Closes the breaker and starts its counts from nothing. The only way out of [`force_open`](Self::force_open) and
    /// [`disable`](Self::disable).
    ///
    /// It is a transition also on a closed breaker: calls in flight are fenced, their verdicts are late.
    ///
    /// ```
    /// use reqwest_circuit_breaker::{CircuitBreakerRegistry, FailureKind, State, Verdict};
    ///
    /// let registry = CircuitBreakerRegistry::default();
    /// let breaker = registry.get_or_create(&"https://stock.example".parse()?).expect("there is room");
    /// let permit = breaker.try_acquire()?;
    /// breaker.reset();
    /// permit.record(Verdict::Failure(FailureKind::Timeout));
    /// let totals = breaker.snapshot().totals;
    /// assert_eq!((totals.failure, totals.late), (0, 1));
    ///
    /// breaker.force_open();
    /// breaker.reset();
    /// assert_eq!(breaker.state(), State::Closed);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reset(&self) {
        self.core().by_hand(|machine, now| Some(machine.reset(now)));
    }

    /// Opens the breaker for `length`, then probes as usual. The backoff does not count it.
    ///
    /// On a breaker that is forced open or disabled it does nothing.
    ///
    /// ```
    /// use std::time::Duration;
    /// use reqwest_circuit_breaker::{CircuitBreakerRegistry, State};
    ///
    /// let registry = CircuitBreakerRegistry::default();
    /// let breaker = registry.get_or_create(&"https://stock.example".parse()?).expect("there is room");
    /// breaker.trip(Duration::from_secs(300));
    /// let rejection = breaker.try_acquire().expect_err("it is open");
    /// assert!(rejection.retry_after() > Some(Duration::from_secs(299)));
    /// assert_eq!(breaker.state(), State::Open);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trip(&self, length: Duration) {
        self.core().by_hand(|machine, now| machine.trip(length, now));
    }
}

/// For the registry and the middleware.
impl CircuitBreaker {
    /// Shows a new breaker to whoever counts. Runs foreign code.
    pub(crate) fn announce(&self) {
        self.core().announce();
    }

    /// Admits a call of a closed breaker, unless the clock would have to be read: calls no foreign code, so that it may
    /// run under a lock.
    #[inline(always)]
    pub(crate) fn admit_untimed(&self) -> Option<Permit> {
        if self.core().times_calls() {
            None
        } else {
            self.admit_closed(Tick::ZERO)
        }
    }

    /// Admits a call in any state. `patience` is how long the call itself may take, if it said so.
    pub(crate) fn admit(&self, patience: Option<Duration>) -> Result<Permit, CircuitOpenError> {
        let core = self.core();
        let now = if core.times_calls() {
            core.site.now()
        } else {
            Tick::ZERO
        };
        match self.admit_closed(now) {
            Some(permit) => Ok(permit),
            None => core.admit(patience, |ticket, now| {
                Permit::new(self.handle.stripes.lease(), ticket, now)
            }),
        }
    }

    /// Admits a call if the breaker is closed, and asks for nothing otherwise.
    pub(crate) fn admit_if_closed(&self) -> Option<Permit> {
        self.admit_closed(self.core().site.now())
    }

    #[inline(always)]
    fn admit_closed(&self, now: Tick) -> Option<Permit> {
        let ticket = self.core().admit_closed()?;
        Some(Permit::new(self.handle.stripes.lease(), ticket, now))
    }

    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.state() == State::Closed
    }

    /// The rejection that a call would get now. Takes no slot and changes nothing.
    pub(crate) fn peek(&self) -> Option<CircuitOpenError> {
        self.core().peek()
    }

    /// Rejects a call that asked for no permit, if a call would be rejected now; counts and tells it.
    pub(crate) fn reject(&self) -> Option<CircuitOpenError> {
        self.core().reject()
    }

    #[inline]
    fn core(&self) -> &Core {
        self.handle.stripes.core()
    }
}

impl fmt::Debug for CircuitBreaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CircuitBreaker")
            .field("key", self.key())
            .field("state", &self.state())
            .finish()
    }
}
