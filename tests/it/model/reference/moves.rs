//! How the naive breaker moves from state to state.

use std::ops::RangeInclusive;
use std::time::Duration;

use reqwest_circuit_breaker::{State, TransitionReason};

use super::{END, Move, Reference, Told};

/// # By hand
impl Reference {
    pub(in crate::model) fn force_open(&mut self, now: u128) {
        if self.state != State::ForcedOpen {
            self.move_to(State::ForcedOpen, TransitionReason::Manual, now);
        }
    }

    pub(in crate::model) fn disable(&mut self, now: u128) {
        if self.state != State::Disabled {
            self.move_to(State::Disabled, TransitionReason::Manual, now);
        }
    }

    pub(in crate::model) fn reset(&mut self, now: u128) {
        self.move_to(State::Closed, TransitionReason::Manual, now);
    }

    pub(in crate::model) fn trip(&mut self, length: Duration, now: u128) {
        if matches!(self.state, State::Closed | State::Open | State::HalfOpen) {
            self.move_to(State::Open, TransitionReason::Manual, now);
            let deadline = END.min(now + length.as_nanos());
            self.deadline = deadline..=deadline;
        }
    }
}

/// # Moves
impl Reference {
    pub(super) fn open(&mut self, reason: TransitionReason, wish: Option<Duration>, now: u128) {
        self.move_to(State::Open, reason, now);
        self.opened_in_a_row += 1;
        let length = self.opening(wish);
        self.deadline = END.min(now.saturating_add(*length.start()))..=END.min(now.saturating_add(*length.end()));
    }

    pub(super) fn move_to(&mut self, to: State, reason: TransitionReason, now: u128) {
        let from = self.state;
        let was_open = matches!(from, State::Open | State::HalfOpen | State::ForcedOpen);
        self.generation += 1;
        self.told.push(Told::Moved(Move {
            from,
            to,
            generation: self.generation,
            reason,
            run: self.run,
            windows: self.windows(now),
            open_for: self.open_for(now),
            rejected: if was_open { self.rejected_since_opening } else { 0 },
            last_failure: self.last_failure,
        }));
        self.state = to;
        self.slots.clear();
        (self.probes_succeeded, self.probes_failed) = (0, 0);
        match to {
            State::Open | State::ForcedOpen => {
                self.opened_at = now;
                self.rejected_since_opening = 0;
            }
            State::Closed => {
                self.run = 0;
                self.counted.clear();
                self.opened_in_a_row = 0;
            }
            _ => {}
        }
    }

    /// How long the opening lasts whose number in a row was just counted.
    pub(super) fn opening(&self, wish: Option<Duration>) -> RangeInclusive<u128> {
        let settings = &self.settings;
        let timeout = END.min(settings.recovery_timeout.as_nanos());
        let cap = settings.backoff.map_or(END, |backoff| backoff.max.as_nanos());
        let growth = match settings.backoff {
            Some(backoff) if self.opened_in_a_row > 1 => {
                (f64::from(backoff.halves) / 2.0).powi(self.opened_in_a_row as i32 - 1)
            }
            _ => 1.0,
        };
        let length = if growth == 1.0 && settings.jitter == 0.0 {
            timeout.min(cap)..=timeout.min(cap)
        } else {
            // Fractions may round either way, and a double has 53 bits.
            let scaled = |spread: f64| (timeout as f64 * growth * spread) as u128;
            let rounding = |length: u128| 1 + length / (1 << 50);
            let (lowest, highest) = (scaled(1.0 - settings.jitter), scaled(1.0 + settings.jitter));
            let lowest = lowest.saturating_sub(rounding(lowest));
            let highest = highest.saturating_add(rounding(highest));
            lowest.min(cap)..=highest.min(cap)
        };
        let wish = match (settings.honor_retry_after, wish) {
            (Some(max), Some(wish)) => wish.min(max).as_nanos(),
            _ => 0,
        };
        *length.start().max(&wish)..=*length.end().max(&wish)
    }

    /// The real breaker's wait, as seen at `now`, settles what was left open. Returns `false` if it is out of bounds.
    pub(in crate::model) fn settle_deadline(&mut self, wait: Duration, now: u128) -> bool {
        if self.state != State::Open || self.deadline.start() == self.deadline.end() {
            return true;
        }
        let deadline = now + wait.as_nanos();
        let within = self.deadline.contains(&deadline) || (wait.is_zero() && *self.deadline.start() <= now);
        self.deadline = deadline..=deadline;
        within
    }
}
