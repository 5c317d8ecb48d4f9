//! The bound is hard, and makes room only of breakers with which nothing is lost.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use reqwest_circuit_breaker::{
    CircuitBreakerRegistry, CircuitBreakerRegistryBuilder, CircuitKey, Event, EvictionReason, ManualClock, State,
};

use crate::fixture::{Events, F, S, dice, key, millis, secs};
use crate::mock::Upstream;

fn bounded(n: usize) -> (CircuitBreakerRegistry, Events, ManualClock) {
    let (events, clock) = (Events::default(), ManualClock::new());
    let builder: CircuitBreakerRegistryBuilder = CircuitBreakerRegistry::builder();
    let registry = builder
        .max_breakers(n)
        .listener(events.listener())
        .clock(clock.clone())
        .build()
        .expect("a registry");
    (registry, events, clock)
}

fn nth(n: usize) -> CircuitKey {
    key(&format!("http://h{n}.test"))
}

fn names(registry: &CircuitBreakerRegistry) -> Vec<String> {
    registry
        .snapshots()
        .iter()
        .map(|snapshot| snapshot.key.to_string())
        .collect()
}

fn evicted(events: &Events) -> Vec<String> {
    let told = events.all().into_iter().filter_map(|event| match event {
        Event::Evicted(event) => {
            assert_eq!(event.reason(), EvictionReason::Capacity);
            Some(event.key().to_string())
        }
        _ => None,
    });
    told.collect()
}

fn overflows(events: &Events) -> usize {
    events
        .all()
        .iter()
        .filter(|event| matches!(event, Event::Overflowed(_)))
        .count()
}

#[test]
fn an_open_breaker_stays_and_the_least_recently_used_closed_one_goes() {
    let (registry, events, _) = bounded(3);
    for name in ["http://a.test", "http://b.test", "http://c.test"] {
        registry.get_or_create(&key(name)).unwrap();
    }
    registry.get(&key("http://a.test")).unwrap().force_open();
    registry.get_or_create(&key("http://b.test")).unwrap();
    registry.get_or_create(&key("http://d.test")).unwrap();
    assert_eq!(names(&registry), ["http://a.test", "http://b.test", "http://d.test"]);
    assert_eq!(evicted(&events), ["http://c.test"]);
    assert!(registry.get(&key("http://a.test")).unwrap().try_acquire().is_err());
    let stats = registry.stats();
    assert_eq!(
        (stats.breakers, stats.created, stats.evicted, stats.overflowed),
        (3, 4, 1, 0)
    );
}

#[test]
fn in_a_small_registry_the_order_of_use_is_exact() {
    for bound in [1, 2, 3, 16] {
        let (registry, events, _) = bounded(bound);
        let (mut naive, mut gone) = (VecDeque::<usize>::new(), Vec::new());
        for step in 0..2000 {
            let n = dice(step) as usize % (bound * 2);
            registry.get_or_create(&nth(n)).unwrap();
            match naive.iter().position(|used| *used == n) {
                Some(place) => drop(naive.remove(place)),
                None if naive.len() == bound => gone.extend(naive.pop_front()),
                None => {}
            }
            naive.push_back(n);
        }
        let gone: Vec<_> = gone.into_iter().map(|n| nth(n).to_string()).collect();
        assert_eq!(evicted(&events), gone, "bound {bound}");
    }
}

#[tokio::test]
async fn a_clients_call_is_a_use() {
    let (registry, events, _) = bounded(2);
    let client = Upstream::status(200).behind(&registry);
    for n in [0, 1, 0, 2] {
        client.get(format!("http://h{n}.test/x")).send().await.unwrap();
    }
    assert_eq!(evicted(&events), [nth(1).to_string()]);
}

#[test]
fn in_a_large_registry_who_was_used_gets_a_second_chance() {
    let (registry, events, _) = bounded(100);
    for n in 0..100 {
        registry.get_or_create(&nth(n)).unwrap();
    }
    registry.get_or_create(&nth(100)).unwrap();
    for n in (2..100).step_by(2) {
        registry.get_or_create(&nth(n)).unwrap();
    }
    for n in 101..150 {
        registry.get_or_create(&nth(n)).unwrap();
    }
    let odd: Vec<_> = (1..100).step_by(2).map(|n| nth(n).to_string()).collect();
    assert_eq!(evicted(&events)[..1], [nth(0).to_string()]);
    assert_eq!(
        evicted(&events)[1..],
        odd[..49],
        "the unused go, in their order, and no used one"
    );
    assert!((2..100).step_by(2).all(|n| registry.get(&nth(n)).is_some()));
}

