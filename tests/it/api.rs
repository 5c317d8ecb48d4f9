//! What the public types can do: cross threads, be shown, be shared, be trait objects.

use std::error::Error;
use std::fmt::{Debug, Display};
use std::hash::Hash;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use reqwest_circuit_breaker::{
    CircuitBreaker, CircuitBreakerConfig, CircuitBreakerConfigBuilder, CircuitBreakerMiddleware,
    CircuitBreakerRegistry, CircuitBreakerRegistryBuilder, CircuitKey, CircuitOpenError, CircuitSnapshot, Classifier,
    Clock, ConnectionFailures, DefaultClassifier, Event, Evicted, EvictionReason, FailureKind, HalfOpenSnapshot,
    InvalidConfig, InvalidKey, KeyScheme, KeysGrow, Listener, ManualClock, Misplaced, Origin, Outcome, Overflowed,
    Permit, ProbeFinished, RegistryStats, RejectReason, Rejected, Route, SkipCircuitBreaker, State,
    StopRetriesWhenOpen, SystemClock, Totals, Transition, TransitionReason, TripPolicy, Verdict, VerdictAt,
    WindowSnapshot,
};
use reqwest_middleware::Middleware;

fn shared<T: Send + Sync + Debug + 'static>() {}
fn cloned<T: Clone>() {}
fn plain<T: Copy + Eq + Hash>() {}
fn shown<T: Display>() {}
fn failed<T: Error + Send + Sync + 'static>() {}
fn layer<T: Middleware>() {}
fn sound<T: UnwindSafe + RefUnwindSafe>() {}

macro_rules! each {
    ($assert:ident: $($type:ty),+ $(,)?) => { $($assert::<$type>();)+ };
}

#[test]
fn public_types_cross_threads_are_shown_and_are_shared() {
    each!(shared: CircuitBreaker, CircuitBreakerConfig, CircuitBreakerConfigBuilder, CircuitBreakerMiddleware,
        CircuitBreakerRegistry, CircuitBreakerRegistryBuilder, CircuitKey, CircuitOpenError, CircuitSnapshot,
        ConnectionFailures, DefaultClassifier, Event, Evicted, EvictionReason, FailureKind, HalfOpenSnapshot,
        InvalidConfig, InvalidKey, KeyScheme, KeysGrow, ManualClock, Misplaced, Origin, Outcome<'static>, Overflowed,
        Permit, ProbeFinished, RegistryStats, RejectReason, Rejected, Route, SkipCircuitBreaker, State,
        StopRetriesWhenOpen, SystemClock, Totals, Transition, TransitionReason, TripPolicy, Verdict, VerdictAt,
        WindowSnapshot);
    each!(cloned: CircuitBreaker, CircuitBreakerConfig, CircuitBreakerConfigBuilder, CircuitBreakerMiddleware,
        CircuitBreakerRegistry, CircuitKey, CircuitOpenError, CircuitSnapshot, ConnectionFailures, DefaultClassifier,
        Event, Evicted, HalfOpenSnapshot, InvalidConfig, InvalidKey, KeyScheme, KeysGrow, ManualClock, Misplaced,
        Origin, Outcome<'static>, Overflowed, ProbeFinished, RegistryStats, Rejected, Route, SkipCircuitBreaker,
        StopRetriesWhenOpen, SystemClock, Totals, Transition, TripPolicy, WindowSnapshot);
    each!(plain: EvictionReason, FailureKind, RejectReason, State, TransitionReason, Verdict, VerdictAt);
    each!(shown: CircuitKey, CircuitOpenError, FailureKind, InvalidConfig, InvalidKey, Origin, RejectReason, Route,
        State, TransitionReason, TripPolicy);
    each!(failed: CircuitOpenError, InvalidConfig, InvalidKey);
    each!(layer: CircuitBreakerMiddleware, StopRetriesWhenOpen);
    each!(sound: CircuitKey, CircuitOpenError, InvalidConfig, InvalidKey, Origin, Route);
}

#[test]
fn the_traits_are_objects_and_closures_and_shared_values_implement_them() {
    fn classifier(_: impl Classifier) {}
    fn listener(_: impl Listener) {}
    fn clock(_: impl Clock) {}

    let ignores: Arc<dyn Classifier> = Arc::new(|_: &Outcome<'_>| Verdict::Ignored);
    classifier(Arc::clone(&ignores));
    classifier(|outcome: &Outcome<'_>| {
        if outcome.answered() {
            Verdict::Success
        } else {
            Verdict::Ignored
        }
    });
    classifier(Arc::new(DefaultClassifier::default()));
    let hears: Arc<dyn Listener> = Arc::new(|_: &Event| {});
    listener(Arc::clone(&hears));
    listener(|_: &Event| {});
    let stands: Arc<dyn Clock> = Arc::new(ManualClock::new());
    clock(Arc::clone(&stands));
    clock(Arc::new(SystemClock));
    let registry = CircuitBreakerRegistry::builder()
        .classifier(ignores)
        .listener(hears)
        .clock(stands)
        .build()
        .unwrap();
    let layers: [Arc<dyn Middleware>; 2] = [
        Arc::new(CircuitBreakerMiddleware::new(registry.clone())),
        Arc::new(registry.stop_retries()),
    ];
    assert_eq!(layers.len(), 2);
}

#[test]
fn a_shared_clock_has_the_wall_of_what_it_shares() {
    let clock = Arc::new(ManualClock::new());
    let (now, wall) = (clock.now(), clock.wall());
    clock.advance(std::time::Duration::from_secs(5));
    let shared: Arc<dyn Clock> = clock;
    assert_eq!(shared.now() - now, std::time::Duration::from_secs(5));
    assert_eq!(
        shared.wall().duration_since(wall).unwrap(),
        std::time::Duration::from_secs(5)
    );
}

#[test]
fn a_permit_may_end_in_another_thread() {
    let registry = CircuitBreakerRegistry::default();
    let breaker = registry.get_or_create(&"http://a.test".parse().unwrap()).unwrap();
    let permit = breaker.try_acquire().unwrap();
    std::thread::spawn(move || permit.record(Verdict::Failure(FailureKind::Other)))
        .join()
        .unwrap();
    assert_eq!(breaker.snapshot().totals.failure, 1);
}
