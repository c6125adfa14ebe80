//! How alike the tasks of a batch are: the correlation of their misses.
//!
//! The statements of the tasks of a batch are equal, and all run times are long together or each on its own.
//! The correlation of a batch is unknown beforehand; what is learned is how often it had each of some values.

use std::array;

use serde::{Deserialize, Serialize};
use tollgate_model::belief::{CORRELATIONS, N_CORRELATIONS};

/// Weights of [`CORRELATIONS`].
type CorrelationWeights = [f64; N_CORRELATIONS];

/// Number of classes of the size of a batch.
const N_SIZES: usize = 3;
/// The weights by size of a batch, as archived traces have them: 2 or 3 tasks, 4 to 9, 10 or more.
const SHIPPED: [CorrelationWeights; N_SIZES] = [
    [0.17, 0.11, 0.07, 0.05, 0.08, 0.11, 0.11, 0.30],
    [0.08, 0.08, 0.06, 0.06, 0.10, 0.14, 0.17, 0.31],
    [0.06, 0.17, 0.08, 0.11, 0.14, 0.15, 0.14, 0.15],
];
/// Number of batches that weigh as much as the shipped weights, and the most that count.
const SITE_BATCHES: (f64, f64) = (20.0, 300.0);
/// The part that the weight of a batch keeps in its class when the next ends.
const KEPT: f64 = 0.9;
/// Number of batches of a class that weigh as much as the site.
const SITE_WEIGHT: f64 = 3.0;
/// The furthest miss that is believed, in standard deviations.
const MAX_MISS: f64 = 3.0;

/// The sums of the misses of a batch, as standard normal deviates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct NormalSums {
    n: u32,
    sum: f64,
    squares: f64,
}

impl NormalSums {
    /// Adds a task whose run time was stated to be exceeded with probability 1 - `level`.
    pub(crate) fn add(&mut self, level: f64) {
        let miss = tollgate_model::normal::quantile(level).clamp(-MAX_MISS, MAX_MISS);
        self.n += 1;
        self.sum += miss;
        self.squares += miss * miss;
    }

    /// Returns the logarithm of the likelihood of a correlation, up to a constant: the density of
    /// exchangeable normal deviates.
    fn ln_likelihood(&self, correlation: f64) -> f64 {
        let others = f64::from(self.n) - 1.0;
        let joint = 1.0 + others * correlation;
        let ln_determinant = others * (1.0 - correlation).ln() + joint.ln();
        let form = (self.squares - correlation * self.sum * self.sum / joint) / (1.0 - correlation);
        -0.5 * (ln_determinant + form)
    }

    /// Returns how probable each correlation is, after these weights.
    fn posterior(&self, prior: &CorrelationWeights) -> CorrelationWeights {
        let ln = CORRELATIONS.map(|correlation| self.ln_likelihood(correlation));
        let most = ln.iter().copied().fold(f64::MIN, f64::max);
        let parts: CorrelationWeights =
            array::from_fn(|at| prior[at].max(1e-4) * (ln[at] - most).exp());
        let total: f64 = parts.iter().sum();
        parts.map(|part| part / total)
    }
}

/// The correlations of the ended batches of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ClassCorrelations([f32; N_CORRELATIONS]);

/// The correlations of the ended batches of the site, by size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SiteCorrelations([(f64, CorrelationWeights); N_SIZES]);

impl Default for SiteCorrelations {
    fn default() -> Self {
        Self(SHIPPED.map(|weights| (SITE_BATCHES.0, weights)))
    }
}

impl SiteCorrelations {
    /// Returns the weights of the correlations of a batch of this size, of a class.
    pub(crate) fn weights(
        &self,
        size: u32,
        class: Option<&ClassCorrelations>,
    ) -> CorrelationWeights {
        let (_, site) = &self.0[size_class(size)];
        let own = class.map_or([0.0; N_CORRELATIONS], |class| class.0.map(f64::from));
        let total = own.iter().sum::<f64>() + SITE_WEIGHT;
        array::from_fn(|at| (own[at] + SITE_WEIGHT * site[at]) / total)
    }

    /// Learns from the misses of an ended batch of a class.
    pub(crate) fn learn(&mut self, misses: &NormalSums, class: &mut ClassCorrelations) {
        if misses.n < 2 {
            return;
        }
        let posterior = misses.posterior(&self.weights(misses.n, Some(class)));
        for (own, part) in class.0.iter_mut().zip(posterior) {
            *own = (f64::from(*own) * KEPT + part) as f32;
        }
        let (n, site) = &mut self.0[size_class(misses.n)];
        for (own, part) in site.iter_mut().zip(posterior) {
            *own = (*own * *n + part) / (*n + 1.0);
        }
        *n = (*n + 1.0).min(SITE_BATCHES.1);
    }
}

/// Returns true if the tasks of a batch are otherwise alike once another one makes it this large.
pub(crate) const fn changes_at(size: u32) -> bool {
    size == 2 || (size > 2 && size_class(size) != size_class(size - 1))
}

const fn size_class(size: u32) -> usize {
    match size {
        ..4 => 0,
        4..10 => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learned(levels: impl Fn(u32) -> f64) -> CorrelationWeights {
        let (mut site, mut class) = (SiteCorrelations::default(), ClassCorrelations::default());
        for batch in 0..20 {
            let mut misses = NormalSums::default();
            for task in 0..5 {
                misses.add(levels(batch * 5 + task));
            }
            site.learn(&misses, &mut class);
        }
        site.weights(5, Some(&class))
    }

    #[test]
    fn tasks_that_are_long_together_teach_a_high_correlation() {
        let alike = learned(|task| 0.05 + 0.9 * f64::from(task / 5 % 10) / 9.0);
        let apart = learned(|task| (f64::from(task) * 0.618_034).fract());
        let mean = |weights: CorrelationWeights| -> f64 {
            weights
                .iter()
                .zip(CORRELATIONS)
                .map(|(weight, r)| weight * r)
                .sum()
        };
        assert!(mean(alike) > 0.9, "{alike:?}");
        assert!(mean(apart) < 0.3, "{apart:?}");
    }
}
