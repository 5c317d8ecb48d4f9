//! Totals that change under the machine's lock.

use std::collections::BTreeMap;

use crate::verdict::{FailureKind, Verdict};

/// Counts since the breaker was created. Successes of a quiet breaker are counted elsewhere, without the lock.
#[derive(Debug, Default)]
pub(crate) struct MachineTotals {
    pub(crate) success: u64,
    pub(crate) failure: u64,
    pub(crate) ignored: u64,
    pub(crate) late: u64,
    pub(crate) rejected: u64,
    /// Allocated by the first failure: most breakers never see one.
    by_kind: Option<Box<[u64; FailureKind::NAMES.len()]>>,
}

impl MachineTotals {
    pub(super) fn count(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Success => self.success += 1,
            Verdict::Ignored => self.ignored += 1,
            Verdict::Failure(kind) => {
                self.failure += 1;
                self.by_kind.get_or_insert_default()[kind.index()] += 1;
            }
        }
    }

    pub(crate) fn failures_by_kind(&self) -> BTreeMap<&'static str, u64> {
        let counts = self.by_kind.iter().flat_map(|counts| counts.iter().copied());
        FailureKind::NAMES
            .into_iter()
            .zip(counts)
            .filter(|(_, count)| *count > 0)
            .collect()
    }
}
