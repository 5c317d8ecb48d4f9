//! Counters and gauges through the `metrics` facade.
//!
//! Every breaker has a meter. It registers its series once, with the first recorder that is there when the breaker has
//! something to tell, and keeps the handles: what a healthy call pays is one increment. A recorder is foreign code, so it
//! is called under no lock, and a panic in it is contained.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Arc, OnceLock};

use metrics::{Counter, Gauge, Key, Label, Level, Metadata, Recorder, Unit, with_recorder};

use super::transition::Step;
use crate::foreign::contained;
use crate::key::CircuitKey;
use crate::state::{RejectReason, State};
use crate::verdict::{FailureKind, Verdict};

const STATE: &str = "circuit_breaker_state";
const CALLS: &str = "circuit_breaker_calls_total";
const FAILURES: &str = "circuit_breaker_failures_total";
const REJECTED: &str = "circuit_breaker_rejected_total";
const TRANSITIONS: &str = "circuit_breaker_transitions_total";
const OPEN_SECONDS: &str = "circuit_breaker_open_seconds_total";

const OUTCOME: &str = "outcome";

const NANOS_PER_SECOND: u64 = 1_000_000_000;

static METADATA: Metadata<'static> = Metadata::new("reqwest_circuit_breaker", Level::INFO, Some(module_path!()));

/// What the meters of one registry share.
pub(crate) struct Meters(Arc<Shared>);

struct Shared {
    registry: Arc<str>,
    described: AtomicBool,
}

/// The series of one breaker.
pub(crate) struct Meter {
    shared: Arc<Shared>,
    key: CircuitKey,
    handles: OnceLock<Box<Handles>>,
    /// So that a healthy call allocates nothing while there is no recorder.
    success_key: OnceLock<Box<Key>>,
    open_nanos: AtomicU64,
}

struct Handles {
    state: Gauge,
    success: Counter,
    /// By [`Series::index`]. Registered when first used: most breakers never fail.
    others: [OnceLock<Counter>; Series::COUNT],
}

/// A counter that a healthy breaker does without.
#[derive(Clone, Copy)]
enum Series {
    Failure,
    Ignored,
    Cancelled,
    Late,
    OpenSeconds,
    Rejected(RejectReason),
    Kind(FailureKind),
}

impl Meters {
    pub(crate) fn new(registry: &Arc<str>) -> Self {
        Self(Arc::new(Shared {
            registry: Arc::clone(registry),
            described: AtomicBool::new(false),
        }))
    }

    /// Makes the meter of a breaker.
    pub(crate) fn meter(&self, key: &CircuitKey) -> Meter {
        Meter {
            shared: Arc::clone(&self.0),
            key: key.clone(),
            handles: OnceLock::new(),
            success_key: OnceLock::new(),
            open_nanos: AtomicU64::new(0),
        }
    }
}

/// # What a breaker tells
///
/// `state` reads the breaker's present state.
impl Meter {
    /// Shows a new breaker's state.
    pub(crate) fn announce(&self, state: impl Fn() -> State) {
        if self.handles.get().is_none() {
            contained(|| with_recorder(|recorder| self.show_state(recorder, &state)));
        }
    }

    #[inline]
    pub(crate) fn count_success(&self, state: impl Fn() -> State) {
        contained(|| match self.handles.get() {
            Some(handles) => handles.success.increment(1),
            None => self.count_first_success(&state),
        });
    }

    /// Counts a verdict; `None` is one that came late.
    pub(crate) fn count(&self, verdict: Option<Verdict>, state: impl Fn() -> State) {
        match verdict {
            Some(Verdict::Success) => self.count_success(state),
            Some(Verdict::Ignored) => self.add(Series::Ignored, 1, state),
            Some(Verdict::Failure(kind)) => {
                self.add(Series::Failure, 1, &state);
                self.add(Series::Kind(kind), 1, &state);
            }
            None => self.add(Series::Late, 1, state),
        }
    }

