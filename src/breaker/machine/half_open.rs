//! The half-open phase: who holds a probe slot, and what the probes said so far.

use std::cmp::Reverse;
use std::time::Duration;

use super::ProbeId;
use crate::breaker::clock::Tick;
use crate::observe::HalfOpenSnapshot;
use crate::verdict::Verdict;

/// A phase begins with no probe and no answer.
#[derive(Debug)]
pub(super) struct HalfOpen {
    slots: usize,
    /// Oldest first, so that of two that are equally long overdue the older one loses its slot.
    live: Vec<Probe>,
    next_id: ProbeId,
    successes: u32,
    failures: u32,
}

#[derive(Debug)]
struct Probe {
    id: ProbeId,
    admitted: Tick,
    /// How long it may say nothing.
    allowed: Duration,
}

impl Probe {
    /// By how much it is overdue. A sum of both could reach the end of time, where all are equal.
    fn overdue(&self, now: Tick) -> Option<Duration> {
        now.since(self.admitted).checked_sub(self.allowed)
    }
}

impl HalfOpen {
    pub(super) fn new(slots: u32) -> Self {
        Self {
            slots: slots as usize,
            live: Vec::new(),
            next_id: ProbeId::MIN,
            successes: 0,
            failures: 0,
        }
    }

    /// Whether a slot is free, or held by a probe that is overdue.
    pub(super) fn has_slot(&self, now: Tick) -> bool {
        self.live.len() < self.slots || self.longest_overdue(now).is_some()
    }

    /// Gives a slot to a new probe, the longest overdue one's if none is free. The caller has asked
    /// [`has_slot`](Self::has_slot).
    pub(super) fn take_slot(&mut self, now: Tick, allowed: Duration) -> ProbeId {
        if self.live.len() >= self.slots {
            if let Some(lost) = self.longest_overdue(now) {
                self.live.remove(lost);
            }
        }
        let id = self.next_id;
        // It will not come to its end: at one per nanosecond that takes 584 years.
        self.next_id = id.saturating_add(1);
        let admitted = now;
        self.live.push(Probe { id, admitted, allowed });
        id
    }

    pub(super) fn holds(&self, id: ProbeId) -> bool {
        self.live.iter().any(|probe| probe.id == id)
    }

    pub(super) fn free_slot(&mut self, id: ProbeId) {
        self.live.retain(|probe| probe.id != id);
    }

    pub(super) fn count(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Success => self.successes = self.successes.saturating_add(1),
            Verdict::Failure(_) => self.failures = self.failures.saturating_add(1),
            Verdict::Ignored => {}
        }
    }

    pub(super) fn successes(&self) -> u32 {
        self.successes
    }

    pub(super) fn failures(&self) -> u32 {
        self.failures
    }

    pub(super) fn snapshot(&self) -> HalfOpenSnapshot {
        HalfOpenSnapshot {
            in_flight: u32::try_from(self.live.len()).unwrap_or(u32::MAX),
            successes: self.successes,
            failures: self.failures,
        }
    }

    fn longest_overdue(&self, now: Tick) -> Option<usize> {
        let overdue = |index: usize| Some((self.live.get(index)?.overdue(now)?, Reverse(index)));
        let longest = (0..self.live.len()).filter_map(overdue).max()?;
        Some(longest.1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_equally_overdue_probes_the_oldest_loses_its_slot() {
        let (now, mut phase) = (Tick::ZERO, HalfOpen::new(3));
        let first: Vec<ProbeId> = (0..3).map(|_| phase.take_slot(now, Duration::ZERO)).collect();
        phase.take_slot(now, Duration::ZERO);
        phase.take_slot(now, Duration::ZERO);
        let held: Vec<bool> = first.iter().map(|id| phase.holds(*id)).collect();
        assert_eq!(held, [false, false, true]);
    }

    #[test]
    fn no_probe_is_overdue_at_the_end_of_time_before_it_has_had_its_time() {
        let end = Tick::from_nanos(u64::MAX);
        let mut phase = HalfOpen::new(1);
        phase.take_slot(end, Duration::from_secs(1));
        assert!(!phase.has_slot(end));
    }
}
