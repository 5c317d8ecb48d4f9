//! Moves from one phase to another.

use std::sync::Arc;
use std::time::Duration;

use super::{Machine, Phase};
use crate::breaker::clock::Tick;
use crate::breaker::config::CircuitBreakerConfig;
use crate::observe::transition::Step;
use crate::state::TransitionReason;

/// How many transitions a snapshot shows.
const HISTORY: usize = 8;

/// # By hand
impl Machine {
    pub(crate) fn force_open(&mut self, now: Tick) -> Option<Arc<Step>> {
        (!matches!(self.phase, Phase::ForcedOpen)).then(|| self.enter(Phase::ForcedOpen, TransitionReason::Manual, now))
    }

    pub(crate) fn disable(&mut self, now: Tick) -> Option<Arc<Step>> {
        (!matches!(self.phase, Phase::Disabled)).then(|| self.enter(Phase::Disabled, TransitionReason::Manual, now))
    }

    /// Always a transition, also from closed: whatever is in flight is fenced.
    pub(crate) fn reset(&mut self, now: Tick) -> Arc<Step> {
        self.close(TransitionReason::Manual, now)
    }

    /// Opens for a time, unless somebody took the breaker over by hand. Not counted by the backoff.
    pub(crate) fn trip(&mut self, length: Duration, now: Tick) -> Option<Arc<Step>> {
        let by_hand = matches!(self.phase, Phase::ForcedOpen | Phase::Disabled);
        let open = Phase::Open {
            until: now.after(length),
        };
        (!by_hand).then(|| self.enter(open, TransitionReason::Manual, now))
    }
}

impl Machine {
    pub(super) fn open(
        &mut self,
        config: &CircuitBreakerConfig,
        reason: TransitionReason,
        retry_after: Option<Duration>,
        now: Tick,
    ) -> Arc<Step> {
        self.opened_in_a_row = self.opened_in_a_row.saturating_add(1);
        let length = config
            .recovery
            .opening(self.opened_in_a_row, retry_after, &mut self.jitter);
        self.enter(
            Phase::Open {
                until: now.after(length),
            },
            reason,
            now,
        )
    }

    /// Counts belong to a state: closed starts from nothing.
    pub(super) fn close(&mut self, reason: TransitionReason, now: Tick) -> Arc<Step> {
        let step = self.enter(Phase::Closed, reason, now);
        self.consecutive_failures = 0;
        self.opened_in_a_row = 0;
        for window in &mut self.windows {
            window.clear();
        }
        step
    }

    /// The one place where the phase changes, and with it the generation.
    pub(super) fn enter(&mut self, phase: Phase, reason: TransitionReason, now: Tick) -> Arc<Step> {
        let from = self.state();
        let (open_for, rejected) = (self.open_for(now), self.rejected_since_opened);
        self.phase = phase;
        self.generation += 1;
        let step = Arc::new(Step {
            from,
            to: self.state(),
            generation: self.generation,
            reason,
            consecutive_failures: self.consecutive_failures,
            windows: self.windows(now),
            open_for,
            rejected: if open_for.is_some() { rejected } else { 0 },
            last_failure: self.last_failure,
            at: now.since(Tick::ZERO),
        });
        if matches!(self.phase, Phase::Open { .. } | Phase::ForcedOpen) {
            self.opened_at = now;
            self.rejected_since_opened = 0;
        }
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(Arc::clone(&step));
        step
    }
}