    pub(crate) fn count_cancelled(&self, state: impl Fn() -> State) {
        self.add(Series::Cancelled, 1, state);
    }

    pub(crate) fn count_rejected(&self, reason: RejectReason, state: impl Fn() -> State) {
        self.add(Series::Rejected(reason), 1, state);
    }

    pub(crate) fn count_transition(&self, step: &Step, state: impl Fn() -> State) {
        if let Some(seconds) = self.open_seconds(step) {
            self.add(Series::OpenSeconds, seconds, &state);
        }
        contained(|| {
            with_recorder(|recorder| {
                let mut labels = self.labels();
                labels.push(Label::from_static_parts("from", step.from.as_str()));
                labels.push(Label::from_static_parts("to", step.to.as_str()));
                let key = Key::from_parts(TRANSITIONS, labels);
                recorder.register_counter(&key, &METADATA).increment(1);
                self.show_state(recorder, &state);
            });
        });
    }
}

impl Meter {
    /// Whole seconds that an ended opening adds to the sum of all, `None` if none ended. The fraction stays in the sum, so
    /// that it is never off by more than one second, however many openings there were.
    fn open_seconds(&self, step: &Step) -> Option<u64> {
        // The time of a half-open phase is the probe's. What `open_for` says there contains the opening before, which
        // was counted when it ended.
        let (State::Open | State::ForcedOpen, Some(open_for)) = (step.from, step.open_for) else {
            return None;
        };
        let nanos = u64::try_from(open_for.as_nanos()).unwrap_or(u64::MAX);
        let sum = |before: u64| before.saturating_add(nanos);
        let update = self
            .open_nanos
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |before| Some(sum(before)));
        let before = update.ok()?;
        Some(sum(before) / NANOS_PER_SECOND - before / NANOS_PER_SECOND)
    }

    fn add(&self, series: Series, amount: u64, state: impl Fn() -> State) {
        contained(|| {
            if let Some(counter) = self
                .handles
                .get()
                .and_then(|handles| handles.others[series.index()].get())
            {
                return counter.increment(amount);
            }
            with_recorder(|recorder| {
                let (name, label) = series.name();
                let mut labels = self.labels();
                labels.extend(label.map(|(name, value)| Label::from_static_parts(name, value)));
                let counter = recorder.register_counter(&Key::from_parts(name, labels), &METADATA);
                counter.increment(amount);
                if let Some(handles) = self.handles(recorder, &state) {
                    // If another thread came first, its handle leads to the same series.
                    let _ = handles.others[series.index()].set(counter);
                }
            });
        });
    }

    #[cold]
    fn count_first_success(&self, state: &impl Fn() -> State) {
        with_recorder(|recorder| match self.handles(recorder, state) {
            Some(handles) => handles.success.increment(1),
            None => recorder.register_counter(self.success_key(), &METADATA).increment(1),
        });
    }

    /// Shows the present state. Two threads that made two transitions may come here in either order: each looks again
    /// after it has shown one, so that the last one shown is the present one.
    fn show_state(&self, recorder: &dyn Recorder, state: &impl Fn() -> State) {
        if let Some(handles) = self.handles.get() {
            show(&handles.state, state);
        } else if self.handles(recorder, state).is_none() {
            self.describe(recorder);
            show(&self.register_state(recorder), state);
        }
    }

    /// The handles, registered with this recorder unless they are already with one; `None` if they may not be kept.
    ///
    /// The facade does not tell whether a recorder is installed. What stands in for none has no size, and nothing
    /// registered with it must be kept: the recorder may be installed later. One of yours without a size works too, it
    /// is asked each time.
    fn handles(&self, recorder: &dyn Recorder, state: &impl Fn() -> State) -> Option<&Handles> {
        if let Some(handles) = self.handles.get() {
            return Some(handles);
        }
        if size_of_val(recorder) == 0 {
            return None;
        }
        self.describe(recorder);
        let handles = Box::new(Handles {
            state: self.register_state(recorder),
            success: recorder.register_counter(self.success_key(), &METADATA),
            others: [const { OnceLock::new() }; Series::COUNT],
        });
        // Not `get_or_init`, which would lock while the recorder runs.
        let _ = self.handles.set(handles);
        let handles = self.handles.get()?;
        show(&handles.state, state);
        Some(handles)
    }

    fn register_state(&self, recorder: &dyn Recorder) -> Gauge {
        recorder.register_gauge(&Key::from_parts(STATE, self.labels()), &METADATA)
    }

    fn success_key(&self) -> &Key {
        self.success_key.get_or_init(|| {
            let mut labels = self.labels();
            labels.push(Label::from_static_parts(OUTCOME, "success"));
            Box::new(Key::from_parts(CALLS, labels))
        })
    }

    fn labels(&self) -> Vec<Label> {
        let mut labels = Vec::with_capacity(4);
        labels.push(Label::new("registry", Arc::clone(&self.shared.registry)));
        labels.push(Label::new("key", self.key.to_string()));
        labels
    }

    /// Describes the metrics, once per registry.
    fn describe(&self, recorder: &dyn Recorder) {
        let described = &self.shared.described;
        if described.load(Ordering::Relaxed) || size_of_val(recorder) != 0 && described.swap(true, Ordering::Relaxed) {
            return;
        }
        let state = "State: 0 closed or disabled, 1 half-open, 2 open or forced open";
        recorder.describe_gauge(STATE.into(), None, state.into());
        for (name, unit, text) in [
            (CALLS, Unit::Count, "Calls admitted, by how they ended"),
            (FAILURES, Unit::Count, "Failures that were counted, by their kind"),
            (REJECTED, Unit::Count, "Calls rejected, by the reason"),
            (TRANSITIONS, Unit::Count, "Transitions from one state to another"),
            (
                OPEN_SECONDS,
                Unit::Seconds,
                "Time spent open or forced open, known when it ends",
            ),
        ] {
            recorder.describe_counter(name.into(), Some(unit), text.into());
        }
    }
}

