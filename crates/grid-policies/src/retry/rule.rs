//! The axes of the family: the metric of a task, the evictions that count, and the criterion.

use tollgate_model::{EvictionCause, Span};
use tollgate_policy::RandomSource;

use super::history::TaskHistory;

const SECONDS_PER_HOUR: f64 = 3600.0;

/// A metric of a task's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryMetric {
    /// Number of evictions.
    Evictions,
    /// Time the task has held computers without finishing; in hours where a number is needed.
    Accrued,
}

/// The evictions that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvictionFilter {
    /// All evictions.
    All,
    /// All evictions except by users, and by what counts with them ([`EvictionCause::is_of_user`]).
    ExceptUsers,
    /// All evictions except by planned reboots and closing hours ([`EvictionCause::is_planned`]).
    ExceptReboots,
}

/// The criterion by which a task that was just evicted is given up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RetryRule {
    /// After more than this number of evictions.
    Evictions {
        /// The evictions that count.
        filter: EvictionFilter,
        /// Maximum number of evictions.
        max: u32,
    },
    /// After more than this wasted time.
    Accrued {
        /// The evictions that count.
        filter: EvictionFilter,
        /// Maximum wasted time.
        max: Span,
    },
    /// With a fixed probability.
    Chance {
        /// Probability, from 0 to 1.
        probability: f64,
    },
    /// With a probability of 1 - exp(-scale x measure).
    Exponential {
        /// The metric.
        metric: HistoryMetric,
        /// Scale per eviction or per hour; not negative.
        scale: f64,
    },
    /// When more than this percentage of finished tasks had a smaller metric. `above` is the
    /// learned threshold; None if no task exceeds it.
    Percentile {
        /// The metric.
        metric: HistoryMetric,
        /// Percentage, from 0 to 100.
        percentile: f64,
        /// Learned maximum: evictions, or seconds.
        threshold: Option<f64>,
    },
}

/// The histories of finished tasks, all their attempts included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FinishedTasks {
    evictions: Vec<u32>,
    accrued: Vec<Span>,
}

impl EvictionFilter {
    pub(super) const fn includes(self, by: EvictionCause) -> bool {
        match self {
            Self::All => true,
            Self::ExceptUsers => !by.is_of_user(),
            Self::ExceptReboots => !by.is_planned(),
        }
    }
}

impl FinishedTasks {
    /// Collects one entry per task: its number of evictions, and the time its attempts held
    /// computers, including the last attempt.
    pub fn of(tasks: impl IntoIterator<Item = (u32, Span)>) -> Self {
        let (mut evictions, mut accrued): (Vec<u32>, Vec<Span>) = tasks.into_iter().unzip();
        evictions.sort_unstable();
        accrued.sort_unstable();
        Self { evictions, accrued }
    }

    /// Returns the greatest value such that at most `percentile` percent of the values are smaller;
    /// None if every value satisfies this.
    fn percentile_threshold(&self, measured: HistoryMetric, percentile: f64) -> Option<f64> {
        let len = self.evictions.len();
        // The value at this index has exactly that many smaller or equal values before it: every
        // greater value has more than the percentage below itself.
        let at = (percentile / 100.0 * len as f64).floor() as usize;
        match measured {
            HistoryMetric::Evictions => self.evictions.get(at).map(|&count| count.into()),
            HistoryMetric::Accrued => self.accrued.get(at).map(|span| span.as_secs_f64()),
        }
    }
}

impl RetryRule {
    pub(super) fn is_exceeded(&self, seen: &TaskHistory, draw: &mut dyn RandomSource) -> bool {
        match *self {
            Self::Evictions {
                filter: counted,
                max: most,
            } => seen.evictions(counted) > most,
            Self::Accrued {
                filter: counted,
                max: most,
            } => seen.accrued(counted) > most,
            Self::Chance { probability } => draw.unit() < probability,
            Self::Exponential {
                metric: measured,
                scale,
            } => {
                let measure = match measured {
                    HistoryMetric::Evictions => seen.evictions(EvictionFilter::All).into(),
                    HistoryMetric::Accrued => {
                        seen.accrued(EvictionFilter::All).as_secs_f64() / SECONDS_PER_HOUR
                    }
                };
                draw.unit() < -libm::expm1(-scale * measure)
            }
            Self::Percentile {
                metric: measured,
                threshold: above,
                ..
            } => {
                let measure = match measured {
                    HistoryMetric::Evictions => f64::from(seen.evictions(EvictionFilter::All)),
                    HistoryMetric::Accrued => seen.accrued(EvictionFilter::All).as_secs_f64(),
                };
                above.is_some_and(|above| measure > above)
            }
        }
    }

    pub(super) fn learn(&self, finished: &FinishedTasks) -> Self {
        match *self {
            Self::Percentile {
                metric: measured,
                percentile,
                ..
            } => Self::Percentile {
                metric: measured,
                percentile,
                threshold: finished.percentile_threshold(measured, percentile),
            },
            Self::Evictions { .. }
            | Self::Accrued { .. }
            | Self::Chance { .. }
            | Self::Exponential { .. } => *self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The published rule, value by value.
        #[test]
        fn percentile_is_the_share_of_smaller_values(
            counts in proptest::collection::vec(0u32..20, 1..60),
            percentile in 0.0..=100.0f64,
            count in 0u32..22,
        ) {
            let finished = FinishedTasks::of(counts.iter().map(|&count| (count, Span::ZERO)));
            let rule = RetryRule::Percentile {
                metric: HistoryMetric::Evictions,
                percentile,
                threshold: None,
            };
            let mut seen = TaskHistory::default();
            (0..count).for_each(|_| seen.record_eviction(EvictionCause::Lost, Span::ZERO));
            let smaller = counts.iter().filter(|&&other| other < count).count();
            let too_much = smaller as f64 > percentile / 100.0 * counts.len() as f64;
            prop_assert_eq!(rule.learn(&finished).is_exceeded(&seen, &mut UnusedRandomSource), too_much);
        }
    }

    /// A random source that must not be used.
    struct UnusedRandomSource;

    impl RandomSource for UnusedRandomSource {
        fn unit(&mut self) -> f64 {
            panic!("nothing here is random")
        }
    }
}
