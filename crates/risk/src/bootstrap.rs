//! Confidence intervals of means over seeds, and policies that cannot be distinguished.

use rand::{Rng, RngExt};
use thiserror::Error;

/// The settings of the percentile bootstrap (Efron & Tibshirani 1993, §13.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bootstrap {
    level: f64,
    resamples: usize,
}

/// The range in which a figure lies at the requested level, both ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end, at least the lower one.
    pub high: f64,
}

/// The error for values or settings that give no interval.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum BootstrapError {
    /// The level is not between 0 and 1.
    #[error("the confidence level is {0}: expected a number above 0 and below 1")]
    Level(f64),
    /// There are too few resamples for any of them to lie beyond an end.
    #[error("{resamples} resamples are too few for a confidence level of {level}")]
    TooFewResamples {
        /// Number of resamples requested.
        resamples: usize,
        /// Level requested.
        level: f64,
    },
    /// There are too few values: the variation of a single value is unknown.
    #[error("an interval needs values of at least two seeds: there are {0}")]
    TooFewSeeds(usize),
    /// Two policies were not run over the same seeds.
    #[error("values of {left} and {right} seeds cannot be paired")]
    Unpaired {
        /// Number of values of the first policy.
        left: usize,
        /// Number of values of the second policy.
        right: usize,
    },
}

/// Returns a level of 95 % and 2,000 resamples: each end is the 50th mean from its side.
impl Default for Bootstrap {
    fn default() -> Self {
        Self {
            level: 0.95,
            resamples: 2_000,
        }
    }
}

impl Bootstrap {
    /// Creates settings for intervals at `level` (above 0, below 1) from `resamples` draws.
    ///
    /// # Errors
    /// [`BootstrapError::Level`] or [`BootstrapError::TooFewResamples`].
    pub fn new(level: f64, resamples: usize) -> Result<Self, BootstrapError> {
        if !(level > 0.0 && level < 1.0) {
            return Err(BootstrapError::Level(level));
        }
        let bootstrap = Self { level, resamples };
        if bootstrap.end() == 0 {
            return Err(BootstrapError::TooFewResamples { resamples, level });
        }
        Ok(bootstrap)
    }

    /// Returns the interval of the mean of `values`, one for each seed.
    ///
    /// The draws depend on `rng` alone: pass a generator whose stream is pinned. It is of no type parameter, so that this
    /// loop is compiled once, with the settings of this crate.
    ///
    /// # Errors
    /// [`BootstrapError::TooFewSeeds`] if there are fewer than two values.
    pub fn mean(&self, values: &[f64], rng: &mut dyn Rng) -> Result<Interval, BootstrapError> {
        if values.len() < 2 {
            return Err(BootstrapError::TooFewSeeds(values.len()));
        }
        let mut means: Vec<f64> = (0..self.resamples)
            .map(|_| resampled_mean(values, rng))
            .collect();
        means.sort_unstable_by(f64::total_cmp);
        let end = self.end();
        Ok(Interval {
            low: means[end - 1],
            high: means[self.resamples - end],
        })
    }

    /// Returns the interval of the mean difference `left - right` between two policies that were
    /// run over the same seeds, in the same order. The effect that a seed has on both policies
    /// cancels out.
    ///
    /// # Errors
    /// [`BootstrapError::Unpaired`] or [`BootstrapError::TooFewSeeds`].
    pub fn paired_difference(
        &self,
        left: &[f64],
        right: &[f64],
        rng: &mut dyn Rng,
    ) -> Result<Interval, BootstrapError> {
        if left.len() != right.len() {
            return Err(BootstrapError::Unpaired {
                left: left.len(),
                right: right.len(),
            });
        }
        let differences: Vec<f64> = left.iter().zip(right).map(|(l, r)| l - r).collect();
        self.mean(&differences, rng)
    }

    /// Returns whether two policies run over the same seeds cannot be distinguished, that is,
    /// whether the interval of their paired difference contains 0.
    ///
    /// # Errors
    /// The errors of [`Bootstrap::paired_difference`].
    pub fn indistinguishable(
        &self,
        left: &[f64],
        right: &[f64],
        rng: &mut dyn Rng,
    ) -> Result<bool, BootstrapError> {
        let difference = self.paired_difference(left, right, rng)?;
        Ok(difference.contains(0.0))
    }

    /// Returns the rank of an end among the ordered means, counted from its side: k = floor((B + 1)
    /// alpha) (§12.5). The rank is 0 only for settings that [`Bootstrap::new`] rejects.
    fn end(&self) -> usize {
        let tail = (1.0 - self.level) / 2.0;
        ((self.resamples as f64 + 1.0) * tail + ROUNDING).floor() as usize
    }
}

/// Rounding allowance: 1 - 0.9 is a little below 0.1, which must not move an end.
const ROUNDING: f64 = 1e-9;

