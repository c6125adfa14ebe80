//! The slow correction of statements: how often run times ended between the levels that were stated.

use std::array;

use serde::{Deserialize, Serialize};
use tollgate_model::distribution::{LEVELS, N_LEVELS};

use super::mass::RunMass;
use super::shipped::KEPT;
use super::siblings::N_SIBLING_BUCKETS;
use super::weights::N_COUNTS;

/// Number of cases in which statements are corrected apart.
pub(crate) const N_BUCKETS: usize = N_COUNTS + N_SIBLING_BUCKETS;

/// Number of jobs that weigh as much as the hazards before them.
const PRIOR_JOBS: f64 = 40.0;
/// Number of expected ends that weigh as much as the ends of all buckets.
const POOLED_ENDS: f64 = 8.0;
/// Maximum count: later jobs replace earlier ones.
const MAX_COUNT: f64 = 500.0;
/// The largest hazard that is assumed.
const MAX_HAZARD: f64 = 0.97;
/// The least mass between two levels.
const MIN_STEP: f64 = 1e-5;

/// The numbers of run times that ended in an interval between two stated levels, and that reached it. Late
/// feedback does not bias their quotient: a job counts in an interval as soon as it has passed it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Recalibration {
    buckets: Vec<[IntervalCount; N_LEVELS]>,
    /// Over all buckets, with the ends that the shipped hazards expect.
    pooled: [PooledCount; N_LEVELS],
}

/// The run times that ended in an interval, and those that reached it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct IntervalCount {
    pub(crate) ends: f64,
    pub(crate) reached: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct PooledCount {
    count: IntervalCount,
    expected: f64,
}

impl IntervalCount {
    /// The count of a run time that has passed an interval.
    pub(crate) const PASSED: Self = Self {
        ends: 0.0,
        reached: 1.0,
    };

    /// Adds `weight` times another count, and returns the part of earlier counts that is kept.
    fn add(&mut self, other: &Self, weight: f64) -> f64 {
        let reached = self.reached + weight * other.reached;
        let kept = (MAX_COUNT / reached).min(1.0);
        self.ends = (self.ends + weight * other.ends) * kept;
        self.reached = reached * kept;
        kept
    }
}

impl Recalibration {
    /// Counts a run time that reached an interval, below the level of this index, of a statement of this weight.
    pub(crate) fn judge(
        &mut self,
        bucket: usize,
        interval: usize,
        count: &IntervalCount,
        weight: f64,
    ) {
        let pooled = &mut self.pooled[interval];
        let kept = pooled.count.add(count, weight);
        let expected = weight * count.reached * shipped_hazard(bucket, interval);
        pooled.expected = (pooled.expected + expected) * kept;
        if self.buckets.is_empty() {
            self.buckets.resize(N_BUCKETS, Default::default());
        }
        self.buckets[bucket][interval].add(count, weight);
    }

    /// Returns a statement, corrected.
    pub(crate) fn correct(&self, raw: &RunMass, bucket: usize) -> RunMass {
        let kept = self.kept(bucket);
        let mut below = 0.0;
        let mut before = 0.0;
        let mut corrected = RunMass::default();
        for (corrected, mass) in corrected.0.iter_mut().zip(&raw.0) {
            below += mass;
            let after = interpolate(&kept, below.min(1.0));
            *corrected = after - before;
            before = after;
        }
        corrected
    }

    /// Returns the part of run times within each level of raw statements, from 0 to 1.
    fn kept(&self, bucket: usize) -> [f64; N_LEVELS + 2] {
        let mut kept = [0.0; N_LEVELS + 2];
        kept[N_LEVELS + 1] = 1.0;
        let mut left = 1.0;
        for interval in 0..N_LEVELS {
            left *= 1.0 - self.hazard(bucket, interval);
            kept[interval + 1] = (1.0 - left).max(kept[interval] + MIN_STEP);
        }
        for level in (1..=N_LEVELS).rev() {
            kept[level] = kept[level].min(kept[level + 1] - MIN_STEP);
        }
        kept
    }

