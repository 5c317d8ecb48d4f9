//! One breaker under a clock that stands still, and everything that its registry told.
//!
//! Whatever a test does with it, two rules are checked when it ends: the totals add up, and the transitions of the breaker
//! are a legal path.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest_circuit_breaker::{
    CircuitBreaker, CircuitBreakerConfig, CircuitBreakerConfigBuilder, CircuitBreakerRegistry,
    CircuitBreakerRegistryBuilder, CircuitKey, CircuitOpenError, CircuitSnapshot, Event, FailureKind, HalfOpenSnapshot,
    ManualClock, Permit, ProbeFinished, Rejected, State, Totals, Transition, TransitionReason, TripPolicy, Verdict,
};

pub(crate) const S: Verdict = Verdict::Success;
pub(crate) const F: Verdict = Verdict::Failure(FailureKind::Timeout);
pub(crate) const N: Verdict = Verdict::Ignored;

pub(crate) fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

pub(crate) fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn key(text: &str) -> CircuitKey {
    text.parse().expect("a key")
}

/// A rate of 50 % over the last 10 s, minimum 10 calls.
pub(crate) fn half_of_ten() -> CircuitBreakerConfigBuilder {
    let policy = TripPolicy::failure_rate(50).over_last(secs(10)).minimum_calls(10);
    CircuitBreakerConfig::builder().trip_on(policy)
}

/// Everything that a registry told, in the order of delivery.
#[derive(Clone, Default)]
pub(crate) struct Events(Arc<Mutex<Vec<Event>>>);

impl Events {
    pub(crate) fn listener(&self) -> impl Fn(&Event) + Send + Sync + 'static {
        let events = self.clone();
        move |event| {
            events
                .0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(event.clone())
        }
    }

    pub(crate) fn all(&self) -> Vec<Event> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn pick<T>(&self, pick: impl Fn(Event) -> Option<T>) -> Vec<T> {
        self.all().into_iter().filter_map(pick).collect()
    }

    pub(crate) fn transitions(&self) -> Vec<Transition> {
        self.pick(|event| match event {
            Event::Transition(transition) => Some(transition),
            _ => None,
        })
    }

    pub(crate) fn rejections(&self) -> Vec<Rejected> {
        self.pick(|event| match event {
            Event::Rejected(rejected) => Some(rejected),
            _ => None,
        })
    }

    pub(crate) fn probes(&self) -> Vec<Verdict> {
        self.pick(|event| match event {
            Event::ProbeFinished(finished) => Some(ProbeFinished::verdict(&finished)),
            _ => None,
        })
    }

    /// The path that the transitions took: "closed>open open>half_open".
    pub(crate) fn path(&self) -> String {
        let steps = self.transitions().into_iter();
        let steps: Vec<_> = steps.map(|step| format!("{}>{}", step.from(), step.to())).collect();
        steps.join(" ")
    }
}

pub(crate) struct Fixture {
    pub(crate) clock: ManualClock,
    pub(crate) registry: CircuitBreakerRegistry,
    pub(crate) breaker: CircuitBreaker,
    pub(crate) events: Events,
    now: Mutex<Duration>,
}

impl Fixture {
    /// Five consecutive failures open, for 30 s; one probe decides.
    pub(crate) fn five() -> Self {
        Self::new(CircuitBreakerConfig::builder())
    }

    pub(crate) fn new(config: CircuitBreakerConfigBuilder) -> Self {
        Self::with(config, |registry| registry)
    }

    pub(crate) fn with(
        config: CircuitBreakerConfigBuilder,
        more: impl FnOnce(CircuitBreakerRegistryBuilder) -> CircuitBreakerRegistryBuilder,
    ) -> Self {
        let (clock, events) = (ManualClock::new(), Events::default());
        let builder = CircuitBreakerRegistry::builder()
            .config(config.build().expect("a config"))
            .clock(clock.clone())
            .listener(events.listener());
        let registry = more(builder).build().expect("a registry");
        let breaker = registry.get_or_create(&key("http://a.test")).expect("there is room");
        Self {
            clock,
            registry,
            breaker,
            events,
            now: Mutex::new(Duration::ZERO),
        }
    }

    /// Moves the clock to so many seconds from the start.
    pub(crate) fn at(&self, seconds: u64) -> &Self {
        self.at_time(secs(seconds))
    }

    pub(crate) fn at_time(&self, time: Duration) -> &Self {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        let step = time.checked_sub(*now).expect("this clock does not go back");
        self.clock.advance(step);
        *now = time;
        self
    }

