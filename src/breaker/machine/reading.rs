//! Reading the machine: nothing here changes anything.

use std::sync::Arc;
use std::time::Duration;

use super::{Machine, MachineTotals, Phase};
use crate::breaker::clock::Tick;
use crate::observe::transition::Step;
use crate::observe::{HalfOpenSnapshot, WindowSnapshot};
use crate::state::State;
use crate::verdict::FailureKind;

impl Machine {
    pub(crate) fn state(&self) -> State {
        match self.phase {
            Phase::Closed => State::Closed,
            Phase::Open { .. } => State::Open,
            Phase::HalfOpen(_) => State::HalfOpen,
            Phase::ForcedOpen => State::ForcedOpen,
            Phase::Disabled => State::Disabled,
        }
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    pub(crate) fn consecutive_failures(&self) -> u32 {
        self.consecutive_failures
    }

    /// Whether a success of a closed breaker would change nothing but a total.
    pub(crate) fn is_quiet(&self) -> bool {
        self.consecutive_failures == 0 && self.windows.is_empty()
    }

    pub(crate) fn windows(&self, now: Tick) -> Vec<WindowSnapshot> {
        self.windows.iter().map(|window| window.snapshot(now)).collect()
    }

    pub(crate) fn half_open(&self) -> Option<HalfOpenSnapshot> {
        if let Phase::HalfOpen(phase) = &self.phase {
            Some(phase.snapshot())
        } else {
            None
        }
    }

    /// Time since the last opening, while traffic is still held back.
    pub(crate) fn open_for(&self, now: Tick) -> Option<Duration> {
        let held_back = matches!(self.phase, Phase::Open { .. } | Phase::HalfOpen(_) | Phase::ForcedOpen);
        held_back.then(|| now.since(self.opened_at))
    }

    /// Time to the next probe while open: zero if it is due.
    pub(crate) fn time_to_probe(&self, now: Tick) -> Option<Duration> {
        if let Phase::Open { until } = &self.phase {
            Some(until.since(now))
        } else {
            None
        }
    }

    pub(crate) fn last_failure(&self) -> Option<FailureKind> {
        self.last_failure
    }

    pub(crate) fn opened_in_a_row(&self) -> u32 {
        self.opened_in_a_row
    }

    pub(crate) fn totals(&self) -> &MachineTotals {
        &self.totals
    }

    pub(crate) fn history(&self) -> impl Iterator<Item = &Arc<Step>> {
        self.history.iter()
    }
}