fn show(gauge: &Gauge, state: &impl Fn() -> State) {
    let level = || match state() {
        State::Closed | State::Disabled => 0.0,
        State::HalfOpen => 1.0,
        State::Open | State::ForcedOpen => 2.0,
    };
    let mut shown = level();
    loop {
        gauge.set(shown);
        // The level must be read again after it was shown, and the processor would be free to do it before.
        fence(Ordering::SeqCst);
        let present = level();
        if present == shown {
            return;
        }
        shown = present;
    }
}

impl Series {
    const KINDS: usize = 8;
    const COUNT: usize = Self::KINDS + FailureKind::NAMES.len();

    fn index(self) -> usize {
        match self {
            Self::Failure => 0,
            Self::Ignored => 1,
            Self::Cancelled => 2,
            Self::Late => 3,
            Self::OpenSeconds => 4,
            Self::Rejected(RejectReason::Open) => 5,
            Self::Rejected(RejectReason::ProbeInFlight) => 6,
            Self::Rejected(RejectReason::ForcedOpen) => 7,
            Self::Kind(kind) => Self::KINDS + kind.index(),
        }
    }

    /// The metric's name, and the label that tells its series apart.
    fn name(self) -> (&'static str, Option<(&'static str, &'static str)>) {
        match self {
            Self::Failure => (CALLS, Some((OUTCOME, "failure"))),
            Self::Ignored => (CALLS, Some((OUTCOME, "ignored"))),
            Self::Cancelled => (CALLS, Some((OUTCOME, "cancelled"))),
            Self::Late => (CALLS, Some((OUTCOME, "late"))),
            Self::OpenSeconds => (OPEN_SECONDS, None),
            Self::Rejected(reason) => (REJECTED, Some(("reason", reason.as_str()))),
            Self::Kind(kind) => (FAILURES, Some(("kind", kind.as_str()))),
        }
    }
}
