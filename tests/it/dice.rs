//! Randomness that can be repeated: a test that fails shows its seed, and `CIRCUIT_BREAKER_SEED` runs it again.

use std::hash::{BuildHasher, RandomState};

use crate::fixture;

#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    /// Dice of a new seed, printed in case the test fails.
    pub(crate) fn roll() -> Self {
        let asked = std::env::var("CIRCUIT_BREAKER_SEED");
        let seed = asked.map_or_else(
            |_| RandomState::new().hash_one(0),
            |seed| seed.parse().expect("CIRCUIT_BREAKER_SEED is a number"),
        );
        println!("to repeat it: CIRCUIT_BREAKER_SEED={seed}");
        Self(seed)
    }

    /// Dice for another thread or task.
    pub(crate) fn split(&mut self) -> Self {
        Self(self.next())
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    #[cfg(feature = "retry")]
    pub(crate) fn one_of<T: Copy>(&mut self, options: &[T]) -> T {
        options[self.below(options.len())]
    }

    /// `true` once in `n` times.
    #[cfg(feature = "retry")]
    pub(crate) fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(1);
        fixture::dice(self.0)
    }
}
