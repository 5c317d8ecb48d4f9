use super::*;
use crate::breaker::config::trip_policy::Rule;

fn field(builder: CircuitBreakerConfigBuilder) -> &'static str {
    builder.build().expect_err("senseless").field()
}

fn policy(policy: TripPolicy) -> &'static str {
    field(CircuitBreakerConfig::builder().trip_on(policy))
}

#[test]
fn an_untouched_builder_builds_the_default() {
    assert_eq!(
        CircuitBreakerConfig::builder().build().unwrap(),
        CircuitBreakerConfig::default()
    );
}

#[test]
fn the_first_policy_replaces_the_default_and_the_next_joins() {
    let one = CircuitBreakerConfig::builder().trip_on(TripPolicy::failure_rate(50));
    assert_eq!(
        one.clone().build().unwrap().policies(),
        [TripPolicy::failure_rate(50.0)]
    );
    assert_eq!(
        one.trip_on(TripPolicy::consecutive_failures(9))
            .build()
            .unwrap()
            .rules()
            .len(),
        2
    );
}

#[test]
fn every_senseless_setting_is_an_error_that_names_its_setter() {
    let builder = CircuitBreakerConfig::builder;
    let second = Duration::from_secs(1);
    assert_eq!(field(builder().recovery_timeout(Duration::ZERO)), "recovery_timeout");
    for factor in [0.99, 0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(
            field(builder().recovery_backoff(factor, Duration::MAX)),
            "recovery_backoff"
        );
    }
    assert_eq!(
        field(builder().recovery_backoff(2.0, second)),
        "recovery_backoff",
        "a cap below the timeout"
    );
    for fraction in [-0.1, 1.1, f64::NAN, f64::NEG_INFINITY] {
        assert_eq!(field(builder().recovery_jitter(fraction)), "recovery_jitter");
    }
    assert_eq!(field(builder().honor_retry_after(Duration::ZERO)), "honor_retry_after");
    assert_eq!(field(builder().half_open_max_calls(0)), "half_open_max_calls");
    assert_eq!(field(builder().half_open_successes(0)), "half_open_successes");
    assert_eq!(field(builder().probe_timeout(Duration::ZERO)), "probe_timeout");
    assert_eq!(field(builder().abandoned_after(Duration::ZERO)), "abandoned_after");
}

#[test]
fn every_senseless_policy_is_an_error_that_names_its_setter() {
    let second = Duration::from_secs(1);
    assert_eq!(policy(TripPolicy::consecutive_failures(0)), "consecutive_failures");
    assert_eq!(
        policy(TripPolicy::consecutive_failures(1).over_last(second)),
        "over_last"
    );
    assert_eq!(
        policy(TripPolicy::consecutive_failures(1).over_last_calls(9)),
        "over_last_calls"
    );
    assert_eq!(
        policy(TripPolicy::consecutive_failures(1).minimum_calls(9)),
        "minimum_calls"
    );
    for percent in [0.0, 0.004, -5.0, 100.01, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(policy(TripPolicy::failure_rate(percent)), "failure_rate");
        assert_eq!(policy(TripPolicy::slow_call_rate(percent, second)), "slow_call_rate");
    }
    assert_eq!(policy(TripPolicy::slow_call_rate(50, Duration::ZERO)), "slow_call_rate");
    assert_eq!(
        policy(TripPolicy::failure_rate(50).over_last(Duration::ZERO)),
        "over_last"
    );
    assert_eq!(
        policy(TripPolicy::failure_rate(50).over_last_calls(0)),
        "over_last_calls"
    );
    assert_eq!(
        policy(TripPolicy::failure_rate(50).over_last_calls(1_000_001)),
        "over_last_calls"
    );
    assert_eq!(policy(TripPolicy::failure_rate(50).minimum_calls(0)), "minimum_calls");
    assert_eq!(
        policy(TripPolicy::failure_rate(50).over_last_calls(9).minimum_calls(10)),
        "minimum_calls"
    );
}

#[test]
fn percentages_round_to_basis_points_and_the_edges_are_legal() {
    for percent in [0.005, 0.01, 33.333, 100.0, 100.004] {
        assert!(TripPolicy::failure_rate(percent).validate().is_ok(), "{percent}");
    }
}

#[test]
fn the_default_minimum_fits_a_short_count_window() {
    let Ok(Rule::Rate(rate)) = TripPolicy::failure_rate(50).over_last_calls(7).validate() else {
        panic!()
    };
    assert_eq!(rate.minimum, 7);
}

#[test]
fn a_policy_reads_as_a_sentence() {
    let policy = TripPolicy::failure_rate(12.5).over_last_calls(100).minimum_calls(10);
    assert_eq!(
        policy.to_string(),
        "failure rate >= 12.5 % over the last 100 calls, minimum 10 calls"
    );
    assert_eq!(
        TripPolicy::consecutive_failures(5).to_string(),
        "5 consecutive failures"
    );
    let slow = TripPolicy::slow_call_rate(80, Duration::from_secs(2));
    assert_eq!(
        slow.to_string(),
        "calls slower than 2s >= 80 % over the last 30s, minimum 20 calls"
    );
}
