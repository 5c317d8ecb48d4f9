//! A window of time: a ring of buckets.

use std::time::Duration;

use super::{Counts, Sample};
use crate::breaker::clock::{Tick, nanos};

/// The window is exact to a thirty-second part of its length; the ring takes 384 bytes.
const BUCKETS: usize = 32;

/// Counts of one slice of time. A slice that saw four billion calls stops counting.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    calls: u32,
    failures: u32,
    slow: u32,
}

/// Exact counts of the last `BUCKETS` slices of time, the present one included.
#[derive(Clone, Debug)]
pub(super) struct TimeWindow {
    width: u64,
    /// Absolute number of the youngest slice; slice `n` lives in bucket `n % BUCKETS`.
    head: u64,
    sums: Counts,
    buckets: Box<[Bucket; BUCKETS]>,
}

impl TimeWindow {
    pub(super) fn new(length: Duration) -> Self {
        Self {
            width: (nanos(length) / BUCKETS as u64).max(1),
            head: 0,
            sums: Counts::default(),
            buckets: Box::new([Bucket::default(); BUCKETS]),
        }
    }

    pub(super) fn record(&mut self, now: Tick, sample: Sample) -> Counts {
        self.roll(now);
        let bucket = &mut self.buckets[slot(self.head)];
        if bucket.calls < u32::MAX {
            bucket.calls += 1;
            bucket.failures += u32::from(sample.failed);
            bucket.slow += u32::from(sample.slow);
            self.sums.calls += 1;
            self.sums.failures += u64::from(sample.failed);
            self.sums.slow += u64::from(sample.slow);
        }
        self.sums
    }

    /// The counts as they stand at `now`, without rolling the ring.
    pub(super) fn counts(&self, now: Tick) -> Counts {
        let mut sums = self.sums;
        for expired in self.expired(now) {
            sums.subtract(self.buckets[slot(expired)]);
        }
        sums
    }

    pub(super) fn clear(&mut self) {
        *self.buckets = [Bucket::default(); BUCKETS];
        self.sums = Counts::default();
        // Else a clock that went back would count in a bucket that is long to come.
        self.head = 0;
    }

    fn roll(&mut self, now: Tick) {
        for expired in self.expired(now) {
            let bucket = std::mem::take(&mut self.buckets[slot(expired)]);
            self.sums.subtract(bucket);
        }
        self.head = self.head.max(self.slice(now));
    }

    /// The slices whose buckets hold what is too old at `now`: never more than there are buckets, however long the gap,
    /// and none for an instant out of order.
    fn expired(&self, now: Tick) -> impl Iterator<Item = u64> + use<> {
        let steps = self.slice(now).saturating_sub(self.head).min(BUCKETS as u64);
        let head = self.head;
        (1..=steps).map(move |step| head.wrapping_add(step))
    }

    fn slice(&self, now: Tick) -> u64 {
        now.as_nanos() / self.width
    }
}

fn slot(slice: u64) -> usize {
    (slice % BUCKETS as u64) as usize
}

impl Counts {
    fn subtract(&mut self, bucket: Bucket) {
        self.calls -= u64::from(bucket.calls);
        self.failures -= u64::from(bucket.failures);
        self.slow -= u64::from(bucket.slow);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILED: Sample = Sample {
        failed: true,
        slow: false,
    };
    const SLOW: Sample = Sample {
        failed: false,
        slow: true,
    };

    fn at(millis: u64) -> Tick {
        Tick::ZERO.after(Duration::from_millis(millis))
    }

    fn window() -> TimeWindow {
        TimeWindow::new(Duration::from_secs(32))
    }

    #[test]
    fn the_call_that_rolls_a_bucket_is_counted() {
        let mut window = window();
        window.record(at(0), FAILED);
        let counts = window.record(at(1000), SLOW);
        assert_eq!(
            counts,
            Counts {
                calls: 2,
                failures: 1,
                slow: 1
            }
        );
    }

    #[test]
    fn a_call_leaves_with_its_bucket_and_not_before() {
        let mut window = window();
        let both = Counts {
            calls: 2,
            failures: 1,
            slow: 1,
        };
        window.record(at(0), FAILED);
        window.record(at(0), SLOW);
        assert_eq!(window.counts(at(31_999)), both);
        assert_eq!(window.counts(at(32_000)), Counts::default());
        window.record(at(32_000), FAILED);
        assert_eq!(window.record(at(32_000), SLOW), both);
    }

    #[test]
    fn a_bucket_that_is_full_counts_no_more() {
        let mut window = window();
        let full = window.record(at(0), FAILED);
        window.buckets[0].calls = u32::MAX;
        assert_eq!(window.record(at(999), FAILED), full);
        assert_eq!(window.record(at(1000), FAILED).calls, 2);
    }

    #[test]
    fn an_idle_gap_of_any_length_leaves_it_usable() {
        let mut window = window();
        for gap in [at(31_000), at(95_000), at(10_000_000), Tick::from_nanos(u64::MAX)] {
            window.record(gap, FAILED);
        }
        assert_eq!(window.counts(Tick::from_nanos(u64::MAX)).calls, 1);
        assert_eq!(window.record(Tick::from_nanos(u64::MAX), FAILED).calls, 2);
    }

    #[test]
    fn an_instant_out_of_order_counts_once_in_the_youngest_bucket() {
        let mut window = window();
        window.record(at(5000), FAILED);
        assert_eq!(window.record(at(3000), FAILED).calls, 2);
        assert_eq!(window.counts(at(36_999)).calls, 2);
        assert_eq!(window.counts(at(37_000)).calls, 0);
    }

    #[test]
    fn a_cleared_window_knows_no_youngest_bucket() {
        let mut window = window();
        window.record(at(90_000), FAILED);
        window.clear();
        assert_eq!(
            window.record(at(5000), FAILED).calls,
            1,
            "the clock went back meanwhile"
        );
        assert_eq!(window.counts(at(37_000)).calls, 0);
    }

    #[test]
    fn reading_changes_nothing() {
        let mut window = window();
        window.record(at(0), FAILED);
        assert_eq!(window.counts(at(1_000_000)).calls, 0);
        assert_eq!(window.counts(at(0)).calls, 1);
    }

    #[test]
    fn the_shortest_window_works() {
        let mut window = TimeWindow::new(Duration::from_nanos(1));
        assert_eq!(window.record(at(1), FAILED).calls, 1);
        assert_eq!(window.record(at(2), FAILED).calls, 1);
    }
}
