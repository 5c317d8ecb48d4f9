//! What happens to a breaker is in the log: at the level, and with the fields, that the documentation names.
//!
//! A binary of its own: a log statement that another test reaches first, with nobody listening, may be switched off for
//! the whole process.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::{Request, Response};
use reqwest_circuit_breaker::{
    CircuitBreakerConfig, CircuitBreakerMiddleware, CircuitBreakerRegistry, CircuitBreakerRegistryBuilder, CircuitKey,
    Event, FailureKind, ManualClock, State, Verdict,
};
use reqwest_middleware::{ClientBuilder, Middleware, Next};
use reqwest_retry::RetryTransientMiddleware;
use reqwest_retry::policies::ExponentialBackoff;
use tracing::field::{Field, Visit};
use tracing::{Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

const FAILURE: Verdict = Verdict::Failure(FailureKind::Timeout);

/// One event, as a subscriber gets it.
#[derive(Debug, PartialEq)]
struct Line {
    level: Level,
    fields: BTreeMap<&'static str, String>,
}

impl Line {
    fn get(&self, field: &str) -> &str {
        self.fields.get(field).map_or("-", String::as_str)
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.fields.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name(), value.to_owned());
    }
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Line>>>);

impl Log {
    fn take(&self) -> Vec<Line> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl<S: Subscriber> Layer<S> for Log {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        assert_eq!(
            event.metadata().target(),
            "reqwest_circuit_breaker",
            "filters name the target"
        );
        let mut line = Line {
            level: *event.metadata().level(),
            fields: BTreeMap::new(),
        };
        event.record(&mut line);
        self.0.lock().unwrap().push(line);
    }
}

fn logged<T>(log: &Log, act: impl FnOnce() -> T) -> T {
    tracing::subscriber::with_default(tracing_subscriber::registry().with(log.clone()), act)
}

fn key(text: &str) -> CircuitKey {
    text.parse().unwrap()
}

fn builder(clock: &ManualClock) -> CircuitBreakerRegistryBuilder {
    CircuitBreakerRegistry::builder().name("shop").clock(clock.clone())
}

#[test]
fn every_transition_is_logged_with_its_numbers_and_openings_are_warnings() {
    let (log, clock) = (Log::default(), ManualClock::new());
    let registry = builder(&clock).build().unwrap();
    let breaker = registry.get_or_create(&key("https://stock.example")).unwrap();
    logged(&log, || {
        for _ in 0..5 {
            breaker.try_acquire().unwrap().record(FAILURE);
        }
        clock.advance(Duration::from_millis(30_500));
        breaker.try_acquire().unwrap().record(Verdict::Success);
        breaker.force_open();
        breaker.disable();
        breaker.reset();
    });
    let lines = log.take();
    let transitions: Vec<_> = lines.iter().filter(|line| line.get("to") != "-").collect();
    let fields = [
        "from",
        "to",
        "reason",
        "generation",
        "consecutive_failures",
        "open_for",
        "last_failure",
    ];
    let told: Vec<_> = transitions
        .iter()
        .map(|line| (line.level, fields.map(|field| line.get(field))))
        .collect();
    assert_eq!(
        told,
        [
            (Level::WARN, ["closed", "open", "tripped", "1", "5", "-", "timeout"]),
            (
                Level::INFO,
                ["open", "half_open", "recovery_due", "2", "5", "30.5s", "timeout"]
            ),
            (
                Level::INFO,
                ["half_open", "closed", "probes_succeeded", "3", "0", "30.5s", "timeout"]
            ),
            (
                Level::WARN,
                ["closed", "forced_open", "manual", "4", "0", "-", "timeout"]
            ),
            (
                Level::INFO,
                ["forced_open", "disabled", "manual", "5", "0", "0ns", "timeout"]
            ),
            (Level::INFO, ["disabled", "closed", "manual", "6", "0", "-", "timeout"]),
        ]
    );
    for line in &lines {
        assert_eq!(line.get("registry"), "shop");
        assert_eq!(line.get("key"), "https://stock.example");
        assert_ne!(line.get("message"), "-");
    }
    let probes: Vec<_> = lines.iter().filter(|line| line.get("verdict") != "-").collect();
    assert_eq!(probes.len(), 1);
    assert_eq!((probes[0].level, probes[0].get("verdict")), (Level::DEBUG, "success"));
}

