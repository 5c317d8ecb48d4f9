//! Every transition is told once, with the numbers from before it, in an order that can be restored, under no lock.

use std::sync::{Arc, Mutex, OnceLock};
use std::thread;

use reqwest_circuit_breaker::{
    CircuitBreakerConfig, CircuitBreakerRegistry, Event, FailureKind, State, TransitionReason, TripPolicy, Verdict,
};

use crate::fixture::{Events, F, Fixture, N, S, assert_legal_path, half_of_ten, key, millis, secs};

#[test]
fn a_transition_carries_the_numbers_from_before_it() {
    let it = Fixture::new(half_of_ten().trip_on(TripPolicy::consecutive_failures(4)));
    it.repeat(5, S).repeat(3, F);
    it.calls([Verdict::Failure(FailureKind::Dns)]);
    for second in [1, 2, 3] {
        let _ = it.at(second).rejection();
    }
    let probe = it.at(40).probe();
    let _ = it.rejection();
    it.at(41);
    probe.record(S);

    let steps = it.events.transitions();
    let [tripped, due, closed] = &steps[..] else {
        panic!("{steps:?}")
    };
    assert_eq!(
        (tripped.reason(), tripped.consecutive_failures()),
        (TransitionReason::Tripped, 4)
    );
    assert_eq!((tripped.windows()[0].calls, tripped.windows()[0].failures), (9, 4));
    assert_eq!((tripped.open_for(), tripped.rejected()), (None, 0));
    assert_eq!(tripped.last_failure(), Some(FailureKind::Dns));
    assert_eq!(
        (due.reason(), due.open_for(), due.rejected()),
        (TransitionReason::RecoveryDue, Some(secs(40)), 3)
    );
    assert_eq!(due.consecutive_failures(), 4);
    assert_eq!(
        (closed.reason(), closed.open_for()),
        (TransitionReason::ProbesSucceeded, Some(secs(41)))
    );
    assert_eq!(closed.rejected(), 4, "all since the opening");
    for step in &steps {
        assert_eq!((step.registry(), step.key()), ("default", &key("http://a.test")));
    }
}

#[test]
fn the_next_opening_counts_its_time_and_rejections_anew() {
    let it = Fixture::five().opened();
    let _ = it.at(10).rejection();
    it.at(30).probe().record(F);
    let _ = (it.at(35).rejection(), it.rejection());
    it.at(70).probe().record(S);
    let numbers: Vec<_> = it
        .events
        .transitions()
        .iter()
        .map(|step| (step.rejected(), step.open_for().map(|time| time.as_secs())))
        .collect();
    assert_eq!(
        numbers,
        [(0, None), (1, Some(30)), (1, Some(30)), (2, Some(40)), (2, Some(40))]
    );
    it.repeat(5, F);
    assert_eq!(it.events.transitions()[5].open_for(), None, "it was closed");
}

#[test]
fn only_changes_are_told() {
    let it = Fixture::five();
    it.repeat(4, F).repeat(4, S).repeat(4, N);
    drop(it.permit());
    assert!(it.events.all().is_empty());
    let it = it.opened();
    it.at(30).probe().record(N);
    drop(it.probe());
    it.probe().record(F);
    assert_eq!(it.events.path(), "closed>open open>half_open half_open>open");
    assert_eq!(it.events.probes(), [N, F], "a dropped probe tells nothing");
}

#[test]
fn the_probe_is_told_before_the_transition_it_made() {
    let it = Fixture::five().opened();
    it.at(30).probe().record(S);
    let kinds: Vec<_> = it
        .events
        .all()
        .iter()
        .map(|event| match event {
            Event::Transition(step) => step.to().as_str(),
            Event::ProbeFinished(_) => "probe",
            Event::Rejected(_) => "rejected",
            _ => "other",
        })
        .collect();
    assert_eq!(kinds, ["open", "half_open", "probe", "closed"]);
}