impl Interval {
    /// Returns whether `value` lies within the interval.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// Returns the mean of `values.len()` values drawn with replacement.
fn resampled_mean(values: &[f64], rng: &mut dyn Rng) -> f64 {
    let draws = values
        .iter()
        .map(|_| values[rng.random_range(0..values.len())]);
    draws.sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_pcg::Pcg64;

    fn pinned() -> Pcg64 {
        Pcg64::seed_from_u64(2008)
    }

    #[test]
    fn interval_ends_match_efron_and_tibshirani() {
        for (level, resamples, end) in [(0.95, 2_000, 50), (0.9, 999, 50), (0.9, 19, 1)] {
            let bootstrap = Bootstrap::new(level, resamples).unwrap();
            assert_eq!(bootstrap.end(), end);
        }
        assert_eq!(Bootstrap::default().end(), 50);
    }

    #[test]
    fn settings_without_an_interval_are_rejected() {
        for level in [0.0, 1.0, -0.5, f64::NAN] {
            assert!(matches!(
                Bootstrap::new(level, 2_000),
                Err(BootstrapError::Level(_))
            ));
        }
        assert!(Bootstrap::new(0.95, 39).is_ok());
        assert_eq!(
            Bootstrap::new(0.95, 38),
            Err(BootstrapError::TooFewResamples {
                resamples: 38,
                level: 0.95
            })
        );
    }

    /// With two values a and b a resampled mean is a, their middle or b with probabilities 1/4,
    /// 1/2 and 1/4.
    #[test]
    fn the_interval_of_two_values_is_known_exactly() {
        let interval = |level| {
            let bootstrap = Bootstrap::new(level, 10_000).unwrap();
            bootstrap.mean(&[1.0, 3.0], &mut pinned()).unwrap()
        };
        assert_eq!(
            interval(0.6),
            Interval {
                low: 1.0,
                high: 3.0
            }
        );
        assert_eq!(
            interval(0.4),
            Interval {
                low: 2.0,
                high: 2.0
            }
        );
    }

    /// For many values the interval approaches mean -+ 1.96 standard deviations / sqrt(n).
    #[test]
    fn many_values_give_the_normal_interval() {
        let values: Vec<f64> = (0..400).map(|i| f64::from(i * 37 % 400)).collect();
        let bootstrap = Bootstrap::new(0.95, 20_000).unwrap();
        let found = bootstrap.mean(&values, &mut pinned()).unwrap();
        let half_width = 1.96 * ((400.0f64.powi(2) - 1.0) / 12.0).sqrt() / 20.0;
        assert!((found.low - (199.5 - half_width)).abs() < 0.05 * half_width);
        assert!((found.high - (199.5 + half_width)).abs() < 0.05 * half_width);
    }

    #[test]
    fn pairing_removes_the_common_seed_effect() {
        let left = [10.0, 50.0, 30.0, 90.0, 70.0];
        let right = left.map(|value| value + 1.0);
        let bootstrap = Bootstrap::default();
        let differs = |right: &[f64]| {
            let alike = bootstrap.indistinguishable(&left, right, &mut pinned());
            !alike.unwrap()
        };
        assert!(differs(&right));
        assert!(!differs(&left));
        assert!(!differs(&[11.0, 49.0, 31.0, 89.0, 70.5]));
    }

    #[test]
    fn too_few_or_unpaired_values_are_rejected() {
        let bootstrap = Bootstrap::default();
        assert_eq!(
            bootstrap.mean(&[1.0], &mut pinned()),
            Err(BootstrapError::TooFewSeeds(1))
        );
        assert_eq!(
            bootstrap.indistinguishable(&[1.0, 2.0], &[1.0], &mut pinned()),
            Err(BootstrapError::Unpaired { left: 2, right: 1 })
        );
    }

    proptest! {
        #[test]
        fn an_interval_is_ordered_repeatable_and_within_its_values(
            values in proptest::collection::vec(-1e6..1e6f64, 2..12),
        ) {
            let bootstrap = Bootstrap::new(0.9, 199).unwrap();
            let interval = bootstrap.mean(&values, &mut pinned()).unwrap();
            prop_assert_eq!(interval, bootstrap.mean(&values, &mut pinned()).unwrap());
            let min = values.iter().copied().fold(f64::INFINITY, f64::min);
            let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            prop_assert!(min - 1e-6 <= interval.low);
            prop_assert!(interval.low <= interval.high);
            prop_assert!(interval.high <= max + 1e-6);
        }

        #[test]
        fn the_order_of_a_pair_only_turns_the_interval_round(
            pairs in proptest::collection::vec((0.0..100.0f64, 0.0..100.0f64), 2..12),
        ) {
            let (left, right): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
            let bootstrap = Bootstrap::new(0.9, 199).unwrap();
            let one = bootstrap.paired_difference(&left, &right, &mut pinned()).unwrap();
            let other = bootstrap.paired_difference(&right, &left, &mut pinned()).unwrap();
            prop_assert_eq!((one.low, one.high), (-other.high, -other.low));
        }
    }
}
