//! The forecast distribution of a forest.

use crate::bins::{N_BINS, bins_below, lower_end};

/// A distribution over bins of outcomes: the mean of the distributions in the leaves of a forest.
#[derive(Clone, Debug, PartialEq)]
pub struct OutcomeMixture {
    /// The first bin that is not empty.
    first: usize,
    /// The probability up to the upper end of each bin from the first to the last that is not empty. Ascending; the
    /// last one is 1.
    cumulative: Vec<f64>,
}

impl OutcomeMixture {
    /// Creates the distribution with these weights of the bins, of which at least one is above 0.
    pub(crate) fn of_weights(weights: &[f64; N_BINS]) -> Self {
        let first = weights.iter().position(|weight| *weight > 0.0);
        let first = first.expect("an outcome in a leaf");
        let last = weights.iter().rposition(|weight| *weight > 0.0);
        let filled = &weights[first..=last.expect("an outcome in a leaf")];
        let mut sum = 0.0;
        let cumulative = filled.iter().map(|weight| {
            sum += weight;
            sum
        });
        let mut cumulative: Vec<f64> = cumulative.collect();
        cumulative.iter_mut().for_each(|part| *part /= sum);
        Self { first, cumulative }
    }

    /// Returns the outcome that is exceeded with probability 1 - `level`, linear within a bin. `level` is between 0
    /// and 1.
    pub fn quantile(&self, level: f64) -> f64 {
        let bin = self.cumulative.partition_point(|up_to| *up_to < level);
        let bin = bin.min(self.cumulative.len() - 1);
        let before = self.before(bin);
        let mass = self.cumulative[bin] - before;
        let part = ((level - before) / mass).clamp(0.0, 1.0);
        let low = lower_end(self.first + bin);
        low + part * (lower_end(self.first + bin + 1) - low)
    }

    /// Returns the probability of an outcome of at most `outcome`.
    pub fn probability_within(&self, outcome: f64) -> f64 {
        let place = bins_below(outcome) - self.first as f64;
        if place <= 0.0 {
            return 0.0;
        }
        let bin = place as usize;
        match self.cumulative.get(bin) {
            Some(up_to) => {
                let before = self.before(bin);
                before + (up_to - before) * place.fract()
            }
            None => 1.0,
        }
    }

    fn before(&self, bin: usize) -> f64 {
        bin.checked_sub(1)
            .map_or(0.0, |before| self.cumulative[before])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mixture() -> OutcomeMixture {
        let mut weights = [0.0; N_BINS];
        weights[12] = 1.0;
        weights[14] = 3.0;
        OutcomeMixture::of_weights(&weights)
    }

    #[test]
    fn quantile_is_linear_within_a_bin() {
        for (level, bins) in [(0.0, 12.0), (0.125, 12.5), (0.625, 14.5), (1.0, 15.0)] {
            let quantile = mixture().quantile(level);
            assert!(
                (quantile - bins / 12.0).abs() < 1e-12,
                "{level}: {quantile}"
            );
        }
    }

    #[test]
    fn probability_is_the_inverse_of_the_quantile() {
        for level in [0.05, 0.2, 0.3, 0.5, 0.9, 1.0] {
            let within = mixture().probability_within(mixture().quantile(level));
            assert!((within - level).abs() < 1e-12, "{level}: {within}");
        }
        assert_eq!(mixture().probability_within(-1.0), 0.0);
        assert_eq!(mixture().probability_within(13.5 / 12.0), 0.25);
        assert_eq!(mixture().probability_within(1e9), 1.0);
    }
}
