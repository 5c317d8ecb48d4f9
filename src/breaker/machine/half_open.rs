//! The half-open phase: who holds a probe slot, and what the probes said so far.

use crate::breaker::clock::Tick;
use crate::observe::HalfOpenSnapshot;
use crate::verdict::Verdict;

/// A phase begins with no probe and no answer.
#[derive(Debug)]
pub(super) struct HalfOpen {
    slots: usize,
    /// Oldest first, so that of two that are equally long overdue the older one loses its slot.
    live: Vec<Probe>,
    next_id: u32,
    successes: u32,
    failures: u32,
}

#[derive(Debug)]
struct Probe {
    id: u32,
    overdue_at: Tick,
}

impl HalfOpen {
    pub(super) fn new(slots: u32) -> Self {
        Self {
            slots: slots as usize,
            live: Vec::new(),
            next_id: 0,
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
    pub(super) fn take_slot(&mut self, now: Tick, overdue_at: Tick) -> u32 {
        if self.live.len() >= self.slots {
            if let Some(lost) = self.longest_overdue(now) {
                self.live.remove(lost);
            }
        }
        let id = self.next_id;
        // No probe is in flight for four billion others.
        self.next_id = self.next_id.wrapping_add(1);
        self.live.push(Probe { id, overdue_at });
        id
    }

    pub(super) fn holds(&self, id: u32) -> bool {
        self.live.iter().any(|probe| probe.id == id)
    }

    pub(super) fn free_slot(&mut self, id: u32) {
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
        let overdue = self
            .live
            .iter()
            .enumerate()
            .filter(|(_, probe)| probe.overdue_at <= now);
        overdue
            .min_by_key(|(_, probe)| probe.overdue_at)
            .map(|(index, _)| index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_equally_overdue_probes_the_oldest_loses_its_slot() {
        let (now, mut phase) = (Tick::ZERO, HalfOpen::new(3));
        let first: Vec<u32> = (0..3).map(|_| phase.take_slot(now, now)).collect();
        phase.take_slot(now, now);
        phase.take_slot(now, now);
        let held: Vec<bool> = first.iter().map(|id| phase.holds(*id)).collect();
        assert_eq!(held, [false, false, true]);
    }
}
