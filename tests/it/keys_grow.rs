//! Keys with an id in them are told, once; many keys that are used are not.

use reqwest_circuit_breaker::{CircuitBreakerConfig, CircuitBreakerRegistry, Event, KeysGrow, TripPolicy};

use crate::fixture::{Events, F, S, key, secs};

fn registry(config: CircuitBreakerConfig) -> (CircuitBreakerRegistry, Events) {
    let events = Events::default();
    let builder = CircuitBreakerRegistry::builder()
        .config(config)
        .listener(events.listener());
    (builder.build().expect("a registry"), events)
}

fn told(events: &Events) -> Vec<KeysGrow> {
    let told = events.all().into_iter().filter_map(|event| match event {
        Event::KeysGrow(event) => Some(event),
        _ => None,
    });
    told.collect()
}

/// Makes keys, and so many calls with each.
fn make(registry: &CircuitBreakerRegistry, keys: std::ops::Range<usize>, calls: usize) {
    for n in keys {
        let breaker = registry
            .get_or_create(&key("http://a.test").with_part(format!("/items/{n}")))
            .expect("room");
        for _ in 0..calls {
            breaker.try_acquire().expect("an admission").record(S);
        }
    }
}

#[test]
fn the_first_key_beyond_a_thousand_is_told_and_no_later_one() {
    let (registry, events) = registry(CircuitBreakerConfig::default());
    make(&registry, 0..1000, 1);
    assert!(told(&events).is_empty());
    make(&registry, 1000..9000, 1);
    let told = told(&events);
    assert_eq!(told.len(), 1);
    assert_eq!((told[0].created(), told[0].key().part()), (1001, Some("/items/1000")));
}

#[test]
fn keys_that_see_enough_calls_are_no_mistake() {
    let (registry, events) = registry(CircuitBreakerConfig::default());
    make(&registry, 0..3000, 5);
    assert!(told(&events).is_empty());
}

#[test]
fn enough_is_what_the_least_demanding_policy_needs() {
    let policies = || {
        CircuitBreakerConfig::builder()
            .trip_on(TripPolicy::failure_rate(50).minimum_calls(100))
            .trip_on(TripPolicy::consecutive_failures(3))
    };
    for (calls, expected) in [(2, 1), (3, 0)] {
        let (registry, events) = registry(policies().build().unwrap());
        make(&registry, 0..1001, calls);
        assert_eq!(told(&events).len(), expected, "{calls}");
    }
}

#[test]
fn where_a_breaker_ever_opened_the_keys_do_their_work() {
    for (failures, is_reset, expected) in [(5, true, 0), (5, false, 0), (4, true, 1)] {
        let (registry, events) = registry(CircuitBreakerConfig::default());
        let breaker = registry.get_or_create(&key("http://b.test")).unwrap();
        for _ in 0..failures {
            breaker.try_acquire().unwrap().record(F);
        }
        if is_reset {
            breaker.reset();
        }
        make(&registry, 0..5000, 1);
        assert_eq!(told(&events).len(), expected, "{failures} {is_reset}");
    }
}

#[test]
fn it_is_looked_at_again_as_the_keys_double() {
    let (registry, events) = registry(CircuitBreakerConfig::default());
    make(&registry, 0..1001, 5);
    make(&registry, 1001..2100, 1);
    assert!(told(&events).is_empty(), "half of them");
    make(&registry, 2100..5000, 1);
    assert_eq!(told(&events).len(), 1, "most of them");
}

#[test]
fn it_counts_keys_created_also_where_few_stay() {
    let events = Events::default();
    let registry = CircuitBreakerRegistry::builder()
        .max_breakers(50)
        .idle_timeout(secs(1000))
        .listener(events.listener())
        .build()
        .unwrap();
    make(&registry, 0..1500, 1);
    assert_eq!((told(&events).len(), registry.len()), (1, 50));
}
