//! The axes of the family: what is measured of a task, which evictions count, and what is too
//! much.

use tollgate_model::Span;

use super::history::{EvictionCause, TaskHistory};
use crate::random_source::RandomSource;

const SECONDS_PER_HOUR: f64 = 3600.0;

/// What is measured of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryMetric {
    /// How often it was evicted.
    Evictions,
    /// How long it has held computers in vain; in hours where a number is needed.
    Accrued,
}

/// Which evictions count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvictionFilter {
    /// All of them.
    All,
    /// All but those by users who sat down.
    ExceptUsers,
    /// All but those by planned reboots.
    ExceptReboots,
}

/// When a policy has had enough of a task that was just evicted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RetryRule {
    /// After more than so many evictions.
    Evictions {
        /// Which of them count.
        filter: EvictionFilter,
        /// How many are borne.
        max: u32,
    },
    /// After more than so much time in vain.
    Accrued {
        /// Which evictions count.
        filter: EvictionFilter,
        /// How much is borne.
        max: Span,
    },
    /// With a fixed probability.
    Chance {
        /// From 0 to 1.
        probability: f64,
    },
    /// With a probability of 1 - exp(-scale x measure).
    Exponential {
        /// What is measured.
        metric: HistoryMetric,
        /// Not negative; per eviction or per hour.
        scale: f64,
    },
    /// When more than this share of the tasks that finished had less. `above` is the measure that
    /// this comes to, none if nothing is too much.
    Percentile {
        /// What is measured.
        metric: HistoryMetric,
        /// In percent, from 0 to 100.
        percentile: f64,
        /// The most that is borne: evictions, or seconds. Learned.
        threshold: Option<f64>,
    },
}

/// How the tasks that finished had fared, all their attempts included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FinishedTasks {
    evictions: Vec<u32>,
    accrued: Vec<Span>,
}

impl EvictionFilter {
    pub(super) const fn includes(self, by: EvictionCause) -> bool {
        match (self, by) {
            (Self::ExceptUsers, EvictionCause::User)
            | (Self::ExceptReboots, EvictionCause::Reboot) => false,
            (Self::All | Self::ExceptUsers | Self::ExceptReboots, _) => true,
        }
    }
}

impl FinishedTasks {
    /// A task each: how often it was evicted, and how long its attempts held computers, the last
    /// one included.
    pub fn of(tasks: impl IntoIterator<Item = (u32, Span)>) -> Self {
        let (mut evictions, mut accrued): (Vec<u32>, Vec<Span>) = tasks.into_iter().unzip();
        evictions.sort_unstable();
        accrued.sort_unstable();
        Self { evictions, accrued }
    }

    /// The greatest value to which at most `percentile` percent of the values are smaller; none
    /// if that is true of every value.
    fn percentile_threshold(&self, measured: HistoryMetric, percentile: f64) -> Option<f64> {
        let len = self.evictions.len();
        // The value at this place has exactly so many smaller or equal ones before it: whatever
        // is greater than it has more than the share below itself.
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
        /// The rule as it is published, value by value.
        #[test]
        fn a_percentile_is_the_share_of_smaller_values(
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

    /// Nothing is drawn where nothing is random.
    struct UnusedRandomSource;

    impl RandomSource for UnusedRandomSource {
        fn unit(&mut self) -> f64 {
            panic!("nothing here is random")
        }
    }
}
