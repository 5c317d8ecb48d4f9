//! How long an opening lasts: backoff, jitter, caps, and the upstream's own wish.

use std::time::Duration;

use reqwest_circuit_breaker::{CircuitBreakerConfig, CircuitBreakerConfigBuilder, State};

use crate::fixture::{F, Fixture, S, key, millis, secs};

fn doubling() -> CircuitBreakerConfigBuilder {
    CircuitBreakerConfig::builder()
        .recovery_timeout(secs(1))
        .recovery_backoff(2, secs(5))
}

fn length(it: &Fixture) -> Duration {
    it.rejection().retry_after().expect("the time to the probe")
}

/// Waits for the deadline and fails the probe.
fn fail_probe(it: &Fixture) {
    it.clock.advance(length(it));
    it.probe().record(F);
}

#[test]
fn it_grows_with_each_opening_in_a_row_to_its_cap_and_starts_anew_after_closing() {
    let it = Fixture::new(doubling()).opened();
    for (n, expected) in [1, 2, 4, 5, 5, 5, 5].into_iter().enumerate() {
        assert_eq!(
            (length(&it), it.snapshot().opened_in_a_row),
            (secs(expected), n as u32 + 1)
        );
        fail_probe(&it);
    }
    it.clock.advance(secs(5));
    it.probe().record(S);
    assert_eq!(it.snapshot().opened_in_a_row, 0);
    it.repeat(5, F);
    assert_eq!(length(&it), secs(1));
}

#[test]
fn it_stays_at_its_cap_for_ever() {
    for factor in [1.5, 2.0, 1e300] {
        let it = Fixture::new(
            CircuitBreakerConfig::builder()
                .recovery_timeout(secs(1))
                .recovery_backoff(factor, secs(3600)),
        )
        .opened();
        for _ in 0..3000 {
            fail_probe(&it);
        }
        assert_eq!(length(&it), secs(3600), "{factor}");
    }
}

#[test]
fn a_factor_of_one_never_grows() {
    let it = Fixture::new(CircuitBreakerConfig::builder().recovery_backoff(1, secs(60))).opened();
    for _ in 0..10 {
        fail_probe(&it);
        assert_eq!(length(&it), secs(30));
    }
}

#[test]
fn without_backoff_every_opening_is_the_first() {
    let it = Fixture::five().opened();
    for n in 1..10 {
        assert_eq!((length(&it), it.snapshot().opened_in_a_row), (secs(30), n));
        fail_probe(&it);
    }
}

#[test]
fn ignored_dropped_and_tolerated_probes_are_no_step() {
    let it = Fixture::new(doubling().half_open_tolerated_failures(1)).opened();
    it.clock.advance(secs(1));
    it.probe().record(crate::fixture::N);
    drop(it.probe());
    it.probe().record(F);
    assert_eq!((it.state(), it.snapshot().opened_in_a_row), (State::HalfOpen, 1));
    it.probe().record(F);
    assert_eq!(
        (length(&it), it.snapshot().opened_in_a_row),
        (secs(2), 2),
        "one opening, one step"
    );
}

#[test]
fn an_opening_by_hand_is_no_step() {
    let it = Fixture::new(doubling());
    it.breaker.trip(secs(7));
    assert_eq!((length(&it), it.snapshot().opened_in_a_row), (secs(7), 0));
    fail_probe(&it);
    assert_eq!((length(&it), it.snapshot().opened_in_a_row), (secs(1), 1));
    fail_probe(&it);
    it.breaker.trip(secs(9));
    assert_eq!((length(&it), it.snapshot().opened_in_a_row), (secs(9), 2));
    fail_probe(&it);
    assert_eq!(length(&it), secs(4), "the third in a row, the one by hand left out");
}

#[test]
fn a_reset_starts_anew() {
    for by_hand in [
        |it: &Fixture| it.breaker.force_open(),
        |it: &Fixture| it.breaker.disable(),
    ] {
        let it = Fixture::new(doubling()).opened();
        fail_probe(&it);
        by_hand(&it);
        it.breaker.reset();
        assert_eq!(it.snapshot().opened_in_a_row, 0);
        it.repeat(5, F);
        assert_eq!(length(&it), secs(1));
    }
}

#[test]
fn jitter_stays_in_its_band_and_under_the_cap() {
    let config = CircuitBreakerConfig::builder()
        .recovery_timeout(secs(10))
        .recovery_backoff(1, secs(11))
        .recovery_jitter(0.2)
        .recovery_jitter_seed(3);
    let it = Fixture::new(config).opened();
    let mut lengths = Vec::new();
    for _ in 0..300 {
        lengths.push(length(&it));
        fail_probe(&it);
    }
    assert!(lengths.iter().all(|length| (secs(8)..=secs(11)).contains(length)));
    assert!(lengths.iter().any(|length| *length < secs(9)) && lengths.contains(&secs(11)));
}