    pub(crate) fn permit(&self) -> Permit {
        self.breaker.try_acquire().expect("an admission")
    }

    pub(crate) fn probe(&self) -> Permit {
        let permit = self.permit();
        assert!(permit.is_probe(), "an ordinary call instead of a probe");
        permit
    }

    pub(crate) fn rejection(&self) -> CircuitOpenError {
        self.breaker.try_acquire().expect_err("a rejection")
    }

    /// Makes calls with these verdicts, one after another.
    pub(crate) fn calls(&self, verdicts: impl IntoIterator<Item = Verdict>) -> &Self {
        for verdict in verdicts {
            self.permit().record(verdict);
        }
        self
    }

    pub(crate) fn repeat(&self, n: usize, verdict: Verdict) -> &Self {
        self.calls(std::iter::repeat_n(verdict, n))
    }

    pub(crate) fn state(&self) -> State {
        self.breaker.state()
    }

    pub(crate) fn snapshot(&self) -> CircuitSnapshot {
        self.breaker.snapshot()
    }

    pub(crate) fn totals(&self) -> Totals {
        self.snapshot().totals
    }

    /// Successes, failures, ignored, cancelled, late.
    pub(crate) fn ends(&self) -> [u64; 5] {
        let totals = self.totals();
        [
            totals.success,
            totals.failure,
            totals.ignored,
            totals.cancelled,
            totals.late,
        ]
    }

    pub(crate) fn half_open(&self) -> HalfOpenSnapshot {
        self.snapshot().half_open.expect("a half-open phase")
    }

    /// Opens it by failures of ordinary calls.
    pub(crate) fn opened(self) -> Self {
        for _ in 0..100 {
            if self.state() != State::Closed {
                return self;
            }
            self.permit().record(F);
        }
        panic!("a hundred failures did not open it");
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_adds_up(&self.snapshot());
            let mut steps = self.events.transitions();
            steps.retain(|step| step.key() == self.breaker.key());
            // Threads may deliver out of order.
            steps.sort_by_key(|step| step.generation());
            assert_legal_path(&steps);
        }
    }
}

/// Every call that started is in exactly one of the other totals, or in flight.
pub(crate) fn assert_adds_up(snapshot: &CircuitSnapshot) {
    let totals = &snapshot.totals;
    let ended = totals.success + totals.failure + totals.ignored + totals.cancelled + totals.late;
    assert_eq!(totals.started, ended + snapshot.in_flight, "{snapshot:?}");
    assert_eq!(
        totals.failures_by_kind.values().sum::<u64>(),
        totals.failure,
        "{snapshot:?}"
    );
    if let Some(half_open) = snapshot.half_open {
        assert!(u64::from(half_open.in_flight) <= snapshot.in_flight, "{snapshot:?}");
    }
}

/// Transitions of one key, in order: numbered from 1 without a gap, each from where the last one led, each for a reason
/// that fits.
pub(crate) fn assert_legal_path(steps: &[Transition]) {
    use State::{Closed, Disabled, ForcedOpen, HalfOpen, Open};

    let mut state = Closed;
    for (n, step) in steps.iter().enumerate() {
        assert_eq!(step.generation(), n as u64 + 1, "{steps:?}");
        assert_eq!(step.from(), state, "{steps:?}");
        let legal = match step.reason() {
            TransitionReason::Tripped => (step.from(), step.to()) == (Closed, Open),
            TransitionReason::RecoveryDue => (step.from(), step.to()) == (Open, HalfOpen),
            TransitionReason::ProbesSucceeded => (step.from(), step.to()) == (HalfOpen, Closed),
            TransitionReason::ProbesFailed => (step.from(), step.to()) == (HalfOpen, Open),
            TransitionReason::Manual => match step.to() {
                Closed => true,
                Open => matches!(step.from(), Closed | Open | HalfOpen),
                to => to != step.from() && matches!(to, ForcedOpen | Disabled),
            },
            _ => false,
        };
        assert!(legal, "{step:?}");
        state = step.to();
    }
}

/// The n-th of a fixed sequence of numbers without a pattern: SplitMix64.
pub(crate) fn dice(n: u64) -> u64 {
    let mut z = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Runs a call that panics, and asserts that it did.
pub(crate) fn assert_panics<T: Debug>(call: impl FnOnce() -> T) {
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
    assert!(outcome.is_err(), "no panic but {outcome:?}");
}
