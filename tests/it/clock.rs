//! Time may stand still, jump, arrive out of order or come to its end: no panic, and no rule broken.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use reqwest_circuit_breaker::{
    CircuitBreakerConfig, CircuitBreakerConfigBuilder, CircuitBreakerRegistry, Clock, FailureKind, ManualClock,
    RejectReason, State, TripPolicy, Verdict,
};

use crate::fixture::{F, Fixture, S, key, secs};

/// A clock that can be set to any time, earlier ones too. Clones share the time.
#[derive(Clone)]
pub(crate) struct SetClock {
    start: Instant,
    offset: Arc<Mutex<Duration>>,
}

impl Default for SetClock {
    fn default() -> Self {
        Self {
            start: ManualClock::new().now(),
            offset: Arc::default(),
        }
    }
}

impl SetClock {
    pub(crate) fn set(&self, offset: Duration) {
        *self.offset.lock().expect("nobody panics with it") = offset;
    }
}

impl Clock for SetClock {
    fn now(&self) -> Instant {
        let offset = *self.offset.lock().expect("nobody panics with it");
        self.start.checked_add(offset).expect("an instant")
    }

    fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

fn set_fixture(config: CircuitBreakerConfigBuilder) -> (Fixture, SetClock) {
    let clock = SetClock::default();
    let given = clock.clone();
    (Fixture::with(config, |registry| registry.clock(given)), clock)
}

#[test]
fn an_instant_before_the_deadline_is_rejected_also_after_one_at_it() {
    let (it, clock) = set_fixture(CircuitBreakerConfig::builder());
    clock.set(secs(10));
    it.repeat(5, F);
    clock.set(secs(5));
    assert_eq!(
        it.rejection().retry_after(),
        Some(secs(35)),
        "the wait is from the caller's own instant"
    );
    clock.set(secs(40));
    it.probe().record(S);
}

#[test]
fn an_earlier_instant_than_the_registry_is_its_start() {
    let start = ManualClock::new().now();
    let Some(later) = start.checked_add(secs(1000)) else {
        panic!("an instant")
    };
    let clock = SetClock {
        start: later,
        offset: Arc::default(),
    };
    let given = clock.clone();
    let it = Fixture::with(CircuitBreakerConfig::builder(), |registry| registry.clock(given));
    *clock.offset.lock().unwrap() = Duration::ZERO;
    it.repeat(5, F);
    assert_eq!(it.snapshot().open_for, Some(Duration::ZERO));
}

#[test]
fn a_verdict_before_its_admission_took_no_time() {
    let slow = TripPolicy::slow_call_rate(1, secs(1)).over_last_calls(1);
    let (it, clock) = set_fixture(CircuitBreakerConfig::builder().trip_on(slow).abandoned_after(secs(1)));
    clock.set(secs(100));
    let (call, dropped) = (it.permit(), it.permit());
    clock.set(secs(1));
    call.record(S);
    drop(dropped);
    assert_eq!((it.state(), it.ends()), (State::Closed, [1, 0, 0, 1, 0]));
}

#[test]
fn a_probe_that_ends_before_it_began_counts() {
    let (it, clock) = set_fixture(CircuitBreakerConfig::builder());
    it.repeat(5, F);
    clock.set(secs(31));
    let probe = it.probe();
    clock.set(secs(30));
    assert_eq!(it.rejection().reason(), RejectReason::ProbeInFlight);
    probe.record(F);
    assert_eq!(
        (it.state(), it.rejection().retry_after()),
        (State::Open, Some(secs(30)))
    );
}

#[test]
fn the_longest_durations_are_legal_everywhere() {
    let max = Duration::MAX;
    let config = CircuitBreakerConfig::builder()
        .trip_on(TripPolicy::failure_rate(100).over_last(max).minimum_calls(2))
        .trip_on(TripPolicy::slow_call_rate(100, max).over_last(max).minimum_calls(2))
        .recovery_timeout(max)
        .recovery_backoff(1e300, max)
        .recovery_jitter(1)
        .recovery_jitter_seed(1)
        .honor_retry_after(max)
        .probe_timeout(max)
        .abandoned_after(max);
    let it = Fixture::with(config, |registry| registry.idle_timeout(max));
    it.permit().record(F);
    it.permit().record_with_retry_after(F, max);
    assert_eq!(it.state(), State::Open);
    assert!(
        it.rejection().retry_after().is_some_and(|wait| wait > secs(1 << 33)),
        "centuries"
    );
    it.clock.advance(secs(1 << 33));
    assert!(it.rejection().retry_after().is_some_and(|wait| wait > secs(1 << 33)));
    it.breaker.trip(max);
    let _ = it.rejection();
    // The end of time: 584 years after the start whatever was promised is over.
    it.clock.advance(max);
    let probe = it.probe();
    it.clock.advance(max);
    assert_eq!(
        it.rejection().reason(),
        RejectReason::ProbeInFlight,
        "but a probe that may say nothing for ever keeps its slot"
    );
    drop(probe);
    it.breaker.reset();
    it.repeat(2, F);
    assert_eq!(it.state(), State::Open);
    let _ = it.snapshot();
}

#[test]
fn a_huge_step_is_a_step_like_any_other() {
    for step in [secs(1 << 32), Duration::from_nanos(u64::MAX - 1), Duration::MAX] {
        let config = CircuitBreakerConfig::builder()
            .trip_on(
                TripPolicy::failure_rate(50)
                    .over_last(Duration::from_nanos(32))
                    .minimum_calls(2),
            )
            .recovery_backoff(2, secs(100));
        let it = Fixture::new(config);
        it.repeat(1, F);
        it.clock.advance(step);
        it.repeat(2, F);
        assert_eq!(it.state(), State::Open, "{step:?}");
        assert_eq!(it.snapshot().open_for, Some(Duration::ZERO));
    }
}

#[test]
fn at_the_end_of_time_everything_is_due_at_once() {
    let it = Fixture::five();
    it.clock.advance(Duration::MAX);
    it.repeat(5, F);
    assert!(it.snapshot().probe_due, "no deadline lies beyond");
    it.probe().record(F);
    it.probe().record(S);
    assert_eq!(it.state(), State::Closed);
}

/// A clock that panics while it is told to.
#[derive(Clone)]
struct Broken {
    sound: ManualClock,
    broken: Arc<Mutex<bool>>,
}

impl Broken {
    fn new() -> Self {
        Self {
            sound: ManualClock::new(),
            broken: Arc::default(),
        }
    }