#[test]
fn jitter_repeats_with_its_seed_and_differs_between_keys() {
    let lengths = |name: &str, seed: Option<u64>| {
        let config = CircuitBreakerConfig::builder().recovery_jitter(0.5);
        let it = Fixture::new(match seed {
            Some(seed) => config.recovery_jitter_seed(seed),
            None => config,
        });
        let breaker = it.registry.get_or_create(&key(name)).unwrap();
        let mut lengths = Vec::new();
        for _ in 0..5 {
            breaker.try_acquire().unwrap().record(F);
        }
        for _ in 0..10 {
            let wait = breaker.try_acquire().unwrap_err().retry_after().unwrap();
            lengths.push(wait);
            it.clock.advance(wait);
            breaker.try_acquire().unwrap().record(F);
        }
        lengths
    };
    assert_eq!(lengths("http://b.test", Some(1)), lengths("http://b.test", Some(1)));
    assert_ne!(lengths("http://b.test", Some(1)), lengths("http://b.test", Some(2)));
    for seed in [0, 1, u64::MAX] {
        assert_ne!(
            lengths("http://b.test", Some(seed)),
            lengths("http://c.test", Some(seed))
        );
    }
    assert_ne!(
        lengths("http://b.test", None),
        lengths("http://b.test", None),
        "random per registry"
    );
}

#[test]
fn reading_and_rejecting_draw_no_jitter() {
    let config = CircuitBreakerConfig::builder()
        .recovery_jitter(0.5)
        .recovery_jitter_seed(9);
    let (quiet, busy) = (Fixture::new(config.clone()).opened(), Fixture::new(config).opened());
    for _ in 0..5 {
        let _ = (busy.snapshot(), busy.breaker.would_admit(), busy.rejection());
        assert_eq!(length(&quiet), length(&busy));
        fail_probe(&quiet);
        fail_probe(&busy);
    }
}

#[test]
fn retry_after_lengthens_up_to_its_cap_and_never_shortens() {
    for (asked, expected) in [(0, 30), (5, 30), (60, 60), (120, 120), (86_400, 120), (u64::MAX, 120)] {
        let it = Fixture::new(CircuitBreakerConfig::builder().honor_retry_after(secs(120)));
        it.repeat(4, F);
        it.permit().record_with_retry_after(F, secs(asked));
        assert_eq!(length(&it), secs(expected), "{asked}");
    }
}

#[test]
fn retry_after_is_not_heard_unless_asked_for() {
    let it = Fixture::five();
    it.repeat(4, F);
    it.permit().record_with_retry_after(F, secs(60));
    assert_eq!(length(&it), secs(30));
}

#[test]
fn only_the_verdict_that_opens_may_lengthen() {
    let it = Fixture::new(CircuitBreakerConfig::builder().honor_retry_after(secs(600)));
    for _ in 0..4 {
        it.permit().record_with_retry_after(F, secs(300));
    }
    it.repeat(1, F);
    assert_eq!(length(&it), secs(30), "the wishes before the last are nobody's");
    it.at(30).probe().record_with_retry_after(F, secs(90));
    assert_eq!(length(&it), secs(90), "a probe's wish is heard");
    it.at(120).probe().record(F);
    assert_eq!(length(&it), secs(30), "and only for its own opening");
}

#[test]
fn the_longer_of_backoff_and_retry_after_wins_each_under_its_own_cap() {
    let it = Fixture::new(doubling().honor_retry_after(secs(3)));
    it.repeat(4, F);
    it.permit().record_with_retry_after(F, secs(60));
    assert_eq!(length(&it), secs(3), "1 s, or 60 s capped");
    it.clock.advance(secs(3));
    it.probe().record_with_retry_after(F, millis(2500));
    assert_eq!(length(&it), millis(2500));
    it.clock.advance(millis(2500));
    it.probe().record_with_retry_after(F, secs(60));
    assert_eq!(length(&it), secs(4), "its wish is capped below the backoff");
}

#[test]
fn a_wish_beside_a_verdict_that_opens_nothing_changes_nothing() {
    let it = Fixture::new(CircuitBreakerConfig::builder().honor_retry_after(secs(600)));
    for verdict in [S, F, crate::fixture::N] {
        it.permit().record_with_retry_after(verdict, Duration::MAX);
    }
    assert_eq!((it.state(), it.ends()), (State::Closed, [1, 1, 1, 0, 0]));
}
