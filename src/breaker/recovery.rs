//! HOW LONG does an opening last?
//!
//! Backoff first, then jitter, then the cap; a `Retry-After` can only lengthen the result, up to a cap of its own.

use std::time::Duration;

use super::clock::nanos;
use super::config::invalid::{InvalidConfig, above_zero};

/// Rules for the length of an opening.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Recovery {
    pub(crate) timeout: Duration,
    /// Factor, and cap.
    pub(crate) backoff: Option<(f64, Duration)>,
    pub(crate) jitter: f64,
    pub(crate) jitter_seed: Option<u64>,
    pub(crate) honor_retry_after: Option<Duration>,
}

impl Default for Recovery {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            backoff: None,
            jitter: 0.0,
            jitter_seed: None,
            honor_retry_after: None,
        }
    }
}

impl Recovery {
    pub(crate) fn validate(&self) -> Result<(), InvalidConfig> {
        above_zero("recovery_timeout", Some(self.timeout))?;
        above_zero("honor_retry_after", self.honor_retry_after)?;
        if let Some((factor, max)) = self.backoff {
            if !(factor.is_finite() && factor >= 1.0) {
                let problem = format!("the factor must be at least 1, is {factor}");
                return Err(InvalidConfig::new("recovery_backoff", problem));
            }
            if max < self.timeout {
                let problem = format!(
                    "the cap must be at least `recovery_timeout`, {:?}, is {max:?}",
                    self.timeout
                );
                return Err(InvalidConfig::new("recovery_backoff", problem));
            }
        }
        if !(0.0..=1.0).contains(&self.jitter) {
            let problem = format!("must be from 0 to 1, is {}", self.jitter);
            return Err(InvalidConfig::new("recovery_jitter", problem));
        }
        Ok(())
    }

    /// Length of the `nth` opening in a row, `nth` from 1.
    pub(crate) fn opening(&self, nth: u32, retry_after: Option<Duration>, jitter: &mut Jitter) -> Duration {
        let retry_after = retry_after
            .unwrap_or_default()
            .min(self.honor_retry_after.unwrap_or_default());
        self.backed_off(nth, jitter).max(retry_after)
    }

    fn backed_off(&self, nth: u32, jitter: &mut Jitter) -> Duration {
        let (factor, cap) = self.backoff.unwrap_or((1.0, Duration::MAX));
        let growth = factor.powi(i32::try_from(nth.saturating_sub(1)).unwrap_or(i32::MAX));
        let spread = 1.0 + self.jitter * jitter.next();
        let scale = growth * spread;
        // Untouched lengths stay exact beyond the 53 bits of a float; the cast saturates.
        let length = if scale == 1.0 {
            self.timeout
        } else {
            Duration::from_nanos((nanos(self.timeout) as f64 * scale) as u64)
        };
        length.min(cap)
    }
}

/// The random source of one breaker's jitter: SplitMix64, small and seedable. Nothing about it needs to be secret.
#[derive(Clone, Debug)]
pub(crate) struct Jitter(u64);

impl Jitter {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Uniform in `[-1, 1)`.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        // 53 random bits are a float in [0, 2).
        (z >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn lengths(recovery: &Recovery, seed: u64, n: u32) -> Vec<Duration> {
        let mut jitter = Jitter::new(seed);
        (1..=n).map(|nth| recovery.opening(nth, None, &mut jitter)).collect()
    }

    #[test]
    fn backoff_grows_by_its_factor_and_stops_at_its_cap() {
        let recovery = Recovery {
            timeout: SECOND,
            backoff: Some((2.0, 5 * SECOND)),
            ..Recovery::default()
        };
        assert_eq!(lengths(&recovery, 0, 6), [1, 2, 4, 5, 5, 5].map(Duration::from_secs));
        assert_eq!(recovery.opening(u32::MAX, None, &mut Jitter::new(0)), 5 * SECOND);
    }

    #[test]
    fn an_endless_timeout_saturates() {
        let recovery = Recovery {
            timeout: Duration::MAX,
            ..Recovery::default()
        };
        assert_eq!(lengths(&recovery, 0, 1), [Duration::MAX]);
        let recovery = Recovery {
            backoff: Some((1e300, Duration::MAX)),
            ..recovery
        };
        assert!(lengths(&recovery, 0, 3)[2] >= Duration::from_nanos(u64::MAX));
    }

    #[test]
    fn jitter_stays_in_its_band_under_the_cap_and_repeats_with_its_seed() {
        let recovery = Recovery {
            timeout: 10 * SECOND,
            jitter: 0.2,
            backoff: Some((1.0, 11 * SECOND)),
            ..Recovery::default()
        };
        let first = lengths(&recovery, 7, 1000);
        assert!(first.iter().all(|length| (8 * SECOND..=11 * SECOND).contains(length)));
        assert!(first.contains(&(11 * SECOND)), "the cap comes after the jitter");
        assert!(first.iter().any(|length| *length < 9 * SECOND));
        assert_eq!(first, lengths(&recovery, 7, 1000));
        assert_ne!(first, lengths(&recovery, 8, 1000));
    }

    /// The reference's first numbers from this seed: <https://prng.di.unimi.it/splitmix64.c>.
    #[test]
    fn jitter_draws_the_numbers_of_splitmix64_and_spreads_by_them() {
        let seed = 1_234_567;
        let reference: [u64; 5] = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        let middle = (1_u64 << 63) as f64;
        let expected = reference.map(|number| (number as f64 - middle) / middle);
        let mut jitter = Jitter::new(seed);
        for expected in expected {
            let drawn = jitter.next();
            assert!((drawn - expected).abs() < 1e-15, "{drawn} instead of {expected}");
        }

        let recovery = Recovery {
            timeout: SECOND,
            jitter: 0.5,
            ..Recovery::default()
        };
        let spread = expected.map(|number| Duration::from_nanos((1e9 * (1.0 + 0.5 * number)) as u64));
        assert_eq!(lengths(&recovery, seed, 5), spread);
    }

    #[test]
    fn retry_after_lengthens_up_to_its_cap_and_never_shortens() {
        let recovery = Recovery {
            honor_retry_after: Some(120 * SECOND),
            ..Recovery::default()
        };
        for (asked, opening) in [(5, 30), (60, 60), (86_400, 120), (u64::MAX, 120)] {
            let asked = Some(Duration::from_secs(asked));
            assert_eq!(
                recovery.opening(1, asked, &mut Jitter::new(0)),
                Duration::from_secs(opening)
            );
        }
        let deaf = Recovery::default();
        assert_eq!(deaf.opening(1, Some(60 * SECOND), &mut Jitter::new(0)), 30 * SECOND);
    }
}
