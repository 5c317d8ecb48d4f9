//! One breaker per key, shared by every clone of the registry, each with the config of its key.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;

use reqwest_circuit_breaker::{CircuitBreakerConfig, CircuitBreakerRegistry, CircuitKey, State, TripPolicy};

use crate::fixture::{F, Fixture, S, key, secs};

#[test]
fn every_clone_is_the_same_registry() {
    let registry = CircuitBreakerRegistry::default();
    let clone = registry.clone();
    let breaker = clone.get_or_create(&key("http://a.test")).unwrap();
    breaker.force_open();
    assert_eq!(registry.get(breaker.key()).unwrap().state(), State::ForcedOpen);
    assert_eq!(
        (registry.len(), registry.name(), registry.is_empty()),
        (1, "default", false)
    );
}

#[test]
fn looking_up_creates_nothing() {
    let registry = CircuitBreakerRegistry::default();
    assert!(registry.get(&key("http://a.test")).is_none());
    assert!(registry.is_empty() && registry.snapshots().is_empty());
    assert_eq!(registry.stats().created, 0);
}

#[test]
fn many_threads_create_one_breaker() {
    for _ in 0..50 {
        let registry = CircuitBreakerRegistry::default();
        let start = Barrier::new(4);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    start.wait();
                    registry
                        .get_or_create(&key("http://a.test"))
                        .unwrap()
                        .try_acquire()
                        .unwrap()
                        .record(F);
                });
            }
        });
        assert_eq!((registry.len(), registry.stats().created), (1, 1));
        assert_eq!(registry.snapshots()[0].totals.failure, 4);
    }
}

#[test]
fn one_open_origin_leaves_the_others_untouched() {
    let it = Fixture::five().opened();
    for n in 0..50 {
        let breaker = it.registry.get_or_create(&key(&format!("http://h{n}.test"))).unwrap();
        breaker.try_acquire().unwrap().record(S);
        assert_eq!((breaker.state(), breaker.snapshot().totals.failure), (State::Closed, 0));
    }
}

#[test]
fn different_ports_schemes_and_hosts_are_different_breakers() {
    let it = Fixture::five();
    let breaker = |text: &str| it.registry.get_or_create(&key(text)).unwrap();
    breaker("http://h.test:8080").force_open();
    for text in [
        "http://h.test",
        "https://h.test",
        "http://h.test:8081",
        "http://www.h.test",
    ] {
        let snapshot = breaker(text).snapshot();
        assert_eq!((snapshot.state, snapshot.totals.started), (State::Closed, 0), "{text}");
    }
}

#[test]
fn a_key_may_have_a_config_of_its_own() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let registry = CircuitBreakerRegistry::builder()
        .config_for(move |key: &CircuitKey| {
            count.fetch_add(1, Ordering::Relaxed);
            let touchy = CircuitBreakerConfig::builder().trip_on(TripPolicy::consecutive_failures(1));
            (key.origin().host() == "touchy.test").then(|| touchy.build().expect("a config"))
        })
        .build()
        .unwrap();
    let states = ["http://touchy.test", "http://patient.test"].map(|text| {
        for _ in 0..10 {
            registry.get_or_create(&key(text)).unwrap();
        }
        let breaker = registry.get(&key(text)).unwrap();
        breaker.try_acquire().unwrap().record(F);
        breaker.state()
    });
    assert_eq!(states, [State::Open, State::Closed]);
    assert_eq!(asked.load(Ordering::Relaxed), 2, "once per breaker");
}

#[test]
fn the_config_function_may_call_back() {
    let slot: Arc<std::sync::OnceLock<CircuitBreakerRegistry>> = Arc::default();
    let back = Arc::clone(&slot);
    let registry = CircuitBreakerRegistry::builder()
        .config_for(move |key: &CircuitKey| {
            let registry = back.get().expect("the registry is built");
            let _ = (registry.snapshots(), registry.stats(), registry.len());
            if key.method().is_some() {
                registry.get_or_create(&CircuitKey::new(key.origin().clone()));
            }
            None
        })
        .build()
        .unwrap();
    assert!(slot.set(registry.clone()).is_ok());
    registry.get_or_create(&key("GET http://a.test")).unwrap();
    let names: BTreeSet<_> = registry
        .snapshots()
        .iter()
        .map(|snapshot| snapshot.key.to_string())
        .collect();
    assert_eq!(names, ["GET http://a.test", "http://a.test"].map(String::from).into());
}

#[test]
fn a_config_function_that_panics_harms_nobody_else() {
    let registry = CircuitBreakerRegistry::builder()
        .config_for(|key: &CircuitKey| {
            assert!(key.origin().host() != "bad.test", "no config for it");
            None
        })
        .max_breakers(1)
        .build()
        .unwrap();
    crate::fixture::assert_panics(|| registry.get_or_create(&key("http://bad.test")).is_some());
    assert!(registry.is_empty());
    assert!(registry.get_or_create(&key("http://good.test")).is_some());
}

#[test]
fn a_senseless_registry_names_its_setter() {
    let builder = CircuitBreakerRegistry::builder;
    let fields = [
        builder().name(""),
        builder().max_breakers(0),
        builder().idle_timeout(secs(0)),
    ]
    .map(|builder| builder.build().unwrap_err().field());
    assert_eq!(fields, ["name", "max_breakers", "idle_timeout"]);
    assert!(
        builder()
            .max_breakers(usize::MAX)
            .build()
            .unwrap()
            .get_or_create(&key("http://a.test"))
            .is_some()
    );
}

#[test]
fn no_runtime_and_no_timer_is_needed() {
    let it = Fixture::five().opened();
    assert!(tokio::runtime::Handle::try_current().is_err(), "this test has none");
    it.at(30).probe().record(S);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async { it.breaker.trip(secs(1000)) });
    assert_eq!(runtime.metrics().num_alive_tasks(), 0, "nothing keeps the runtime");
}
