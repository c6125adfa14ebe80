//! The slow correction of statements: how often run times ended between the levels that were stated.

use serde::{Deserialize, Serialize};
use tollgate_model::distribution::{LEVELS, N_LEVELS};
use tollgate_model::{Distribution, Span};

use super::doubt::N_DOUBTS;
use super::mass::RunMass;
use super::shipped::KEPT;
use super::siblings::N_SIBLING_BUCKETS;
use super::weights::N_COUNTS;

/// Number of cases in which statements are corrected apart.
pub(crate) const N_BUCKETS: usize = FIRST_SIBLINGS + N_SIBLING_BUCKETS;
/// The first bucket of statements in doubt.
pub(crate) const FIRST_DOUBT: usize = N_COUNTS;
/// The first bucket of siblings.
pub(crate) const FIRST_SIBLINGS: usize = FIRST_DOUBT + N_DOUBTS;

/// Number of jobs that weigh as much as the hazards before them.
const PRIOR_JOBS: f64 = 40.0;
/// Number of expected ends that weigh as much as the ends of all buckets.
const POOLED_ENDS: f64 = 8.0;
/// Maximum count: later jobs replace earlier ones.
const MAX_COUNT: f64 = 500.0;
/// Number of expected ends that weigh as much as the ends of a group.
const SITE_ENDS: f64 = 15.0;
/// Maximum number of expected ends of a group: later jobs replace earlier ones.
const MAX_GROUP_ENDS: f64 = 40.0;
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

/// The part of the run times that reached an interval below each level and ended in it.
pub(crate) type Hazards = [f64; N_LEVELS];

/// How the run times of a group ended in the intervals, beside what was expected of them: some users end near their
/// medians, others far from them. Empty until the first run time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct GroupRecalibration(Vec<GroupEnds>);

/// Numbers of ends in an interval: those that were, and those that were expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct GroupEnds {
    ends: f32,
    expected: f32,
}

impl GroupRecalibration {
    /// Corrects hazards by the experience of the group.
    pub(crate) fn apply(&self, hazards: &mut Hazards) {
        for (hazard, ends) in hazards.iter_mut().zip(&self.0) {
            *hazard = ends.corrected(*hazard);
        }
    }

    /// Counts a run time that reached an interval in which it was expected to end with this hazard. Returns the hazard as the
    /// group corrected it before.
    pub(crate) fn judge(
        &mut self,
        interval: usize,
        count: &IntervalCount,
        weight: f64,
        hazard: f64,
    ) -> f64 {
        if self.0.is_empty() {
            self.0.resize(N_LEVELS, GroupEnds::default());
        }
        let ends = &mut self.0[interval];
        let corrected = ends.corrected(hazard);
        ends.add(weight * count.ends, weight * count.reached * hazard);
        corrected
    }
}

impl GroupEnds {
    fn corrected(self, hazard: f64) -> f64 {
        let ratio = (f64::from(self.ends) + SITE_ENDS) / (f64::from(self.expected) + SITE_ENDS);
        (hazard * ratio).min(MAX_HAZARD)
    }

    fn add(&mut self, ends: f64, expected: f64) {
        let all = (f64::from(self.expected) + expected).max(0.0);
        let kept = if all > MAX_GROUP_ENDS {
            MAX_GROUP_ENDS / all
        } else {
            1.0
        };
        self.ends = ((f64::from(self.ends) + ends) * kept) as f32;
        self.expected = (all * kept) as f32;
    }
}

impl IntervalCount {
    /// The count of a run time that has passed an interval.
    pub(crate) const PASSED: Self = Self {
        ends: 0.0,
        reached: 1.0,
    };

