//! A metric over seeds, with its uncertainty.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::SeedableRng;
use tollgate_risk::jackknife::jackknife;
use tollgate_risk::{Bootstrap, Interval};

use crate::fingerprint::InputFingerprint;

/// A mean over seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeedMean {
    /// Mean.
    pub mean: f64,
    /// Confidence interval at 95 % of these jobs with other draws, by bootstrap; None with a single seed.
    pub interval: Option<Interval>,
    /// Confidence interval at 95 % of other weeks of the same machine, by the jackknife over the parts of the record.
    /// None without such parts, or if the metric is a sum or undefined without one of them.
    pub by_weeks: Option<Interval>,
}

impl SeedMean {
    /// Computes the mean of `values`, one per seed; None without values. `what` names the metric:
    /// its random stream is its own, so that its interval does not depend on other metrics.
    pub fn of(values: &[f64], what: &str) -> Option<Self> {
        let interval = Bootstrap::default().mean(values, &mut stream(what));
        Some(Self {
            mean: mean(values)?,
            interval: interval.ok(),
            by_weeks: None,
        })
    }

    /// Adds the values per seed without each part of the record.
    #[must_use]
    pub fn with_parts(self, parts: impl Iterator<Item = Option<Vec<f64>>>) -> Self {
        let means: Option<Vec<f64>> = parts.map(|values| mean(&values?)).collect();
        Self {
            by_weeks: means.and_then(|means| jackknife(self.mean, &means)),
            ..self
        }
    }

    /// Limits the interval over weeks to the range of the metric: a jackknife knows none.
    #[must_use]
    pub fn within(self, low: f64, high: f64) -> Self {
        let limited = |weeks: Interval| Interval {
            low: weeks.low.max(low),
            high: weeks.high.min(high),
        };
        Self {
            by_weeks: self.by_weeks.map(limited),
            ..self
        }
    }

    /// Returns the confidence interval over seeds, or the mean as both ends if there is no interval.
    pub fn range(&self) -> Interval {
        self.interval.unwrap_or(Interval {
            low: self.mean,
            high: self.mean,
        })
    }

    /// Returns the interval from the least end of the intervals to the greatest; None if there are none.
    pub fn widest(&self) -> Option<Interval> {
        let intervals = [self.interval, self.by_weeks].into_iter().flatten();
        intervals.reduce(|one, other| Interval {
            low: one.low.min(other.low),
            high: one.high.max(other.high),
        })
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
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
        let only = Interval {
            low: 3.0,
            high: 3.0,
        };
        assert_eq!((estimate.range(), estimate.widest()), (only, None));
        assert_eq!(SeedMean::of(&[], "x"), None);
    }

    #[test]
    fn interval_depends_only_on_its_metric() {
        let values = [1.0, 2.0, 4.0, 8.0, 16.0];
        let estimate = SeedMean::of(&values, "x").unwrap();
        assert_eq!(SeedMean::of(&values, "x"), Some(estimate));
        assert!(estimate.range().contains(estimate.mean));
    }

    #[test]
    fn seeds_that_agree_do_not_hide_weeks_that_differ() {
        let estimate = SeedMean::of(&[5.0, 5.0], "x").unwrap();
        assert_eq!(
            estimate.widest(),
            Some(Interval {
                low: 5.0,
                high: 5.0
            })
        );
        let without = |part: f64| Some(vec![5.0 + part, 5.0 + part]);
        let estimate = estimate.with_parts([-1.0, 0.0, 1.0].map(without).into_iter());
        let weeks = estimate.by_weeks.unwrap();
        assert!(weeks.low < 1.0 && weeks.high > 9.0, "{weeks:?}");
        assert_eq!(estimate.widest(), Some(weeks));
        let limited = estimate.within(0.0, 8.0).by_weeks.unwrap();
        assert_eq!((limited.low, limited.high), (weeks.low.max(0.0), 8.0));
        let undefined = estimate.with_parts([without(0.0), None, without(1.0)].into_iter());
        assert_eq!(undefined.by_weeks, None);
    }
}
