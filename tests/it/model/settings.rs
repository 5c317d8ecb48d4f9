//! Valid configs, in plain numbers that the reference can read.

use std::time::Duration;

use proptest::prelude::*;
use reqwest_circuit_breaker::{CircuitBreakerConfig, TripPolicy};

use super::choices::Choices;

/// What a config says. The library keeps its own reading of it to itself, so the reference has this one.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) policies: Vec<Policy>,
    pub(super) recovery_timeout: Duration,
    pub(super) backoff: Option<Backoff>,
    pub(super) jitter: f64,
    pub(super) honor_retry_after: Option<Duration>,
    pub(super) max_calls: usize,
    pub(super) successes: u32,
    pub(super) tolerated_failures: u32,
    pub(super) probe_timeout: Duration,
    pub(super) abandoned_after: Option<Duration>,
    pub(super) report_only: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Policy {
    Consecutive(u32),
    Rate(Rate),
}

#[derive(Clone, Debug)]
pub(super) struct Rate {
    pub(super) basis_points: u32,
    pub(super) slower_than: Option<Duration>,
    pub(super) span: Span,
    pub(super) minimum: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Span {
    Time(Duration),
    Calls(usize),
}

/// The factor is in halves, so that the reference can compute in integers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backoff {
    pub(super) halves: u32,
    pub(super) max: Duration,
}

impl Settings {
    pub(super) fn rates(&self) -> impl Iterator<Item = &Rate> {
        self.policies.iter().filter_map(|policy| match policy {
            Policy::Consecutive(_) => None,
            Policy::Rate(rate) => Some(rate),
        })
    }

    /// The limit that a probe has to keep: the shortest of all slow-call policies.
    pub(super) fn slower_than(&self) -> Option<Duration> {
        self.rates().filter_map(|rate| rate.slower_than).min()
    }

    /// The same as the library's config.
    pub(super) fn config(&self) -> CircuitBreakerConfig {
        let mut builder = CircuitBreakerConfig::builder()
            .recovery_timeout(self.recovery_timeout)
            .recovery_jitter(self.jitter)
            .recovery_jitter_seed(7)
            .half_open_max_calls(self.max_calls as u32)
            .half_open_successes(self.successes)
            .half_open_tolerated_failures(self.tolerated_failures)
            .probe_timeout(self.probe_timeout)
            .report_only(self.report_only);
        for policy in &self.policies {
            builder = builder.trip_on(policy.to_trip_policy());
        }
        if let Some(Backoff { halves, max }) = self.backoff {
            builder = builder.recovery_backoff(f64::from(halves) / 2.0, max);
        }
        if let Some(max) = self.honor_retry_after {
            builder = builder.honor_retry_after(max);
        }
        if let Some(limit) = self.abandoned_after {
            builder = builder.abandoned_after(limit);
        }
        builder.build().expect("generated configs are valid")
    }
}

impl Policy {
    fn to_trip_policy(&self) -> TripPolicy {
        let rate = match self {
            Self::Consecutive(n) => return TripPolicy::consecutive_failures(*n),
            Self::Rate(rate) => rate,
        };
        let percent = f64::from(rate.basis_points) / 100.0;
        let policy = match rate.slower_than {
            None => TripPolicy::failure_rate(percent),
            Some(limit) => TripPolicy::slow_call_rate(percent, limit),
        };
        let policy = match rate.span {
            Span::Time(window) => policy.over_last(window),
            Span::Calls(n) => policy.over_last_calls(n as u32),
        };
        policy.minimum_calls(rate.minimum as u32)
    }
}

/// Any valid config, most of them small enough for a short history to get around in.
pub(super) fn settings() -> impl Strategy<Value = Settings> {
    any::<[u8; 32]>().prop_map(|bytes| choose(&mut Choices::new(&bytes)))
}

fn choose(choices: &mut Choices<'_>) -> Settings {
    let recovery_timeout = match choices.below(4) {
        3 => choices.duration(),
        _ => Duration::from_secs(10),
    };
    // A cap below the timeout would be invalid.
    let backoff = choices.once_in(2).then(|| Backoff {
        halves: choices.one_of(&[4, 2, 3, 5, 20]),
        max: recovery_timeout.saturating_mul(1 + choices.below(40) as u32),
    });
    Settings {
        recovery_timeout,
        backoff,
        jitter: choices.one_of(&[0.0, 0.0, 0.0, 0.1, 1.0]),
        honor_retry_after: choices.once_in(2).then(|| choices.duration()),
        max_calls: choices.one_of(&[1, 1, 1, 2, 2, 3]),
        successes: choices.one_of(&[1, 1, 1, 2, 3]),
        tolerated_failures: choices.one_of(&[0, 0, 0, 1, 2]),
        probe_timeout: match choices.below(3) {
            0 => Duration::from_secs(5),
            1 => Duration::from_secs(60),
            _ => choices.duration(),
        },
        abandoned_after: choices.once_in(3).then(|| choices.duration()),
        report_only: choices.once_in(7),
        policies: (0..=choices.below(3)).map(|_| policy(choices)).collect(),
    }
}

fn policy(choices: &mut Choices<'_>) -> Policy {
    if choices.below(5) < 2 {
        return Policy::Consecutive(1 + choices.below(5) as u32);
    }
    let span = match choices.below(6) {
        0 | 1 => Span::Time(Duration::from_secs(10)),
        2 => Span::Time(choices.duration()),
        3 => Span::Time(Duration::from_nanos(1 + choices.number())),
        4 => Span::Calls(1 + choices.below(12)),
        _ => Span::Calls(60 + choices.below(80)),
    };
    let minimum = 1 + choices.below(8);
    Policy::Rate(Rate {
        basis_points: match choices.below(5) {
            4 => 1 + choices.number() as u32 % 10_000,
            _ => choices.one_of(&[5_000, 10_000, 3_333, 2_500]),
        },
        slower_than: match choices.below(4) {
            0 | 1 => None,
            2 => Some(Duration::from_secs(1)),
            _ => Some(choices.duration()),
        },
        minimum: match span {
            Span::Time(_) => minimum,
            Span::Calls(n) => minimum.min(n),
        },
        span,
    })
}