    fn hazard(&self, bucket: usize, interval: usize) -> f64 {
        let pooled = &self.pooled[interval];
        let ratio = (pooled.count.ends + POOLED_ENDS) / (pooled.expected + POOLED_ENDS);
        let prior = (shipped_hazard(bucket, interval) * ratio).min(MAX_HAZARD);
        let counts = self.buckets.get(bucket);
        let count = counts.map_or(IntervalCount::default(), |counts| counts[interval]);
        (count.ends + PRIOR_JOBS * prior) / (count.reached + PRIOR_JOBS)
    }
}

fn shipped_hazard(bucket: usize, interval: usize) -> f64 {
    let kept = &KEPT[bucket];
    let before = interval.checked_sub(1).map_or(0.0, |before| kept[before]);
    ((kept[interval] - before) / (1.0 - before)).clamp(1e-3, 0.999)
}

/// Returns the corrected probability of a raw one, linear between the levels.
fn interpolate(kept: &[f64; N_LEVELS + 2], raw: f64) -> f64 {
    let at = LEVELS.partition_point(|level| level.as_f64() <= raw);
    let ends: [f64; 2] = array::from_fn(|end| match at + end {
        0 => 0.0,
        level => LEVELS.get(level - 1).map_or(1.0, |level| level.as_f64()),
    });
    let within = ((raw - ends[0]) / (ends[1] - ends[0])).clamp(0.0, 1.0);
    kept[at] + (kept[at + 1] - kept[at]) * within
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUCKET: usize = 2;
    const ENDED: IntervalCount = IntervalCount {
        ends: 1.0,
        reached: 1.0,
    };

    /// Returns a mass that is spread evenly over a range.
    fn even() -> RunMass {
        let mut mass = RunMass::default();
        for at in 0..1000 {
            mass.add(2.0 + f64::from(at) / 250.0, 1e-3);
        }
        mass
    }

    /// Judges a run time that ended in an interval.
    fn end_in(recalibration: &mut Recalibration, interval: usize) {
        for passed in 0..interval.min(N_LEVELS) {
            recalibration.judge(BUCKET, passed, &IntervalCount::PASSED, 1.0);
        }
        if interval < N_LEVELS {
            recalibration.judge(BUCKET, interval, &ENDED, 1.0);
        }
    }

    #[test]
    fn corrected_statement_is_a_distribution() {
        let corrected = Recalibration::default().correct(&even(), BUCKET);
        assert!((corrected.total() - 1.0).abs() < 1e-9);
        assert!(corrected.0.iter().all(|mass| *mass >= -1e-12));
    }

    #[test]
    fn statements_that_were_too_short_become_longer() {
        let mut recalibration = Recalibration::default();
        let before = recalibration.correct(&even(), BUCKET).quantile(0.8);
        // Half of the run times end beyond the level .9.
        for n in 0..200 {
            end_in(&mut recalibration, if n % 2 == 0 { 11 } else { 5 });
        }
        let after = recalibration.correct(&even(), BUCKET).quantile(0.8);
        assert!(after > before + 0.3, "{before} {after}");
        // Other cases learn from the pooled counts.
        let other = recalibration.correct(&even(), BUCKET + 1).quantile(0.8);
        assert!(before < other && other < after, "{before} {other} {after}");
    }

    #[test]
    fn late_feedback_on_long_run_times_does_not_shorten_statements() {
        // As stated: one in ten ends in each tenth. The long ones have passed three intervals so far.
        let (mut all, mut so_far) = (Recalibration::default(), Recalibration::default());
        let intervals = [0, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 11];
        for n in 0..400 {
            let interval = intervals[n % 20];
            end_in(&mut all, interval);
            if interval < 4 {
                end_in(&mut so_far, interval);
            } else {
                for passed in 0..4 {
                    so_far.judge(BUCKET, passed, &IntervalCount::PASSED, 1.0);
                }
            }
        }
        let quantile = |model: &Recalibration| model.correct(&even(), BUCKET).quantile(0.3);
        assert!((quantile(&all) - quantile(&so_far)).abs() < 0.05);
    }
}