/// Else the first eviction would go once around for nothing, and find whoever came first instead of who was not used.
#[test]
fn in_a_large_registry_being_created_is_no_use() {
    let (registry, events, _) = bounded(100);
    for n in 0..100 {
        registry.get_or_create(&nth(n)).unwrap();
    }
    registry.get_or_create(&nth(0)).unwrap();
    registry.get_or_create(&nth(100)).unwrap();
    assert_eq!(evicted(&events), [nth(1).to_string()]);
}

/// So calls need not write a counter that all cores share. It costs no more than the newest its second chance.
#[test]
fn in_a_large_registry_uses_between_two_creations_are_not_told_apart() {
    let (registry, events, _) = bounded(17);
    for n in 0..17 {
        registry.get_or_create(&nth(n)).unwrap();
    }
    for n in [0, 16] {
        registry.get_or_create(&nth(n)).unwrap();
    }
    for n in 17..34 {
        registry.get_or_create(&nth(n)).unwrap();
    }
    let order: Vec<_> = (1..17).chain([0]).map(|n| nth(n).to_string()).collect();
    assert_eq!(evicted(&events), order);
}

#[test]
fn nothing_but_closed_unused_breakers_makes_room() {
    for bound in [7, 40] {
        let (registry, events, clock) = bounded(bound);
        let make = |n: usize| registry.get_or_create(&nth(n)).unwrap();
        make(0).force_open();
        make(1).disable();
        make(2).trip(secs(1000));
        make(3).trip(secs(1));
        clock.advance(secs(1));
        let probe = make(3).try_acquire().unwrap();
        drop(probe);
        let permit = make(4).try_acquire().unwrap();
        let handle = make(5);
        for n in 6..bound + 500 {
            make(n);
            assert_eq!(registry.len(), (n + 1).min(bound));
        }
        let states: Vec<_> = (0..6).map(|n| registry.get(&nth(n)).unwrap().state()).collect();
        use State::{Closed, Disabled, ForcedOpen, HalfOpen, Open};
        assert_eq!(states, [ForcedOpen, Disabled, Open, HalfOpen, Closed, Closed]);
        assert_eq!(evicted(&events).len(), 500);
        // Whoever is used no more may go.
        drop((permit, handle));
        registry.get(&nth(0)).unwrap().reset();
        for n in 1000..1000 + 2 * bound {
            make(n);
        }
        assert!([0, 4, 5].iter().all(|n| registry.get(&nth(*n)).is_none()));
        assert!([1, 2, 3].iter().all(|n| registry.get(&nth(*n)).is_some()));
    }
}

#[test]
fn an_evicted_breaker_is_gone_from_the_listing_and_comes_back_fresh() {
    let (registry, _, _) = bounded(1);
    for _ in 0..4 {
        registry
            .get_or_create(&nth(0))
            .unwrap()
            .try_acquire()
            .unwrap()
            .record(F);
    }
    assert_eq!(registry.snapshots()[0].state, State::Closed);
    registry.get_or_create(&nth(1)).unwrap();
    assert_eq!(names(&registry), [nth(1).to_string()]);
    let snapshot = registry.get_or_create(&nth(0)).unwrap().snapshot();
    assert_eq!(
        (
            snapshot.consecutive_failures,
            snapshot.totals.started,
            snapshot.generation
        ),
        (0, 0, 0)
    );
}

#[test]
fn who_may_go_is_found_also_if_all_were_used_and_the_newest_and_the_oldest_are_in_use() {
    let (registry, events, _) = bounded(3000);
    for n in 0..3000 {
        registry.get_or_create(&nth(n)).unwrap();
    }
    let newest = registry.get_or_create(&nth(3000)).unwrap();
    let oldest: Vec<_> = (1..100).map(|n| registry.get_or_create(&nth(n)).unwrap()).collect();
    for n in 100..3000 {
        registry.get_or_create(&nth(n)).unwrap();
    }
    assert!(registry.get_or_create(&nth(3001)).is_some(), "2900 may go");
    assert_eq!((overflows(&events), registry.stats().evicted), (0, 2));
    drop((newest, oldest));
}

