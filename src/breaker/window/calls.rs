//! A window of calls: a ring of two bits per call.

use super::{Counts, Sample};

const CALLS_PER_WORD: usize = 32;

/// Exact counts of the last `length` verdicts.
#[derive(Clone, Debug)]
pub(super) struct CallWindow {
    length: usize,
    next: usize,
    sums: Counts,
    words: Box<[u64]>,
}

impl CallWindow {
    pub(super) fn new(length: u32) -> Self {
        let length = length as usize;
        Self {
            length,
            next: 0,
            sums: Counts::default(),
            words: vec![0; length.div_ceil(CALLS_PER_WORD)].into_boxed_slice(),
        }
    }

    pub(super) fn record(&mut self, sample: Sample) -> Counts {
        let shift = self.next % CALLS_PER_WORD * 2;
        let word = &mut self.words[self.next / CALLS_PER_WORD];
        // Until the ring is full the oldest call is no call, and its bits are zero.
        let oldest = *word >> shift;
        self.sums.failures -= oldest & 1;
        self.sums.slow -= oldest >> 1 & 1;
        self.sums.failures += u64::from(sample.failed);
        self.sums.slow += u64::from(sample.slow);
        *word = *word & !(0b11 << shift) | (u64::from(sample.failed) | u64::from(sample.slow) << 1) << shift;
        self.sums.calls = (self.sums.calls + 1).min(self.length as u64);
        self.next = if self.next + 1 == self.length { 0 } else { self.next + 1 };
        self.sums
    }

    pub(super) fn counts(&self) -> Counts {
        self.sums
    }

    pub(super) fn clear(&mut self) {
        self.words.fill(0);
        self.sums = Counts::default();
        self.next = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds_exactly_the_last_calls_and_no_other() {
        for length in [1, 2, 31, 32, 33, 100] {
            let mut window = CallWindow::new(length);
            let mut naive = Vec::new();
            for i in 0..500_u64 {
                let sample = Sample {
                    failed: i % 3 == 0 || i % 7 == 1,
                    slow: i % 5 == 2,
                };
                naive.push(sample);
                let last = &naive[naive.len().saturating_sub(length as usize)..];
                let expected = Counts {
                    calls: last.len() as u64,
                    failures: last.iter().filter(|sample| sample.failed).count() as u64,
                    slow: last.iter().filter(|sample| sample.slow).count() as u64,
                };
                assert_eq!(window.record(sample), expected, "length {length}, call {i}");
                assert_eq!(window.counts(), expected);
            }
            window.clear();
            assert_eq!(window.counts(), Counts::default());
        }
    }
}
