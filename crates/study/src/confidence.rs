//! A metric over seeds, with its uncertainty.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;
use tollgate_risk::{Bootstrap, Interval};

use crate::fingerprint::InputFingerprint;

/// A mean over seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeedMean {
    /// Mean.
    pub mean: f64,
    /// Confidence interval at 95 %, by bootstrap; None with a single seed.
    pub interval: Option<Interval>,
}

impl SeedMean {
    /// Computes the mean of `values`, one per seed; None without values. `what` names the metric:
    /// its random stream is its own, so that its interval does not depend on other metrics.
    pub fn of(values: &[f64], what: &str) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let interval = Bootstrap::default().mean(values, &mut stream(what));
        Some(Self {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            interval: interval.ok(),
        })
    }

    /// Returns the confidence interval, or the mean as both ends if there is no interval.
    pub fn range(&self) -> Interval {
        self.interval.unwrap_or(Interval {
            low: self.mean,
            high: self.mean,
        })
    }
}

/// Returns the random stream of a metric.
fn stream(what: &str) -> Pcg64 {
    let mut key = InputFingerprint::default();
    key.add_text(what);
    Pcg64::seed_from_u64(key.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_seed_gives_a_mean_without_interval() {
        let estimate = SeedMean::of(&[3.0], "x").unwrap();
        assert_eq!((estimate.mean, estimate.interval), (3.0, None));
        assert_eq!(
            estimate.range(),
            Interval {
                low: 3.0,
                high: 3.0
            }
        );
        assert_eq!(SeedMean::of(&[], "x"), None);
    }

    #[test]
    fn interval_depends_only_on_its_metric() {
        let values = [1.0, 2.0, 4.0, 8.0, 16.0];
        let estimate = SeedMean::of(&values, "x").unwrap();
        assert_eq!(SeedMean::of(&values, "x"), Some(estimate));
        assert!(estimate.range().contains(estimate.mean));
    }
}
