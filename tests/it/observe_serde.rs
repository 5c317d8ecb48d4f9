//! The JSON of a snapshot is part of the public interface: names, units and values stay.

use std::time::{Duration, SystemTime};

use reqwest::StatusCode;
use reqwest_circuit_breaker::{
    CircuitBreakerConfig, CircuitBreakerRegistry, CircuitKey, Clock, Event, FailureKind, ManualClock, TripPolicy,
    Verdict,
};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// Midnight at the start of 2026.
const START: u64 = 1_767_225_600;

/// A manual clock whose wall-clock time is known.
struct Calendar(ManualClock, SystemTime);

impl Calendar {
    fn new(clock: &ManualClock) -> Self {
        Self(clock.clone(), clock.wall())
    }
}

impl Clock for Calendar {
    fn now(&self) -> std::time::Instant {
        self.0.now()
    }

    fn wall(&self) -> SystemTime {
        let passed = self.0.wall().duration_since(self.1).unwrap();
        SystemTime::UNIX_EPOCH + Duration::from_secs(START) + passed
    }
}

fn config() -> CircuitBreakerConfig {
    CircuitBreakerConfig::builder()
        .trip_on(TripPolicy::failure_rate(50.0).minimum_calls(4))
        .trip_on(
            TripPolicy::slow_call_rate(90.0, Duration::from_secs(1))
                .over_last_calls(10)
                .minimum_calls(8),
        )
        .build()
        .unwrap()
}

fn key() -> CircuitKey {
    "GET https://stock.example /items/{id}".parse().unwrap()
}

fn registry(clock: &ManualClock) -> CircuitBreakerRegistry {
    let builder = CircuitBreakerRegistry::builder().name("shop").config(config());
    builder.clock(Calendar::new(clock)).build().unwrap()
}

/// Five calls, three of them failures: open at 0.25 s. Two rejections later it is 10 s.
fn opened(registry: &CircuitBreakerRegistry, clock: &ManualClock) {
    let breaker = registry.get_or_create(&key()).unwrap();
    let status = FailureKind::Status(StatusCode::SERVICE_UNAVAILABLE);
    breaker.try_acquire().unwrap().record(Verdict::Success);
    breaker.try_acquire().unwrap().record(Verdict::Ignored);
    breaker
        .try_acquire()
        .unwrap()
        .record(Verdict::Failure(FailureKind::Timeout));
    drop(breaker.try_acquire().unwrap());
    clock.advance(Duration::from_millis(250));
    breaker.try_acquire().unwrap().record(Verdict::Failure(status));
    breaker.try_acquire().unwrap().record(Verdict::Failure(status));
    clock.advance(Duration::from_millis(9_750));
    for _ in 0..2 {
        drop(breaker.try_acquire().unwrap_err());
    }
}

#[test]
fn the_json_of_an_open_breaker_is_pinned() {
    let clock = ManualClock::new();
    let registry = registry(&clock);
    opened(&registry, &clock);
    let windows = json!([
        { "calls": 4, "failures": 3, "slow_calls": 0, "failure_rate": 75.0, "slow_call_rate": null },
        { "calls": 4, "failures": 3, "slow_calls": 0, "failure_rate": null, "slow_call_rate": null },
    ]);
    let expected = json!([{
        "registry": "shop",
        "key": "GET https://stock.example /items/{id}",
        "state": "open",
        "generation": 1,
        "consecutive_failures": 3,
        "windows": windows,
        "in_flight": 0,
        "half_open": null,
        "open_for": 9.75,
        "retry_after": 20.25,
        "probe_due": false,
        "last_failure": "status 503",
        "opened_in_a_row": 1,
        "totals": {
            "started": 6,
            "success": 1,
            "failure": 3,
            "ignored": 1,
            "cancelled": 1,
            "late": 0,
            "rejected": 2,
            "failures_by_kind": { "status": 2, "timeout": 1 },
        },
        "history": [{
            "at": START as f64 + 0.25,
            "from": "closed",
            "to": "open",
            "generation": 1,
            "reason": "tripped",
            "consecutive_failures": 3,
            "windows": windows,
            "open_for": null,
            "rejected": 0,
            "last_failure": "status 503",
        }],
    }]);
    assert_eq!(serde_json::to_value(registry.snapshots()).unwrap(), expected);
}

#[test]
fn the_json_of_a_probing_breaker_shows_its_phase() {
    let clock = ManualClock::new();
    let registry = registry(&clock);
    opened(&registry, &clock);
    clock.advance(Duration::from_secs(30));
    let breaker = registry.get(&key()).unwrap();
    let snapshot = |field: &str| serde_json::to_value(breaker.snapshot()).unwrap()[field].clone();
    assert_eq!((snapshot("state"), snapshot("probe_due")), (json!("open"), json!(true)));
    assert_eq!(snapshot("retry_after"), Value::Null);
    let probe = breaker.try_acquire().unwrap();
    assert_eq!(snapshot("state"), json!("half_open"));
    assert_eq!(
        snapshot("half_open"),
        json!({ "in_flight": 1, "successes": 0, "failures": 0 })
    );
    assert_eq!(snapshot("history")[1]["open_for"], json!(39.75));
    drop(probe);
}

#[test]
fn the_json_of_the_registrys_counts_is_pinned() {
    let clock = ManualClock::new();
    let registry = registry(&clock);
    opened(&registry, &clock);
    let expected = json!({ "breakers": 1, "created": 1, "evicted": 0, "overflowed": 0, "misplaced": 0 });
    assert_eq!(serde_json::to_value(registry.stats()).unwrap(), expected);
}

#[test]
fn a_transition_by_itself_says_whose_it_is() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let lines = Arc::clone(&heard);
    let listener = move |event: &Event| {
        if let Event::Transition(transition) = event {
            lines.lock().unwrap().push(serde_json::to_value(transition).unwrap());
        }
    };
    let registry = CircuitBreakerRegistry::builder().listener(listener).build().unwrap();
    registry.get_or_create(&key()).unwrap().force_open();
    let lines = heard.lock().unwrap();
    let fields = ["registry", "key", "from", "to", "reason"].map(|field| lines[0][field].as_str().unwrap());
    assert_eq!(
        fields,
        [
            "default",
            "GET https://stock.example /items/{id}",
            "closed",
            "forced_open",
            "manual"
        ]
    );
}
