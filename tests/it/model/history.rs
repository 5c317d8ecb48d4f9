//! What may happen to a breaker.

use std::time::Duration;

use proptest::prelude::*;
use reqwest::StatusCode;
use reqwest_circuit_breaker::{FailureKind, Verdict};

use super::choices::Choices;

/// One thing that happens. Permits in flight are numbered from the oldest, modulo how many there are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Admit,
    /// So many calls one after another, each ended before the next.
    Calls(usize, Verdict),
    Record(usize, Verdict, Option<Duration>),
    Drop(usize),
    Wait(Wait),
    /// The clock goes back.
    GoBack(Duration),
    ForceOpen,
    Disable,
    Reset,
    Trip(Duration),
}

/// How far the clock moves. The boundaries are met exactly, or missed by a nanosecond either way.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wait {
    For(Duration),
    UntilDeadline(i8),
    /// Until the age of a permit is the probe timeout.
    UntilOverdue(usize, i8),
    UntilSlow(usize, i8),
    UntilAbandoned(usize, i8),
    /// Until the oldest counted verdict is about to leave the window of the n-th rate, or has just left.
    UntilForgotten(usize, i8),
}

pub(super) fn history(longest: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = any::<[u8; 6]>().prop_map(|bytes| step(&mut Choices::new(&bytes)));
    proptest::collection::vec(step, 1..=longest)
}

fn step(choices: &mut Choices<'_>) -> Step {
    match choices.below(48) {
        0..=11 => Step::Admit,
        12..=17 => Step::Calls(1 + choices.below(5), verdict(choices)),
        18 if choices.once_in(2) => Step::Calls(60 + choices.below(90), verdict(choices)),
        18..=28 => Step::Record(choices.below(8), verdict(choices), retry_after(choices)),
        29..=31 => Step::Drop(choices.below(8)),
        32..=43 => Step::Wait(wait(choices)),
        44 => Step::GoBack(choices.duration()),
        45 => Step::Trip(choices.duration()),
        46 => Step::Reset,
        _ => choices.one_of(&[Step::ForceOpen, Step::Disable]),
    }
}

fn verdict(choices: &mut Choices<'_>) -> Verdict {
    match choices.below(16) {
        0..=6 => Verdict::Success,
        7 => Verdict::Ignored,
        8 => Verdict::Failure(FailureKind::Status(StatusCode::SERVICE_UNAVAILABLE)),
        9 => Verdict::Failure(FailureKind::Slow),
        _ => Verdict::Failure(FailureKind::Timeout),
    }
}

fn retry_after(choices: &mut Choices<'_>) -> Option<Duration> {
    match choices.below(8) {
        0..=5 => None,
        6 => Some(Duration::ZERO),
        _ => Some(choices.duration()),
    }
}

fn wait(choices: &mut Choices<'_>) -> Wait {
    let nudge = choices.one_of(&[0, -1, 1]);
    match choices.below(12) {
        0..=3 => Wait::UntilDeadline(nudge),
        4..=7 => Wait::For(choices.duration()),
        8 => Wait::UntilOverdue(choices.below(8), nudge),
        9 => Wait::UntilSlow(choices.below(8), nudge),
        10 => Wait::UntilAbandoned(choices.below(8), nudge),
        _ => Wait::UntilForgotten(choices.below(4), nudge),
    }
}
