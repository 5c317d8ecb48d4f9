//! Recorders made by hand: one that keeps everything, one that fails, one without a size.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock};

use metrics::{Counter, CounterFn, Gauge, GaugeFn, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};

/// Keeps every value under its registry and key, and then its name and further labels, `name label=value`.
#[derive(Clone, Default)]
pub(super) struct Store(Arc<Inner>);

#[derive(Default)]
struct Inner {
    kept: Mutex<Kept>,
    on_registration: OnceLock<Box<dyn Fn() + Send + Sync>>,
    before_next_set: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

#[derive(Default)]
struct Kept {
    values: BTreeMap<(Owner, String), Cell>,
    registrations: BTreeMap<String, usize>,
    described: Vec<(String, Option<String>)>,
}

type Owner = (String, String);
type Cell = Arc<Mutex<f64>>;

impl Store {
    /// The values of all breakers; each test with more than one asks with [`get_of`](Self::get_of).
    pub(super) fn all(&self) -> BTreeMap<String, f64> {
        let kept = self.0.kept.lock().unwrap();
        let values = kept.values.iter();
        values
            .map(|((_, series), cell)| (series.clone(), *cell.lock().unwrap()))
            .collect()
    }

    pub(super) fn get(&self, series: &str) -> Option<f64> {
        self.all().get(series).copied()
    }

    pub(super) fn get_of(&self, key: &str, series: &str) -> Option<f64> {
        let kept = self.0.kept.lock().unwrap();
        let mut found = kept
            .values
            .iter()
            .filter(|((owner, name), _)| owner.1 == key && name == series);
        found.next().map(|(_, cell)| *cell.lock().unwrap())
    }

    pub(super) fn owners(&self) -> BTreeSet<Owner> {
        let kept = self.0.kept.lock().unwrap();
        kept.values.keys().map(|(owner, _)| owner.clone()).collect()
    }

    pub(super) fn registrations(&self, series: &str) -> usize {
        self.0
            .kept
            .lock()
            .unwrap()
            .registrations
            .get(series)
            .copied()
            .unwrap_or(0)
    }

    pub(super) fn described(&self) -> Vec<(String, Option<String>)> {
        self.0.kept.lock().unwrap().described.clone()
    }

    pub(super) fn on_registration(&self, call: impl Fn() + Send + Sync + 'static) {
        assert!(self.0.on_registration.set(Box::new(call)).is_ok());
    }

    /// Lets something happen between the moment a state is read and the moment it is shown.
    pub(super) fn before_next_set(&self, call: impl FnOnce() + Send + 'static) {
        *self.0.before_next_set.lock().unwrap() = Some(Box::new(call));
    }

    fn describe(&self, name: KeyName, unit: Option<Unit>) {
        let unit = unit.map(|unit| unit.as_str().to_owned());
        self.0
            .kept
            .lock()
            .unwrap()
            .described
            .push((name.as_str().to_owned(), unit));
    }

    fn register(&self, key: &Key) -> Cell {
        if let Some(call) = self.0.on_registration.get() {
            call();
        }
        let label = |name: &str| {
            key.labels()
                .find(|label| label.key() == name)
                .map(|label| label.value().to_owned())
        };
        let owner = (label("registry").unwrap(), label("key").unwrap());
        let further = key.labels().filter(|label| !["registry", "key"].contains(&label.key()));
        let further = further.map(|label| format!(" {}={}", label.key(), label.value()));
        let series: String = std::iter::once(key.name().to_owned()).chain(further).collect();
        let mut kept = self.0.kept.lock().unwrap();
        *kept.registrations.entry(series.clone()).or_default() += 1;
        Arc::clone(kept.values.entry((owner, series)).or_default())
    }
}

impl Recorder for Store {
    fn describe_counter(&self, key: KeyName, unit: Option<Unit>, _: SharedString) {
        self.describe(key, unit);
    }

    fn describe_gauge(&self, key: KeyName, unit: Option<Unit>, _: SharedString) {
        self.describe(key, unit);
    }

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {
        unreachable!("there are no histograms");
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(Arc::new(Value(self.register(key), self.clone())))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(Arc::new(Value(self.register(key), self.clone())))
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        unreachable!("there are no histograms");
    }
}

struct Value(Cell, Store);

impl CounterFn for Value {
    fn increment(&self, value: u64) {
        *self.0.lock().unwrap() += value as f64;
    }

    fn absolute(&self, _: u64) {
        unreachable!("another breaker of the same key may have counted before");
    }
}

impl GaugeFn for Value {
    fn increment(&self, _: f64) {
        unreachable!("the state is set");
    }

    fn decrement(&self, _: f64) {
        unreachable!("the state is set");
    }

    fn set(&self, value: f64) {
        let before = self.1.0.before_next_set.lock().unwrap().take();
        if let Some(call) = before {
            call();
        }
        *self.0.lock().unwrap() = value;
    }
}

/// Cannot be told from no recorder. For one test: its store is a static.
pub(super) struct Sizeless;

impl Sizeless {
    pub(super) fn store() -> &'static Store {
        static STORE: OnceLock<Store> = OnceLock::new();
        STORE.get_or_init(Store::default)
    }
}

/// Registers, and fails whenever a value is told.
pub(super) struct Broken {
    #[expect(dead_code, reason = "it is there to have a size")]
    /// Anything: what has no size cannot be told from no recorder.
    pub(super) size: u8,
}

struct Failing;

impl CounterFn for Failing {
    fn increment(&self, _: u64) {
        panic!("a recorder's own fault");
    }

    fn absolute(&self, _: u64) {
        panic!("a recorder's own fault");
    }
}

macro_rules! recorder {
    ($recorder:ty, $counter:expr, $gauge:expr) => {
        impl Recorder for $recorder {
            fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
            fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
            fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

            fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
                $counter(key)
            }

            fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
                $gauge(key)
            }

            fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
                unreachable!("there are no histograms");
            }
        }
    };
}

recorder!(
    Sizeless,
    |key| Counter::from_arc(Arc::new(Value(Sizeless::store().register(key), Store::default()))),
    |key| Gauge::from_arc(Arc::new(Value(Sizeless::store().register(key), Store::default())))
);
recorder!(Broken, |_| Counter::from_arc(Arc::new(Failing)), |_| Gauge::noop());