    /// Adds `weight` times another count, and returns the part of earlier counts that is kept.
    fn add(&mut self, other: &Self, weight: f64) -> f64 {
        let reached = (self.reached + weight * other.reached).max(0.0);
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

    /// Returns the hazards of statements in a bucket.
    pub(crate) fn hazards(&self, bucket: usize) -> Hazards {
        std::array::from_fn(|interval| self.hazard(bucket, interval))
    }

    /// Returns the hazard of statements in a bucket and an interval.
    pub(crate) fn hazard(&self, bucket: usize, interval: usize) -> f64 {
        let pooled = &self.pooled[interval];
        let ratio = (pooled.count.ends + POOLED_ENDS) / (pooled.expected + POOLED_ENDS);
        let prior = (shipped_hazard(bucket, interval) * ratio).min(MAX_HAZARD);
        let counts = self.buckets.get(bucket);
        let count = counts.map_or(IntervalCount::default(), |counts| counts[interval]);
        (count.ends + PRIOR_JOBS * prior) / (count.reached + PRIOR_JOBS)
    }
}

/// Returns a statement, corrected by the hazards of such statements. Each quantile is that of another level of the raw
/// statement, not one of corrected masses. The reason is that tasks of a batch are often so alike that several levels lie
/// within one bin.
pub(crate) fn correct(raw: &RunMass, hazards: &Hazards) -> Distribution {
    let kept = kept(hazards);
    Distribution::new(LEVELS.map(|level| {
        let ln_run = raw.quantile(raw_level(&kept, level.as_f64()));
        Span::from_secs_f64(ln_run.exp())
    }))
}

/// Returns the part of run times within each level of raw statements, from 0 to 1.
fn kept(hazards: &Hazards) -> [f64; N_LEVELS + 2] {
    let mut kept = [0.0; N_LEVELS + 2];
    kept[N_LEVELS + 1] = 1.0;
    let mut left = 1.0;
    for (interval, hazard) in hazards.iter().enumerate() {
        left *= 1.0 - hazard;
        kept[interval + 1] = (1.0 - left).max(kept[interval] + MIN_STEP);
    }
    for level in (1..=N_LEVELS).rev() {
        kept[level] = kept[level].min(kept[level + 1] - MIN_STEP);
    }
    kept
}

/// Returns whether statements of a bucket are in doubt.
pub(crate) fn is_in_doubt(bucket: usize) -> bool {
    (FIRST_DOUBT..FIRST_SIBLINGS).contains(&bucket)
}

fn shipped_hazard(bucket: usize, interval: usize) -> f64 {
    let kept = &KEPT[bucket];
    let before = interval.checked_sub(1).map_or(0.0, |before| kept[before]);
    ((kept[interval] - before) / (1.0 - before)).clamp(1e-3, 0.999)
}

/// Returns the raw probability that is corrected to this one; the correction is linear between the levels.
fn raw_level(kept: &[f64; N_LEVELS + 2], corrected: f64) -> f64 {
    let after = kept.partition_point(|kept| *kept <= corrected);
    let after = after.clamp(1, N_LEVELS + 1);
    let level = |at: usize| match at {
        0 => 0.0,
        _ => LEVELS.get(at - 1).map_or(1.0, |level| level.as_f64()),
    };
    let [from, to] = [after - 1, after];
    let within = (corrected - kept[from]) / (kept[to] - kept[from]);
    level(from) + (level(to) - level(from)) * within.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::ln_secs;
    use tollgate_model::Probability;

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

    /// Returns a corrected quantile of the even mass, as a logarithm.
    fn corrected(recalibration: &Recalibration, bucket: usize, level: f64) -> f64 {
        let level = Probability::new(level).unwrap();
        let quantile = correct(&even(), &recalibration.hazards(bucket)).quantile(level);
        ln_secs(quantile).unwrap()
    }

    #[test]
    fn levels_within_one_bin_are_corrected() {
        let mut all_alike = RunMass::default();
        all_alike.add(5.0, 1.0);
        let mut recalibration = Recalibration::default();
        let median = |recalibration: &Recalibration| {
            let corrected = correct(&all_alike, &recalibration.hazards(BUCKET));
            ln_secs(corrected.quantile(Probability::new(0.5).unwrap())).unwrap()
        };
        let before = median(&recalibration);
        // All run times end between the levels .8 and .9.
        (0..200).for_each(|_| end_in(&mut recalibration, 9));
        let [low, high] = [0.8, 0.9].map(|level| all_alike.quantile(level));
        let after = median(&recalibration);
        assert!(
            before < low && low < after && after < high,
            "{before} {after}"
        );
    }

    #[test]
    fn statements_that_were_too_short_become_longer() {
        let mut recalibration = Recalibration::default();
        let before = corrected(&recalibration, BUCKET, 0.8);
        // Half of the run times end beyond the level .9.
        for n in 0..200 {
            end_in(&mut recalibration, if n % 2 == 0 { 11 } else { 5 });
        }
        let after = corrected(&recalibration, BUCKET, 0.8);
        assert!(after > before + 0.3, "{before} {after}");
        // Other cases learn from the pooled counts.
        let other = corrected(&recalibration, BUCKET + 1, 0.8);
        assert!(before < other && other < after, "{before} {other} {after}");
    }

    #[test]
    fn group_that_ends_early_is_corrected_apart() {
        let site = Recalibration::default();
        let (mut own, mut hazards) = (GroupRecalibration::default(), site.hazards(BUCKET));
        own.apply(&mut hazards);
        assert_eq!(hazards, site.hazards(BUCKET), "nothing is known");
        // All run times end below the level .3.
        for n in 0..400 {
            for passed in 0..n % 4 {
                own.judge(
                    passed,
                    &IntervalCount::PASSED,
                    1.0,
                    site.hazard(BUCKET, passed),
                );
            }
            own.judge(n % 4, &ENDED, 1.0, site.hazard(BUCKET, n % 4));
        }
        own.apply(&mut hazards);
        let quantile = |hazards: &Hazards| {
            let level = Probability::new(0.8).unwrap();
            ln_secs(correct(&even(), hazards).quantile(level)).unwrap()
        };
        assert!(quantile(&hazards) < quantile(&site.hazards(BUCKET)) - 0.3);
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
        let quantile = |model: &Recalibration| corrected(model, BUCKET, 0.3);
        assert!((quantile(&all) - quantile(&so_far)).abs() < 0.05);
    }
}
