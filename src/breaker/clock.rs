//! Time as an argument.
//!
//! Nothing in the crate reads the system's clock but [`SystemClock`]: a test advances a [`ManualClock`] instead of
//! sleeping. Inside, an instant is a [`Tick`]: nanoseconds since the registry began, which saturate instead of
//! overflowing, at either end.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

/// Source of time for a registry.
///
/// It is called outside every lock, and only where a decision needs the time. A panic in it is the caller's.
///
/// # Examples
///
/// ```
/// use std::time::{Duration, Instant};
/// use reqwest_circuit_breaker::{CircuitBreakerRegistry, Clock};
///
/// /// A clock that runs a hundred times as fast, for a demonstration.
/// struct Hasty(Instant);
///
/// impl Clock for Hasty {
///     fn now(&self) -> Instant {
///         self.0 + self.0.elapsed() * 100
///     }
/// }
///
/// let registry = CircuitBreakerRegistry::builder().clock(Hasty(Instant::now())).build()?;
/// let breaker = registry.get_or_create(&"https://stock.example".parse()?).expect("there is room");
/// breaker.trip(Duration::from_secs(1));
/// std::thread::sleep(Duration::from_millis(20));
/// assert!(breaker.would_admit());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Clock: Send + Sync + 'static {
    /// Returns the present instant of a monotonic clock. Instants may arrive out of order from several threads.
    fn now(&self) -> Instant;

    /// Returns the present wall-clock time, for HTTP dates in `Retry-After` and for the time of a transition.
    ///
    /// Default: the system's.
    fn wall(&self) -> SystemTime {
        SystemClock.wall()
    }
}

impl<T: Clock + ?Sized> Clock for Arc<T> {
    fn now(&self) -> Instant {
        (**self).now()
    }

    fn wall(&self) -> SystemTime {
        (**self).wall()
    }
}

/// The operating system's clocks. The default.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

#[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
impl Clock for SystemClock {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// A clock that stands still until it is told to advance, for tests.
///
/// Clones share the time, so the one given to a registry can be moved from the test. It moves what breakers measure, wall
/// clock included, and nothing else: no timeout of reqwest, no pause between retries. Nor does tokio's paused time move it.
///
/// # Examples
///
/// ```
/// use std::time::Duration;
/// use reqwest_circuit_breaker::{CircuitBreakerRegistry, CircuitKey, ManualClock, State, Verdict};
///
/// let clock = ManualClock::new();
/// let registry = CircuitBreakerRegistry::builder().clock(clock.clone()).build()?;
/// let key: CircuitKey = "https://stock.example".parse()?;
/// let breaker = registry.get_or_create(&key).expect("there is room");
///
/// breaker.trip(Duration::from_secs(30));
/// assert!(!breaker.would_admit());
/// clock.advance(Duration::from_secs(30));
/// breaker.try_acquire()?.record(Verdict::Success);
/// assert_eq!(breaker.state(), State::Closed);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ManualClock {
    start: Instant,
    start_wall: SystemTime,
    advanced: Arc<AtomicU64>,
}

impl ManualClock {
    /// Creates a clock that stands at the present time.
    ///
    /// ```
    /// use reqwest_circuit_breaker::{Clock, ManualClock};
    ///
    /// let clock = ManualClock::new();
    /// assert_eq!(clock.now(), clock.now());
    /// ```
    pub fn new() -> Self {
        Self {
            start: SystemClock.now(),
            start_wall: SystemClock.wall(),
            advanced: Arc::new(AtomicU64::new(0)),
        }
    }

    /// Moves this clock and all its clones forward. The sum of all moves saturates at 584 years.
    ///
    /// ```
    /// use std::time::Duration;
    /// use reqwest_circuit_breaker::{Clock, ManualClock};
    ///
    /// let clock = ManualClock::new();
    /// let before = clock.now();
    /// clock.clone().advance(Duration::from_secs(30));
    /// assert_eq!(clock.now() - before, Duration::from_secs(30));
    /// ```
    pub fn advance(&self, by: Duration) {
        let by = nanos(by);
        let add = |at: u64| Some(at.saturating_add(by));
        // The closure always returns a value, so the update cannot fail.
        let _ = self.advanced.fetch_update(Ordering::SeqCst, Ordering::SeqCst, add);
    }

    fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.advanced.load(Ordering::SeqCst))
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManualClock")
            .field("advanced", &self.elapsed())
            .finish()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Instant {
        self.start.checked_add(self.elapsed()).unwrap_or(self.start)
    }

    fn wall(&self) -> SystemTime {
        self.start_wall.checked_add(self.elapsed()).unwrap_or(self.start_wall)
    }
}

/// An instant: nanoseconds since the registry began. An earlier instant is zero, a later one than 584 years is the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tick(u64);

impl Tick {
    pub(crate) const ZERO: Self = Self(0);

    pub(crate) fn between(start: Instant, now: Instant) -> Self {
        Self(nanos(now.saturating_duration_since(start)))
    }

    pub(crate) const fn as_nanos(self) -> u64 {
        self.0
    }

    pub(crate) const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    pub(crate) fn after(self, wait: Duration) -> Self {
        Self(self.0.saturating_add(nanos(wait)))
    }

    /// Time from `earlier` to `self`; zero where they arrive out of order.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// Whole nanoseconds of a duration, at most `u64::MAX`.
pub(crate) fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_of_a_manual_clock_share_the_time_and_move_both_clocks() {
        let clock = ManualClock::new();
        let (instant, wall) = (clock.now(), clock.wall());
        clock.clone().advance(Duration::from_secs(3));
        assert_eq!(clock.now() - instant, Duration::from_secs(3));
        assert_eq!(clock.wall().duration_since(wall).unwrap(), Duration::from_secs(3));
    }

    #[test]
    fn time_saturates_at_both_ends() {
        let clock = ManualClock::new();
        let start = clock.now();
        clock.advance(Duration::MAX);
        clock.advance(Duration::MAX);
        assert_eq!(Tick::between(start, clock.now()), Tick(u64::MAX));
        assert_eq!(Tick::between(clock.now(), start), Tick::ZERO);
        assert_eq!(Tick(5).after(Duration::MAX), Tick(u64::MAX));
        assert_eq!(Tick(5).since(Tick(9)), Duration::ZERO);
    }
}