#[test]
fn a_rejection_is_logged_for_debugging_and_counted_by_the_transition_that_ends_it() {
    let (log, clock) = (Log::default(), ManualClock::new());
    let registry = builder(&clock).build().unwrap();
    let breaker = registry.get_or_create(&key("https://stock.example")).unwrap();
    breaker.trip(Duration::from_secs(30));
    logged(&log, || {
        clock.advance(Duration::from_secs(10));
        for _ in 0..3 {
            drop(breaker.try_acquire().unwrap_err());
        }
        breaker.reset();
    });
    let lines = log.take();
    assert_eq!(lines.len(), 4);
    for line in &lines[..3] {
        assert_eq!(line.level, Level::DEBUG);
        let fields = ["reason", "retry_after", "enforced", "last_failure"].map(|field| line.get(field));
        assert_eq!(fields, ["open", "20s", "true", "-"]);
    }
    assert_eq!(lines[3].get("rejected"), "3");
}

#[test]
fn evictions_are_for_debugging_and_a_registry_without_room_is_a_warning() {
    let (log, clock) = (Log::default(), ManualClock::new());
    let registry = builder(&clock).max_breakers(1).build().unwrap();
    logged(&log, || {
        drop(registry.get_or_create(&key("https://a.example")).unwrap());
        registry.get_or_create(&key("https://b.example")).unwrap().force_open();
        assert!(registry.get_or_create(&key("https://c.example")).is_none());
    });
    let lines = log.take();
    let told: Vec<_> = lines
        .iter()
        .map(|line| (line.level, line.get("key"), line.get("reason")))
        .collect();
    assert_eq!(
        told,
        [
            (Level::DEBUG, "https://a.example", "capacity"),
            (Level::WARN, "https://b.example", "manual"),
            (Level::WARN, "https://c.example", "-"),
        ]
    );
}

#[test]
fn keys_that_grow_without_bound_are_a_warning() {
    let log = Log::default();
    let registry = builder(&ManualClock::new()).build().unwrap();
    logged(&log, || {
        for n in 0..=1_000 {
            drop(
                registry
                    .get_or_create(&key(&format!("https://stock.example /items/{n}")))
                    .unwrap(),
            );
        }
    });
    let lines = log.take();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!((lines[0].level, lines[0].get("created")), (Level::WARN, "1001"));
}

/// Stands for an upstream that is down, without a network.
struct Unavailable;

#[async_trait::async_trait]
impl Middleware for Unavailable {
    async fn handle(&self, _: Request, _: &mut http::Extensions, _: Next<'_>) -> reqwest_middleware::Result<Response> {
        let answer = http::Response::builder().status(503).body("").unwrap();
        Ok(answer.into())
    }
}

#[test]
fn retries_outside_the_breaker_are_a_warning_and_only_one() {
    let log = Log::default();
    let registry = builder(&ManualClock::new()).build().unwrap();
    let policy = ExponentialBackoff::builder()
        .retry_bounds(Duration::ZERO, Duration::ZERO)
        .build_with_max_retries(3);
    let client = ClientBuilder::new(reqwest::Client::new())
        .with(RetryTransientMiddleware::new_with_policy(policy))
        .with(CircuitBreakerMiddleware::new(registry.clone()))
        .with(Unavailable)
        .build();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let status = logged(&log, || {
        runtime.block_on(async {
            client
                .get("https://stock.example/a?secret")
                .send()
                .await
                .unwrap()
                .status()
        })
    });
    assert_eq!((status.as_u16(), registry.stats().misplaced), (503, 3));
    let lines = log.take();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(
        (lines[0].level, lines[0].get("key")),
        (Level::WARN, "https://stock.example")
    );
    assert!(lines[0].get("message").contains("outside the retries"));
}

/// A subscriber that fails at every event.
struct Broken;

impl<S: Subscriber> Layer<S> for Broken {
    fn on_event(&self, _: &tracing::Event<'_>, _: Context<'_, S>) {
        panic!("a subscriber's own fault");
    }
}

#[test]
fn a_panicking_subscriber_is_contained_and_listeners_still_run() {
    let heard = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&heard);
    let registry = CircuitBreakerRegistry::builder()
        .listener(move |_: &Event| {
            counter.fetch_add(1, Ordering::SeqCst);
        })
        .build()
        .unwrap();
    let breaker = registry.get_or_create(&key("https://stock.example")).unwrap();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(Broken), || breaker.force_open());
    assert_eq!((breaker.state(), heard.load(Ordering::SeqCst)), (State::ForcedOpen, 1));
}

#[test]
fn a_spared_call_is_logged_as_not_rejected() {
    let log = Log::default();
    let config = CircuitBreakerConfig::builder().report_only(true).build().unwrap();
    let registry = builder(&ManualClock::new()).config(config).build().unwrap();
    let breaker = registry.get_or_create(&key("https://stock.example")).unwrap();
    breaker.force_open();
    logged(&log, || breaker.try_acquire().unwrap().record(Verdict::Success));
    let lines = log.take();
    assert_eq!((lines.len(), lines[0].get("enforced")), (1, "false"));
}
