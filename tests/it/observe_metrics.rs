//! The metrics say what the snapshots say: same events, same totals, whenever the recorder was installed.

use std::collections::BTreeMap;
use std::time::Duration;

use metrics::with_local_recorder;
use metrics_exporter_prometheus::PrometheusBuilder;
use reqwest_circuit_breaker::{
    CircuitBreaker, CircuitBreakerConfig, CircuitBreakerRegistry, CircuitBreakerRegistryBuilder, CircuitKey,
    CircuitSnapshot, FailureKind, ManualClock, Totals, TripPolicy, Verdict,
};

mod recorder;
mod recorders;
mod state;

use self::recorder::Store;

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
