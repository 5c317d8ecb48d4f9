//! The state is shown from creation to eviction, and the one shown last is the present one.

use std::sync::Barrier;
use std::time::Duration;

use metrics::with_local_recorder;
use reqwest_circuit_breaker::{CircuitBreaker, ManualClock, State, Verdict};

use super::recorder::Store;
use super::{builder, call, key, open, stock};

#[test]
fn the_state_is_there_from_creation_and_follows_every_transition() {
    let (store, clock) = (Store::default(), ManualClock::new());
    with_local_recorder(&store, || {
        let registry = builder(&clock).build().unwrap();
        let state = || store.get("circuit_breaker_state");
        let breaker = registry.get_or_create(&stock()).unwrap();
        assert_eq!(state(), Some(0.0), "at creation");
        open(&breaker);
        assert_eq!(state(), Some(2.0));
        clock.advance(Duration::from_secs(30));
        assert_eq!(
            (breaker.state(), breaker.snapshot().probe_due, breaker.would_admit()),
            (State::Open, true, true)
        );
        assert_eq!(state(), Some(2.0), "reading changes nothing");
        let probe = breaker.try_acquire().unwrap();
        assert_eq!(state(), Some(1.0));
        probe.record(Verdict::Success);
        assert_eq!(state(), Some(0.0));
        breaker.force_open();
        assert_eq!(state(), Some(2.0));
        breaker.disable();
        assert_eq!(state(), Some(0.0));
    });
}

#[test]
fn an_evicted_breaker_leaves_a_closed_state_and_goes_on_where_it_was() {
    let store = Store::default();
    with_local_recorder(&store, || {
        let registry = builder(&ManualClock::new()).max_breakers(1).build().unwrap();
        let breaker = registry.get_or_create(&stock()).unwrap();
        call(&breaker, Verdict::Success);
        breaker.force_open();
        breaker.reset();
        drop(breaker);
        drop(registry.get_or_create(&key("https://other.example")).unwrap());
        assert_eq!(registry.get(&stock()).map(|breaker| breaker.state()), None);
        assert_eq!(
            store.get_of("https://stock.example", "circuit_breaker_state"),
            Some(0.0)
        );
        call(&registry.get_or_create(&stock()).unwrap(), Verdict::Success);
        let successes = store.get_of("https://stock.example", "circuit_breaker_calls_total outcome=success");
        assert_eq!(successes, Some(2.0));
    });
}

#[test]
fn an_export_of_snapshots_ends_a_series_with_its_breaker() {
    let registry = builder(&ManualClock::new()).max_breakers(2).build().unwrap();
    let export = || -> Vec<(String, State)> {
        let snapshots = registry.snapshots().into_iter();
        snapshots
            .map(|snapshot| (snapshot.key.to_string(), snapshot.state))
            .collect()
    };
    let entry = |key: &str, state| (key.to_owned(), state);
    let (a, b) = ("https://a.example", "https://b.example");
    registry.get_or_create(&key(a)).unwrap();
    assert_eq!(export(), [entry(a, State::Closed)]);
    registry.get_or_create(&key(b)).unwrap().force_open();
    assert_eq!(export(), [entry(a, State::Closed), entry(b, State::ForcedOpen)]);
    registry.get_or_create(&key("https://c.example")).unwrap();
    assert_eq!(
        export(),
        [entry(b, State::ForcedOpen), entry("https://c.example", State::Closed)]
    );
}

#[test]
fn the_state_shown_last_is_the_present_one_whoever_was_faster() {
    let store = Store::default();
    with_local_recorder(&store, || {
        let breaker = builder(&ManualClock::new())
            .build()
            .unwrap()
            .get_or_create(&stock())
            .unwrap();
        let faster = breaker.clone();
        store.before_next_set(move || faster.reset());
        breaker.force_open();
        assert_eq!(breaker.state(), State::Closed);
        assert_eq!(store.get("circuit_breaker_state"), Some(0.0));
    });
}

#[test]
fn the_state_is_right_after_threads_fought_over_it() {
    let store = Store::default();
    let registry = builder(&ManualClock::new()).build().unwrap();
    let breaker = with_local_recorder(&store, || registry.get_or_create(&stock()).unwrap());
    for _ in 0..50 {
        let start = Barrier::new(2);
        std::thread::scope(|scope| {
            for change in [CircuitBreaker::reset, CircuitBreaker::force_open] {
                let (breaker, start) = (&breaker, &start);
                scope.spawn(move || {
                    start.wait();
                    (0..20).for_each(|_| change(breaker));
                });
            }
        });
        let expected = if breaker.state() == State::Closed { 0.0 } else { 2.0 };
        assert_eq!(store.get("circuit_breaker_state"), Some(expected));
    }
}
