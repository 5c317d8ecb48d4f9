//! Under `report_only` the whole machine runs, and nobody is rejected.

use reqwest_circuit_breaker::{CircuitBreakerConfig, CircuitBreakerConfigBuilder, RejectReason, State};

use crate::fixture::{F, Fixture, N, S, secs};

fn report() -> CircuitBreakerConfigBuilder {
    CircuitBreakerConfig::builder().report_only(true)
}

#[test]
fn an_open_breaker_lets_every_call_pass_and_counts_it_as_rejected_started_and_late() {
    let it = Fixture::new(report()).opened();
    for verdict in [S, F, N] {
        let permit = it.permit();
        assert!(!permit.is_probe());
        permit.record(verdict);
    }
    drop(it.permit());
    let totals = it.totals();
    assert_eq!((totals.started, totals.rejected, it.ends()), (9, 4, [0, 5, 0, 1, 3]));
    assert_eq!((it.state(), it.snapshot().generation), (State::Open, 1));
}

#[test]
fn what_would_have_been_rejected_is_told_as_not_enforced() {
    let it = Fixture::new(report()).opened();
    drop(it.at(10).permit());
    let probe = it.at(30).probe();
    drop(it.permit());
    probe.record(S);
    it.breaker.force_open();
    drop(it.permit());
    let told: Vec<_> = it
        .events
        .rejections()
        .iter()
        .map(|event| (event.reason(), event.retry_after()))
        .collect();
    assert_eq!(
        told,
        [
            (RejectReason::Open, Some(secs(20))),
            (RejectReason::ProbeInFlight, None),
            (RejectReason::ForcedOpen, None)
        ]
    );
    assert!(it.events.rejections().iter().all(|event| !event.enforced()));
    let enforced = Fixture::five().opened();
    let _ = enforced.rejection();
    assert!(enforced.events.rejections()[0].enforced());
}

#[test]
fn it_goes_the_way_of_a_breaker_that_rejects() {
    let run = |report_only: bool| {
        let it = Fixture::new(
            CircuitBreakerConfig::builder()
                .report_only(report_only)
                .recovery_backoff(2, secs(600)),
        );
        for second in 0..1000_u64 {
            it.at(second);
            for call in 0..3 {
                let verdict = if second % 300 < 200 && call < 2 { F } else { S };
                if let Ok(permit) = it.breaker.try_acquire() {
                    permit.record(verdict);
                }
                // A run that opens only while nothing succeeds in between.
                if second % 300 < 200 {
                    if let Ok(permit) = it.breaker.try_acquire() {
                        permit.record(F);
                    }
                }
            }
        }
        let steps: Vec<_> = it
            .events
            .transitions()
            .iter()
            .map(|step| (step.to(), step.rejected()))
            .collect();
        (steps, it.events.rejections().len(), it.totals().rejected)
    };
    let (rejecting, reporting) = (run(false), run(true));
    assert_eq!(rejecting, reporting);
}

#[test]
fn asking_is_always_answered_with_yes() {
    let it = Fixture::new(report()).opened();
    assert!(it.breaker.would_admit());
    let probe = it.at(30).probe();
    assert!(it.breaker.would_admit());
    drop(probe);
    it.breaker.force_open();
    assert!(it.breaker.would_admit());
    assert_eq!(it.totals().rejected, 0, "asking is no rejection");
}

#[test]
fn only_the_probe_decides_and_the_others_hold_no_slot() {
    let it = Fixture::new(report()).opened();
    let early = it.permit();
    let probe = it.at(30).probe();
    let shadows: Vec<_> = (0..10).map(|_| it.permit()).collect();
    assert_eq!(it.half_open().in_flight, 1);
    early.record(S);
    for shadow in shadows {
        shadow.record(S);
    }
    assert_eq!((it.state(), it.totals().late), (State::HalfOpen, 11));
    probe.record(S);
    assert_eq!(it.state(), State::Closed);
}

#[test]
fn a_dropped_shadow_frees_no_slot_and_abandons_nothing() {
    let it = Fixture::new(report().abandoned_after(secs(5))).opened();
    let probe = it.at(30).probe();
    let shadow = it.permit();
    it.at(40);
    drop(shadow);
    assert_eq!((it.state(), it.half_open().in_flight), (State::HalfOpen, 1));
    let failed = it.totals().failure;
    probe.record(S);
    assert_eq!((it.state(), failed), (State::Closed, 5));
}

#[test]
fn a_shadow_is_late_also_after_the_breaker_closed() {
    let it = Fixture::new(report()).opened();
    let shadow = it.permit();
    it.at(30).probe().record(S);
    it.repeat(4, F);
    shadow.record(F);
    assert_eq!(it.snapshot().consecutive_failures, 4);
}
