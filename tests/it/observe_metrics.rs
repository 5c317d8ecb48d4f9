//! The metrics say what the snapshots say: same events, same totals, whenever the recorder was installed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use metrics::with_local_recorder;
use metrics_exporter_prometheus::PrometheusBuilder;
use reqwest_circuit_breaker::{
    CircuitBreaker, CircuitBreakerConfig, CircuitBreakerRegistry, CircuitBreakerRegistryBuilder, CircuitKey,
    CircuitSnapshot, FailureKind, ManualClock, State, Totals, TripPolicy, Verdict,
};

mod recorder;

use recorder::{Broken, Sizeless, Store};

const FAILURE: Verdict = Verdict::Failure(FailureKind::Timeout);

fn key(text: &str) -> CircuitKey {
    text.parse().unwrap()
}

fn stock() -> CircuitKey {
    key("https://stock.example")
}

fn builder(clock: &ManualClock) -> CircuitBreakerRegistryBuilder {
    CircuitBreakerRegistry::builder().name("shop").clock(clock.clone())
}

fn call(breaker: &CircuitBreaker, verdict: Verdict) {
    breaker.try_acquire().unwrap().record(verdict);
}

fn open(breaker: &CircuitBreaker) {
    for _ in 0..5 {
        call(breaker, FAILURE);
    }
}

/// The counters of one breaker as its totals tell them; what never happened has no series.
fn expected(snapshot: &CircuitSnapshot) -> BTreeMap<String, f64> {
    let Totals {
        success,
        failure,
        ignored,
        cancelled,
        late,
        rejected,
        ..
    } = snapshot.totals.clone();
    let calls = [
        ("success", success),
        ("failure", failure),
        ("ignored", ignored),
        ("cancelled", cancelled),
        ("late", late),
    ];
    let calls = calls.map(|(outcome, n)| (format!("circuit_breaker_calls_total outcome={outcome}"), n as f64));
    let by_kind = snapshot.totals.failures_by_kind.iter();
    let by_kind = by_kind.map(|(kind, n)| (format!("circuit_breaker_failures_total kind={kind}"), *n as f64));
    let rejected = ("circuit_breaker_rejected_total".to_owned(), rejected as f64);
    let all = calls.into_iter().chain(by_kind).chain([rejected]);
    all.filter(|(_, value)| *value > 0.0).collect()
}

/// The same counters as a recorder has them, rejections of all reasons in one.
fn counted(store: &Store) -> BTreeMap<String, f64> {
    let mut counted = BTreeMap::new();
    for (series, value) in store.all() {
        let name = series.split(' ').next().unwrap();
        if name == "circuit_breaker_rejected_total" {
            *counted.entry(name.to_owned()).or_default() += value;
        } else if name.ends_with("calls_total") || name.ends_with("failures_total") {
            counted.insert(series, value);
        }
    }
    counted.retain(|_, value| *value > 0.0);
    counted
}

#[test]
fn totals_match_the_metrics() {
    let (store, clock) = (Store::default(), ManualClock::new());
    with_local_recorder(&store, || {
        let config = CircuitBreakerConfig::builder()
            .trip_on(TripPolicy::consecutive_failures(3))
            .build()
            .unwrap();
        let registry = builder(&clock).config(config).build().unwrap();
        let breaker = registry.get_or_create(&stock()).unwrap();
        let late = breaker.try_acquire().unwrap();
        call(&breaker, Verdict::Success);
        call(&breaker, FAILURE);
        call(&breaker, Verdict::Success);
        call(&breaker, Verdict::Ignored);
        drop(breaker.try_acquire().unwrap());
        call(&breaker, Verdict::Failure(FailureKind::Dns));
        call(&breaker, FAILURE);
        call(&breaker, FAILURE);
        late.record(FAILURE);
        drop(breaker.try_acquire().unwrap_err());
        clock.advance(Duration::from_secs(30));
        let probe = breaker.try_acquire().unwrap();
        drop(breaker.try_acquire().unwrap_err());
        probe.record(Verdict::Ignored);
        drop(breaker.try_acquire().unwrap());
        call(&breaker, Verdict::Success);
        breaker.force_open();
        drop(breaker.try_acquire().unwrap_err());
        let snapshot = breaker.snapshot();
        assert_eq!(snapshot.totals.rejected, 3);
        assert_eq!(expected(&snapshot).len(), 8, "everything happened");
        assert_eq!(counted(&store), expected(&snapshot));
    });
    for reason in ["open", "probe_in_flight", "forced_open"] {
        assert_eq!(
            store.get(&format!("circuit_breaker_rejected_total reason={reason}")),
            Some(1.0)
        );
    }
    for step in [
        "from=closed to=open",
        "from=open to=half_open",
        "from=half_open to=closed",
        "from=closed to=forced_open",
    ] {
        assert_eq!(
            store.get(&format!("circuit_breaker_transitions_total {step}")),
            Some(1.0),
            "{step}"
        );
    }
    assert_eq!(
        store.registrations("circuit_breaker_calls_total outcome=success"),
        1,
        "the handle is kept"
    );
}