#[test]
fn where_nobody_may_go_however_many_there_are_there_is_no_room() {
    for bound in [17, 3000] {
        let (registry, events, _) = bounded(bound);
        for n in 0..bound {
            registry.get_or_create(&nth(n)).unwrap().force_open();
        }
        // The second search may look at fewer than the first.
        for n in 0..2 {
            assert!(registry.get_or_create(&nth(bound + n)).is_none());
        }
        assert_eq!((overflows(&events), registry.stats().overflowed), (1, 2));
        // However few it looks at, the next ones find whoever may go.
        registry.get(&nth(bound / 2)).unwrap().reset();
        assert!((0..10).any(|_| registry.get_or_create(&nth(bound)).is_some()));
        assert_eq!(evicted(&events), [nth(bound / 2).to_string()]);
    }
}

#[test]
fn without_room_a_narrow_key_falls_back_to_its_origins_breaker() {
    let (registry, events, _) = bounded(2);
    registry.get_or_create(&key("http://a.test")).unwrap().force_open();
    registry.get_or_create(&key("http://b.test /x")).unwrap().force_open();
    let fallback = registry.get_or_create(&key("GET http://a.test /items")).unwrap();
    assert_eq!(
        (fallback.key(), fallback.state()),
        (&key("http://a.test"), State::ForcedOpen)
    );
    assert!(
        registry.get_or_create(&key("http://b.test /y")).is_none(),
        "its origin has none"
    );
    assert!(registry.get_or_create(&key("http://c.test")).is_none());
    assert_eq!(
        registry.get_or_create(&key("http://a.test")).unwrap().key(),
        fallback.key()
    );
    let stats = registry.stats();
    assert_eq!((stats.breakers, stats.overflowed, stats.evicted), (2, 3, 0));
    assert_eq!(overflows(&events), 1);
}

#[test]
fn an_overflow_is_told_at_most_once_per_second() {
    let (registry, events, clock) = bounded(1);
    registry.get_or_create(&nth(0)).unwrap().force_open();
    let expected = [(0, 1), (999, 1), (1000, 2), (1999, 2), (5000, 3), (5999, 3), (6000, 4)];
    let mut now = 0;
    for (at, told) in expected {
        clock.advance(millis(at - now));
        now = at;
        for n in 1..20 {
            assert!(registry.get_or_create(&nth(n)).is_none());
        }
        assert_eq!(overflows(&events), told, "at {at} ms");
    }
    assert_eq!(registry.stats().overflowed, 7 * 19, "all are counted");
}

#[test]
fn the_bound_is_hard_under_concurrency_and_no_call_loses_its_breaker() {
    for bound in [4, 64] {
        let (registry, events, _) = bounded(bound);
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let callers: Vec<_> = (0..4_u64)
                .map(|thread| {
                    let registry = &registry;
                    scope.spawn(move || {
                        for step in 0..2000 {
                            let key = nth(dice(step * 4 + thread) as usize % (2 * bound));
                            let Some(breaker) = registry.get_or_create(&key) else {
                                continue;
                            };
                            let permit = breaker.try_acquire().expect("nothing opens here");
                            drop(breaker);
                            thread::yield_now();
                            let found = registry.get(&key).expect("in use, so still there");
                            assert!(found.snapshot().in_flight > 0, "and still the same");
                            permit.record(S);
                        }
                    })
                })
                .collect();
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    assert!(registry.len() <= bound);
                    assert!(registry.snapshots().len() <= bound);
                }
            });
            let results: Vec<_> = callers.into_iter().map(thread::ScopedJoinHandle::join).collect();
            done.store(true, Ordering::Relaxed);
            assert!(results.iter().all(Result::is_ok));
        });
        let stats = registry.stats();
        assert_eq!(stats.breakers, registry.snapshots().len());
        assert_eq!(stats.created - stats.evicted, stats.breakers as u64);
        assert_eq!(evicted(&events).len() as u64, stats.evicted, "each is told");
    }
}
