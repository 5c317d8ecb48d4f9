//! Time for a history.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime};

use reqwest_circuit_breaker::{Clock, ManualClock};

/// A clock that can go anywhere, also before the registry's beginning and past the end of its time.
#[derive(Clone)]
pub(super) struct AnyClock {
    beginning: Instant,
    /// Since a day before the beginning.
    reading: Arc<Mutex<Duration>>,
}

const DAY: Duration = Duration::from_secs(86_400);
const FAR: Duration = Duration::from_nanos(u64::MAX);

impl AnyClock {
    pub(super) fn new() -> Self {
        let beginning = ManualClock::new().now() + DAY;
        Self {
            beginning,
            reading: Arc::new(Mutex::new(DAY)),
        }
    }

    fn reading(&self) -> Duration {
        *lock(&self.reading)
    }

    /// Nanoseconds since the registry began, as it understands them.
    pub(super) fn ticks(&self) -> u128 {
        self.reading().saturating_sub(DAY).as_nanos().min(FAR.as_nanos())
    }

    pub(super) fn advance(&self, by: Duration) {
        let mut reading = lock(&self.reading);
        *reading = reading.saturating_add(by).min(FAR + 2 * DAY);
    }

    pub(super) fn go_back(&self, by: Duration) {
        let mut reading = lock(&self.reading);
        *reading = reading.saturating_sub(by);
    }
}

impl Clock for AnyClock {
    fn now(&self) -> Instant {
        self.beginning - DAY + self.reading()
    }

    fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + self.reading()
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics with the lock held")
}
