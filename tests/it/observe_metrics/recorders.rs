//! Whatever recorder is there, whenever it was installed, however it behaves.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use metrics::with_local_recorder;
use reqwest_circuit_breaker::{ManualClock, State, Totals, Verdict};

use super::recorder::{Broken, Sizeless, Store};
use super::{FAILURE, builder, call, key, open, stock};

#[test]
fn a_recorder_that_is_installed_later_gets_everything_from_then_on() {
    let registry = builder(&ManualClock::new()).build().unwrap();
    let healthy = registry.get_or_create(&stock()).unwrap();
    let failing = registry.get_or_create(&key("https://down.example")).unwrap();
    call(&healthy, Verdict::Success);
    open(&failing);
    let store = Store::default();
    with_local_recorder(&store, || {
        call(&healthy, Verdict::Success);
        drop(failing.try_acquire().unwrap_err());
    });
    assert_eq!(
        store.get_of("https://stock.example", "circuit_breaker_calls_total outcome=success"),
        Some(1.0)
    );
    assert_eq!(
        store.get_of("https://stock.example", "circuit_breaker_state"),
        Some(0.0)
    );
    assert_eq!(
        store.get_of("https://down.example", "circuit_breaker_state"),
        Some(2.0),
        "as it is now"
    );
    assert_eq!(store.described().len(), 6);
}

#[test]
fn a_breaker_stays_with_the_recorder_it_registered_with() {
    let registry = builder(&ManualClock::new()).build().unwrap();
    let breaker = registry.get_or_create(&stock()).unwrap();
    let (first, second) = (Store::default(), Store::default());
    with_local_recorder(&first, || call(&breaker, Verdict::Success));
    with_local_recorder(&second, || {
        call(&breaker, Verdict::Success);
        drop(registry.get_or_create(&key("https://new.example")).unwrap());
    });
    // Also where there is none.
    call(&breaker, Verdict::Success);
    assert_eq!(first.get("circuit_breaker_calls_total outcome=success"), Some(3.0));
    assert_eq!(
        second.get("circuit_breaker_calls_total outcome=success"),
        Some(0.0),
        "registered, of the new key"
    );
    assert_eq!(second.owners().len(), 1);
}

#[test]
fn a_recorder_without_a_size_is_served_too() {
    with_local_recorder(&Sizeless, || {
        let breaker = builder(&ManualClock::new())
            .build()
            .unwrap()
            .get_or_create(&stock())
            .unwrap();
        call(&breaker, Verdict::Success);
        call(&breaker, Verdict::Success);
        open(&breaker);
    });
    let store = Sizeless::store();
    assert_eq!(store.get("circuit_breaker_calls_total outcome=success"), Some(2.0));
    assert_eq!(store.get("circuit_breaker_failures_total kind=timeout"), Some(5.0));
    assert_eq!(store.get("circuit_breaker_state"), Some(2.0));
}

#[test]
fn metrics_are_described_once_per_registry_with_their_units() {
    let store = Store::default();
    with_local_recorder(&store, || {
        let registry = builder(&ManualClock::new()).build().unwrap();
        for n in 0..3 {
            call(
                &registry.get_or_create(&key(&format!("https://n{n}.example"))).unwrap(),
                FAILURE,
            );
        }
    });
    let units: Vec<_> = store
        .described()
        .into_iter()
        .map(|(name, unit)| (name, unit.unwrap_or_default()))
        .collect();
    let count = "count".to_owned();
    assert_eq!(
        units,
        [
            ("circuit_breaker_state".to_owned(), String::new()),
            ("circuit_breaker_calls_total".to_owned(), count.clone()),
            ("circuit_breaker_failures_total".to_owned(), count.clone()),
            ("circuit_breaker_rejected_total".to_owned(), count.clone()),
            ("circuit_breaker_transitions_total".to_owned(), count),
            ("circuit_breaker_open_seconds_total".to_owned(), "seconds".to_owned()),
        ]
    );
}

#[test]
fn a_panicking_recorder_is_contained() {
    with_local_recorder(&Broken { size: 1 }, || {
        let breaker = builder(&ManualClock::new())
            .build()
            .unwrap()
            .get_or_create(&stock())
            .unwrap();
        call(&breaker, Verdict::Success);
        drop(breaker.try_acquire().unwrap());
        open(&breaker);
        drop(breaker.try_acquire().unwrap_err());
        let Totals {
            success,
            failure,
            cancelled,
            rejected,
            ..
        } = breaker.snapshot().totals;
        assert_eq!((success, failure, cancelled, rejected), (1, 5, 1, 1));
        assert_eq!(breaker.state(), State::Open);
    });
}

#[test]
fn a_recorder_may_call_back() {
    let calls = Arc::new(AtomicUsize::new(0));
    let registry = builder(&ManualClock::new()).build().unwrap();
    let store = Store::default();
    let (asked, seen) = (registry.clone(), Arc::clone(&calls));
    store.on_registration(move || {
        seen.fetch_add(asked.snapshots().len(), Ordering::SeqCst);
    });
    with_local_recorder(&store, || open(&registry.get_or_create(&stock()).unwrap()));
    assert!(calls.load(Ordering::SeqCst) > 0);
}