#[test]
fn a_listener_may_call_back_on_every_event() {
    let slot: Arc<OnceLock<CircuitBreakerRegistry>> = Arc::default();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (back, heard) = (Arc::clone(&slot), Arc::clone(&seen));
    let listener = move |event: &Event| {
        let registry = back.get().expect("the registry is built");
        let own = registry.get(event.key());
        if let Event::Transition(step) = event {
            let own = own.as_ref().expect("its breaker");
            heard
                .lock()
                .expect("nobody panics with it")
                .push((step.to(), own.snapshot().state, own.would_admit()));
            // A rejection is an event too: here is where it ends.
            let _ = own.try_acquire().map(drop);
            if step.key().origin().host() == "a.test" {
                registry
                    .get_or_create(&key("http://other.test"))
                    .expect("there is room")
                    .force_open();
            }
        }
        let _ = (registry.snapshots(), registry.stats());
    };
    let it = Fixture::with(CircuitBreakerConfig::builder(), |registry| registry.listener(listener));
    assert!(slot.set(it.registry.clone()).is_ok());
    it.repeat(5, F);
    assert_eq!(it.state(), State::Open);
    assert_eq!(
        it.registry.get(&key("http://other.test")).unwrap().state(),
        State::ForcedOpen
    );
    let seen = seen.lock().unwrap().clone();
    assert_eq!(
        seen,
        [
            (State::Open, State::Open, false),
            (State::ForcedOpen, State::ForcedOpen, false)
        ]
    );
}

#[test]
fn a_listener_that_panics_is_contained_and_the_others_still_run() {
    let (before, after) = (Events::default(), Events::default());
    let (first, last) = (before.listener(), after.listener());
    let it = Fixture::with(CircuitBreakerConfig::builder(), |registry| {
        registry
            .listener(first)
            .listener(|_: &Event| std::panic::resume_unwind(Box::new(())))
            .listener(last)
    });
    let it = it.opened();
    let _ = it.rejection();
    it.at(30).probe().record(S);
    it.breaker.force_open();
    it.breaker.reset();
    let paths = [before.path(), after.path()];
    assert_eq!(paths, [it.events.path(), it.events.path()]);
    assert_eq!(
        (
            before.rejections().len(),
            after.rejections().len(),
            after.probes().len()
        ),
        (1, 1, 1)
    );
    assert_eq!(it.state(), State::Closed);
}

/// A payload whose own drop panics.
pub(crate) struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !thread::panicking() {
            std::panic::resume_unwind(Box::new(()));
        }
    }
}

#[test]
fn a_panic_whose_payload_panics_is_contained_too() {
    let it = Fixture::with(CircuitBreakerConfig::builder(), |registry| {
        registry.listener(|_: &Event| std::panic::resume_unwind(Box::new(Bomb)))
    });
    let it = it.opened();
    it.at(30).probe().record(S);
    assert_eq!(it.state(), State::Closed);
}

#[test]
fn an_abandoned_call_tells_its_listeners_from_its_drop() {
    let it = Fixture::with(
        CircuitBreakerConfig::builder()
            .trip_on(TripPolicy::consecutive_failures(1))
            .abandoned_after(secs(1)),
        |registry| registry.listener(|_: &Event| std::panic::resume_unwind(Box::new(()))),
    );
    let permit = it.permit();
    it.at(1);
    drop(permit);
    assert_eq!((it.state(), it.events.path().as_str()), (State::Open, "closed>open"));
}

#[test]
fn generations_put_the_events_of_many_threads_in_a_legal_order() {
    let config = CircuitBreakerConfig::builder()
        .recovery_timeout(millis(1))
        .half_open_max_calls(2);
    let it = Fixture::with(config, |registry| registry.name("threads"));
    let other = it.registry.get_or_create(&key("http://b.test")).unwrap();
    thread::scope(|scope| {
        for thread in 0..8_usize {
            let (it, other) = (&it, &other);
            scope.spawn(move || {
                for n in 0..500_usize {
                    let Ok(permit) = other.try_acquire() else {
                        it.clock.advance(millis(1));
                        continue;
                    };
                    permit.record(if (n + thread) % 8 == 0 { S } else { F });
                }
            });
        }
    });
    let mut steps = it.events.transitions();
    assert!(steps.len() > 3, "it moved");
    steps.sort_by_key(|step| step.generation());
    assert_legal_path(&steps);
    assert_eq!(
        other.snapshot().generation,
        steps.len() as u64,
        "none is lost and none is told twice"
    );
}