    fn set(&self, broken: bool) {
        *self.broken.lock().expect("nobody panics with it") = broken;
    }
}

impl Clock for Broken {
    fn now(&self) -> Instant {
        let broken = *self.broken.lock().expect("nobody panics with it");
        assert!(!broken, "the clock is broken");
        self.sound.now()
    }
}

#[test]
fn a_clock_that_panics_costs_no_slot_and_no_lock() {
    let clock = Broken::new();
    let registry = CircuitBreakerRegistry::builder()
        .config(
            CircuitBreakerConfig::builder()
                .abandoned_after(secs(1))
                .build()
                .unwrap(),
        )
        .clock(clock.clone())
        .build()
        .unwrap();
    let breaker = registry.get_or_create(&key("http://a.test")).unwrap();
    breaker.trip(secs(1));
    clock.sound.advance(secs(1));
    for verdict in [None, Some(S), Some(F)] {
        let probe = breaker.try_acquire().unwrap();
        clock.sound.advance(secs(5));
        clock.set(true);
        match verdict {
            // A drop never panics.
            None => drop(probe),
            Some(verdict) => crate::fixture::assert_panics(|| probe.record(verdict)),
        }
        clock.set(false);
        let snapshot = breaker.snapshot();
        assert_eq!(
            (snapshot.state, snapshot.in_flight),
            (State::HalfOpen, 0),
            "{verdict:?}"
        );
        assert!(breaker.would_admit());
    }
    clock.set(true);
    crate::fixture::assert_panics(|| breaker.try_acquire().map(drop).is_ok());
    clock.set(false);
    breaker.try_acquire().unwrap().record(Verdict::Success);
    assert_eq!(
        (breaker.state(), breaker.snapshot().totals.cancelled),
        (State::Closed, 3)
    );
    assert_eq!(breaker.snapshot().last_failure, None::<FailureKind>);
}

#[test]
fn a_healthy_call_does_not_read_the_clock() {
    let clock = Broken::new();
    let registry = CircuitBreakerRegistry::builder().clock(clock.clone()).build().unwrap();
    registry.get_or_create(&key("http://a.test")).unwrap();
    for _ in 0..3 {
        clock.set(true);
        let breaker = registry.get_or_create(&key("http://a.test")).unwrap();
        for _ in 0..3 {
            breaker.try_acquire().unwrap().record(S);
            drop(breaker.try_acquire().unwrap());
        }
        assert!(breaker.would_admit());
        clock.set(false);
        // Nor in a later generation.
        breaker.reset();
    }
}

/// A clock whose wall side panics.
#[derive(Clone)]
struct NoCalendar(ManualClock);

impl Clock for NoCalendar {
    fn now(&self) -> Instant {
        self.0.now()
    }

    fn wall(&self) -> SystemTime {
        panic!("there is no calendar")
    }
}

#[test]
fn a_panic_of_the_wall_clock_loses_no_event() {
    let clock = NoCalendar(ManualClock::new());
    let it = Fixture::with(CircuitBreakerConfig::builder(), |registry| registry.clock(clock));
    it.repeat(5, F);
    // The fixture checks, when it ends, that the transitions are a legal path.
    assert_eq!(it.breaker.state(), State::Open);
    assert_eq!(it.breaker.snapshot().history.len(), 1);
    assert_eq!(it.events.transitions().len(), 1);
}
