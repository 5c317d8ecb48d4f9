//! Everything there is to see of a breaker, at one moment.

use std::sync::Arc;

use super::CircuitBreaker;
use super::clock::Tick;
use crate::observe::{CircuitSnapshot, Totals, Transition};

impl CircuitBreaker {
    /// Returns everything there is to see, all of one moment. Changes nothing.
    ///
    /// ```
    /// use reqwest_circuit_breaker::{CircuitBreakerRegistry, FailureKind, Verdict};
    ///
    /// let registry = CircuitBreakerRegistry::default();
    /// let breaker = registry.get_or_create(&"https://stock.example".parse()?).expect("there is room");
    /// breaker.try_acquire()?.record(Verdict::Failure(FailureKind::Dns));
    /// let snapshot = breaker.snapshot();
    /// assert_eq!((snapshot.consecutive_failures, snapshot.last_failure), (1, Some(FailureKind::Dns)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn snapshot(&self) -> CircuitSnapshot {
        let core = self.core();
        let (now, wall) = (core.site.now(), core.site.wall());
        let machine = core.read();
        let totals = machine.totals();
        // Ends before starts: what ended under the lock is already counted, the rest sees to it itself.
        let sums = self.handle.stripes.sums();
        let success = totals.success + sums.success;
        let ended = success + totals.failure + totals.ignored + totals.late + sums.cancelled;
        let wait = machine.time_to_probe(now);
        CircuitSnapshot {
            registry: Arc::clone(core.site.registry()),
            key: core.key().clone(),
            state: machine.state(),
            generation: machine.generation(),
            consecutive_failures: machine.consecutive_failures(),
            windows: machine.windows(now),
            in_flight: sums.started.saturating_sub(ended),
            half_open: machine.half_open(),
            open_for: machine.open_for(now),
            retry_after: wait.filter(|wait| !wait.is_zero()),
            probe_due: wait.is_some_and(|wait| wait.is_zero()),
            last_failure: machine.last_failure(),
            opened_in_a_row: machine.opened_in_a_row(),
            totals: Totals {
                started: sums.started,
                success,
                failure: totals.failure,
                ignored: totals.ignored,
                cancelled: sums.cancelled,
                late: totals.late,
                rejected: totals.rejected,
                failures_by_kind: totals.failures_by_kind(),
            },
            history: machine
                .history()
                .map(|step| {
                    let age = now.since(Tick::ZERO.after(step.at));
                    let at = wall.checked_sub(age).unwrap_or(wall);
                    Transition {
                        subject: core.site.subject(core.key()),
                        step: Arc::clone(step),
                        at,
                    }
                })
                .collect(),
        }
    }
}
