//! Reading changes nothing, and tells the truth of the moment.

use reqwest_circuit_breaker::{CircuitBreakerConfig, State};

use crate::fixture::{F, Fixture, N, S, half_of_ten, key, secs};

fn read(it: &Fixture) {
    for _ in 0..3 {
        let _ = (
            it.snapshot(),
            it.state(),
            it.breaker.would_admit(),
            it.registry.snapshots(),
            it.registry.stats(),
        );
        let _ = (
            it.registry.len(),
            it.registry.is_empty(),
            it.registry.get(it.breaker.key()),
        );
        let _ = format!("{:?} {:?}", it.breaker, it.registry);
    }
}

#[test]
fn an_overdue_opening_stays_open_with_its_probe_due_until_a_call_comes() {
    let it = Fixture::five().opened();
    it.at(31);
    read(&it);
    let snapshot = it.snapshot();
    assert_eq!(
        (snapshot.state, snapshot.probe_due, snapshot.retry_after),
        (State::Open, true, None)
    );
    assert_eq!((snapshot.generation, snapshot.open_for), (1, Some(secs(31))));
    it.probe().record(S);
    assert_eq!(it.state(), State::Closed);
}

#[test]
fn a_probe_is_due_from_the_deadline_on_and_only_while_open() {
    let it = Fixture::five();
    assert!(!it.snapshot().probe_due);
    let it = it.opened();
    for (second, due) in [(0, false), (29, false), (30, true), (1000, true)] {
        let snapshot = it.at(second).snapshot();
        assert_eq!(
            (snapshot.probe_due, it.breaker.would_admit()),
            (due, due),
            "at {second}"
        );
        assert_eq!(snapshot.retry_after, (!due).then(|| secs(30 - second)));
    }
    let probe = it.probe();
    assert!(!it.snapshot().probe_due);
    probe.record(S);
}

#[test]
fn asking_before_choosing_takes_no_slot_and_needs_no_probe() {
    let it = Fixture::five();
    let keys = ["http://a.test", "http://b.test", "http://c.test"].map(key);
    let choose = || {
        keys.iter()
            .find(|key| it.registry.get_or_create(key).is_some_and(|it| it.would_admit()))
            .cloned()
    };
    it.repeat(5, F);
    assert_eq!(choose().as_ref(), Some(&keys[1]));
    it.at(30);
    for _ in 0..10 {
        assert_eq!(choose().as_ref(), Some(&keys[0]), "its open time is over");
    }
    it.probe().record(S);
    assert_eq!(it.state(), State::Closed);
}

#[test]
fn reading_between_the_calls_makes_no_difference() {
    let verdicts = [F, S, F, F, N, F, F, S, F, F, F, F, F];
    let run = |reads: bool| {
        let config = half_of_ten()
            .half_open_max_calls(2)
            .half_open_successes(2)
            .recovery_jitter(0.3);
        let it = Fixture::new(config.recovery_jitter_seed(4).recovery_backoff(2, secs(600)));
        for (n, verdict) in verdicts.iter().cycle().take(400).enumerate() {
            it.at(n as u64);
            if let Ok(permit) = it.breaker.try_acquire() {
                if reads {
                    read(&it);
                }
                permit.record(*verdict);
            }
            if reads {
                read(&it);
            }
        }
        let mut snapshot = it.snapshot();
        snapshot.history.clear();
        (format!("{snapshot:?}"), it.events.path())
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn a_listing_is_sorted_and_finds_the_open_key() {
    let it = Fixture::five();
    let breakers = ["http://c.test", "http://b.test"].map(|name| it.registry.get_or_create(&key(name)).unwrap());
    for _ in 0..5 {
        breakers[1].try_acquire().unwrap().record(F);
    }
    it.at(7);
    for _ in 0..12 {
        assert!(breakers[1].try_acquire().is_err());
    }
    let listed = it.registry.snapshots();
    let names: Vec<_> = listed.iter().map(|snapshot| snapshot.key.to_string()).collect();
    assert_eq!(names, ["http://a.test", "http://b.test", "http://c.test"]);
    let open = &listed[1];
    assert_eq!(
        (open.state, open.open_for, open.retry_after),
        (State::Open, Some(secs(7)), Some(secs(23)))
    );
    assert_eq!(
        (open.totals.rejected, open.last_failure.map(|kind| kind.as_str())),
        (12, Some("timeout"))
    );
    assert_eq!(
        (&*open.registry, listed[0].state, listed[2].state),
        ("default", State::Closed, State::Closed)
    );
}

#[test]
fn a_snapshot_shows_the_last_eight_transitions_oldest_first() {
    let it = Fixture::five();
    for n in 1..=20_u64 {
        it.at(n).breaker.reset();
        let history = it.snapshot().history;
        let numbers: Vec<_> = history.iter().map(|step| step.generation()).collect();
        assert_eq!(numbers, (n.saturating_sub(7).max(1)..=n).collect::<Vec<_>>());
        let ages = history
            .iter()
            .rev()
            .map(|step| history.last().map(|last| last.at().duration_since(step.at())));
        for (age, told) in ages.enumerate() {
            assert_eq!(told.unwrap().unwrap(), secs(age as u64), "the wall-clock time of each");
        }
    }
    assert_eq!(
        it.snapshot().history,
        it.events.transitions()[12..],
        "as they were told"
    );
}

#[test]
fn in_flight_is_of_all_generations() {
    let it = Fixture::new(CircuitBreakerConfig::builder().half_open_max_calls(2));
    let old = it.permit();
    let it = it.opened();
    let probe = it.at(30).probe();
    let snapshot = it.snapshot();
    assert_eq!((snapshot.in_flight, snapshot.half_open.unwrap().in_flight), (2, 1));
    drop((old, probe));
    assert_eq!(it.snapshot().in_flight, 0);
}
