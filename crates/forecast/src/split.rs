//! The decision whether to split a class by a finer aspect.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::expert::median_of_last;
use crate::record::JobAttributes;

/// An aspect by which a class may be split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SplitAspect {
    /// The executable of a job.
    Executable,
    /// The queue of submission.
    Queue,
    /// The charged account.
    Account,
}

/// Number of aspects.
const N_ASPECTS: usize = 3;

impl SplitAspect {
    /// Every aspect; ties go to the first.
    pub const ALL: [Self; N_ASPECTS] = [Self::Executable, Self::Queue, Self::Account];

    /// Returns a job's value of the aspect, as numbered by the caller.
    pub const fn of(self, context: &JobAttributes) -> Option<u32> {
        match self {
            Self::Executable => context.executable,
            Self::Queue => context.queue,
            Self::Account => context.account,
        }
    }
}

/// Formats the aspect as one word.
impl fmt::Display for SplitAspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Executable => "executable",
            Self::Queue => "queue",
            Self::Account => "account",
        })
    }
}

/// Maximum number of watched values of an aspect; beyond it the value not seen for longest is
/// forgotten.
const MAX_VALUES: usize = 24;
/// Number of remembered run times of each value.
const MAX_RUNS: usize = 5;
/// Minimum number of run times of a value for forecasting by the value.
const MIN_RUNS: usize = 3;
/// Minimum number of jobs of a value that becomes a part: fewer jobs starve the part.
const MIN_PART_JOBS: u32 = 30;
/// Minimum number of comparisons before a class is split.
const MIN_COMPARISONS: u32 = 60;
/// The speed at which old errors are forgotten: about the last fifty count.
const FORGET: f64 = 0.02;
/// A split pays if it leaves less than this fraction of the error.
const SPLIT_RATIO: f64 = 0.75;
/// A split is undone once it leaves more than this fraction; the gap prevents oscillation.
const MERGE_RATIO: f64 = 0.95;

/// A comparison, on every job of a class, of the median of the class's last five jobs with that of
/// the last five jobs of each value of each aspect.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ClassSplitter {
    whole: Vec<f64>,
    watches: [AspectErrors; N_ASPECTS],
    split: Option<SplitAspect>,
    learned: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct AspectErrors {
    values: BTreeMap<u32, ValueHistory>,
    compared: u32,
    fine: f64,
    coarse: f64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct ValueHistory {
    runs: Vec<f64>,
    jobs: u32,
    last: u64,
}

impl ClassSplitter {
    /// Returns the aspect by which the class is split at present.
    pub(crate) fn split(&self) -> Option<SplitAspect> {
        self.split
    }

    /// Returns true if enough jobs with this value of the present split were seen.
    pub(crate) fn is_part(&self, value: u32) -> bool {
        let watched = self.split.map(|aspect| &self.watches[aspect as usize]);
        let seen = watched.and_then(|watch| watch.values.get(&value));
        seen.is_some_and(|seen| seen.jobs >= MIN_PART_JOBS)
    }

    /// Learns from a job; returns true if the split has changed.
    pub(crate) fn learn(&mut self, context: &JobAttributes, ln_run: f64) -> bool {
        self.learned += 1;
        let coarse = median_of_last(&self.whole, MAX_RUNS);
        for (watch, aspect) in self.watches.iter_mut().zip(SplitAspect::ALL) {
            if let Some(value) = aspect.of(context) {
                watch.learn(value, self.learned, coarse, ln_run);
            }
        }
        remember(&mut self.whole, ln_run);
        let before = self.split;
        self.split = match before {
            Some(aspect) if self.watches[aspect as usize].ratio() > MERGE_RATIO => None,
            Some(aspect) => Some(aspect),
            None => self.best(),
        };
        self.split != before
    }

    fn best(&self) -> Option<SplitAspect> {
        let paying = SplitAspect::ALL.into_iter().filter(|aspect| {
            let watch = &self.watches[*aspect as usize];
            watch.compared >= MIN_COMPARISONS && watch.ratio() < SPLIT_RATIO
        });
        paying.min_by(|a, b| {
            let ratio = |aspect: &SplitAspect| self.watches[*aspect as usize].ratio();
            ratio(a).total_cmp(&ratio(b))
        })
    }
}

impl AspectErrors {
    /// Returns the fraction of the error that a split leaves.
    fn ratio(&self) -> f64 {
        if self.coarse > 0.0 {
            self.fine / self.coarse
        } else {
            1.0
        }
    }

    fn learn(&mut self, value: u32, now: u64, coarse: Option<f64>, ln_run: f64) {
        if !self.values.contains_key(&value) && self.values.len() == MAX_VALUES {
            let oldest = self.values.iter().min_by_key(|(_, seen)| seen.last);
            if let Some(oldest) = oldest.map(|(value, _)| *value) {
                self.values.remove(&oldest);
            }
        }
        let seen = self.values.entry(value).or_default();
        let known = seen.runs.len() >= MIN_RUNS;
        let fine = known
            .then(|| median_of_last(&seen.runs, MAX_RUNS))
            .flatten();
        if let Some((fine, coarse)) = fine.zip(coarse) {
            self.compared = self.compared.saturating_add(1);
            self.fine += FORGET * ((fine - ln_run).abs() - self.fine);
            self.coarse += FORGET * ((coarse - ln_run).abs() - self.coarse);
        }
        remember(&mut seen.runs, ln_run);
        seen.jobs = seen.jobs.saturating_add(1);
        seen.last = now;
    }
}

fn remember(runs: &mut Vec<f64>, ln_run: f64) {
    if runs.len() == MAX_RUNS {
        runs.remove(0);
    }
    runs.push(ln_run);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(executable: u32) -> JobAttributes {
        JobAttributes {
            executable: Some(executable),
            ..JobAttributes::default()
        }
    }

    #[test]
    fn class_splits_on_different_executables_and_merges_on_similar_ones() {
        let mut splitter = ClassSplitter::default();
        for job in 0..200_u32 {
            splitter.learn(&context(job % 2), 3.0 + 3.0 * f64::from(job % 2));
        }
        assert_eq!(splitter.split(), Some(SplitAspect::Executable));
        assert!(splitter.is_part(0) && !splitter.is_part(7));
        for job in 0..300_u32 {
            // Both take longer for ten jobs, then shorter for ten: only the latest jobs matter, not
            // their value.
            splitter.learn(&context(job % 2), f64::from(2 + job / 10 % 2 * 7));
        }
        assert_eq!(splitter.split(), None);
    }

    #[test]
    fn aspect_with_only_new_values_does_not_split() {
        let mut splitter = ClassSplitter::default();
        for job in 0..500_u32 {
            assert!(!splitter.learn(&context(job), f64::from(job % 5)));
        }
        assert!(splitter.watches[0].values.len() <= MAX_VALUES);
    }
}