#[test]
fn totals_match_the_metrics_where_nothing_is_enforced() {
    let store = Store::default();
    with_local_recorder(&store, || {
        let config = CircuitBreakerConfig::builder().report_only(true).build().unwrap();
        let registry = builder(&ManualClock::new()).config(config).build().unwrap();
        let breaker = registry.get_or_create(&stock()).unwrap();
        open(&breaker);
        call(&breaker, Verdict::Success);
        assert_eq!(counted(&store), expected(&breaker.snapshot()));
    });
    assert_eq!(store.get("circuit_breaker_calls_total outcome=late"), Some(1.0));
    assert_eq!(store.get("circuit_breaker_rejected_total reason=open"), Some(1.0));
}

#[test]
fn a_series_has_the_name_of_its_registry_and_key() {
    let store = Store::default();
    with_local_recorder(&store, || {
        let registry = builder(&ManualClock::new()).build().unwrap();
        open(
            &registry
                .get_or_create(&key("GET https://stock.example /items/{id}"))
                .unwrap(),
        );
    });
    assert!(store.all().len() >= 4);
    for owner in store.owners() {
        assert_eq!(
            owner,
            ("shop".to_owned(), "GET https://stock.example /items/{id}".to_owned())
        );
    }
}

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
fn open_seconds_are_the_exact_sum_of_all_openings_and_no_second_counts_twice() {
    let (store, clock) = (Store::default(), ManualClock::new());
    let seconds = || store.get("circuit_breaker_open_seconds_total").unwrap_or_default();
    with_local_recorder(&store, || {
        let registry = builder(&clock).build().unwrap();
        let breaker = registry.get_or_create(&stock()).unwrap();
        // 30.4 s open, 5 s of probing, which are not open, 30.4 s open again.
        open(&breaker);
        clock.advance(Duration::from_millis(30_400));
        let probe = breaker.try_acquire().unwrap();
        assert_eq!(seconds(), 30.0);
        clock.advance(Duration::from_secs(5));
        probe.record(FAILURE);
        assert_eq!(seconds(), 30.0);
        clock.advance(Duration::from_millis(30_400));
        call(&breaker, Verdict::Success);
        assert_eq!(seconds(), 60.0);
        // Fractions add up: 60.8 s and ten times 0.12 s are 62 s.
        for _ in 0..10 {
            breaker.trip(Duration::from_millis(60));
            clock.advance(Duration::from_millis(60));
            breaker.force_open();
            clock.advance(Duration::from_millis(60));
            breaker.reset();
        }
        assert_eq!(seconds(), 62.0);
        breaker.disable();
        clock.advance(Duration::from_secs(100));
        breaker.reset();
        assert_eq!(seconds(), 62.0);
    });
}

#[test]
fn a_time_without_end_is_counted_without_overflow() {
    let (store, clock) = (Store::default(), ManualClock::new());
    with_local_recorder(&store, || {
        let breaker = builder(&clock).build().unwrap().get_or_create(&stock()).unwrap();
        breaker.force_open();
        clock.advance(Duration::MAX);
        breaker.reset();
        breaker.force_open();
        breaker.reset();
    });
    assert_eq!(
        store.get("circuit_breaker_open_seconds_total"),
        Some((u64::MAX / 1_000_000_000) as f64)
    );
}

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

#[test]
fn prometheus_shows_it_all() {
    let (recorder, clock) = (PrometheusBuilder::new().build_recorder(), ManualClock::new());
    with_local_recorder(&recorder, || {
        let registry = builder(&clock).build().unwrap();
        let breaker = registry.get_or_create(&stock()).unwrap();
        call(&breaker, Verdict::Success);
        open(&breaker);
        drop(breaker.try_acquire().unwrap_err());
        clock.advance(Duration::from_secs(31));
        call(&breaker, FAILURE);
    });
    let page = recorder.handle().render();
    let labels = r#"registry="shop",key="https://stock.example""#;
    for line in [
        "# TYPE circuit_breaker_state gauge".to_owned(),
        "# TYPE circuit_breaker_calls_total counter".to_owned(),
        "# HELP circuit_breaker_rejected_total Calls rejected, by the reason".to_owned(),
        format!("circuit_breaker_state{{{labels}}} 2"),
        format!(r#"circuit_breaker_calls_total{{{labels},outcome="success"}} 1"#),
        format!(r#"circuit_breaker_calls_total{{{labels},outcome="failure"}} 6"#),
        format!(r#"circuit_breaker_failures_total{{{labels},kind="timeout"}} 6"#),
        format!(r#"circuit_breaker_rejected_total{{{labels},reason="open"}} 1"#),
        format!(r#"circuit_breaker_transitions_total{{{labels},from="half_open",to="open"}} 1"#),
        format!("circuit_breaker_open_seconds_total{{{labels}}} 31"),
    ] {
        assert!(page.lines().any(|shown| shown == line), "{line}\nis not in\n{page}");
    }
}
