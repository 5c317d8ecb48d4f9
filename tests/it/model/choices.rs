//! Random bytes as choices. Bytes are cheap to make and shrink to zero, which is the simplest choice everywhere.

use std::time::Duration;

pub(super) struct Choices<'a>(std::slice::Iter<'a, u8>);

impl<'a> Choices<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes.iter())
    }

    /// A number below `n`, which is at most 256.
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0.next().map_or(0, |byte| usize::from(*byte) % n)
    }

    pub(super) fn one_of<T: Copy>(&mut self, options: &[T]) -> T {
        options[self.below(options.len())]
    }

    /// `true` once in `n` times.
    pub(super) fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    /// A number up to 65 535.
    pub(super) fn number(&mut self) -> u64 {
        (self.below(256) << 8 | self.below(256)) as u64
    }

    /// A length of time, from the shortest to the longest.
    pub(super) fn duration(&mut self) -> Duration {
        match self.below(16) {
            0..=3 => Duration::from_secs(1),
            4 | 5 => Duration::from_secs(3),
            6 | 7 => Duration::from_millis(1),
            8 => Duration::from_nanos(1),
            9 => Duration::from_secs(86_400),
            10 => Duration::from_nanos(u64::MAX),
            11 => Duration::MAX,
            _ => Duration::from_millis(1 + self.number() / 8),
        }
    }
}
