//! How well the stated forecasts held, by class.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use tollgate_forecast::{Belief, ClassBehaviour, ClassId, ClassSummary, CompletedJob};
use tollgate_model::Span;
use tollgate_model::distribution::{LEVELS, N_LEVELS};

use crate::level::ConfidenceLevel;

/// Number of remembered errors of the jobs with the same properties.
const ERRORS: usize = 100;

/// The statements about jobs with the same properties.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct StatementTally {
    n_stated: u64,
    /// Number of run times within the quantile at each level.
    n_kept: [u64; N_LEVELS],
    /// The last errors of medians: |ln (run time / median)|.
    errors: VecDeque<f32>,
}

/// The executable, queue and account of jobs: a class is split by one of them.
type SplitValues = [Option<u32>; 3];

/// The statements about all jobs, by class and by each value by which classes are split.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredTallies", into = "StoredTallies")]
pub struct StatementTallies(BTreeMap<(ClassId, SplitValues), StatementTally>);

type StoredTallies = Vec<((ClassId, SplitValues), StatementTally)>;

impl From<StoredTallies> for StatementTallies {
    fn from(stored: StoredTallies) -> Self {
        Self(stored.into_iter().collect())
    }
}

impl From<StatementTallies> for StoredTallies {
    fn from(tallies: StatementTallies) -> Self {
        tallies.0.into_iter().collect()
    }
}

/// The statements about the jobs of a class, or of a part of it.
#[derive(Clone, Copy, Debug)]
pub struct StatedClass {
    n_stated: u64,
    n_kept: [u64; N_LEVELS],
    /// The factor by which half of the recent medians missed, at least 1.
    pub usual_factor: f64,
    /// The predictability of the recent jobs.
    pub behaviour: ClassBehaviour,
}

impl StatedClass {
    /// Returns the number of statements, and of those that held. None if the level is not counted.
    pub fn due_and_kept(&self, level: ConfidenceLevel) -> Option<(u64, u64)> {
        let place = LEVELS
            .iter()
            .position(|known| *known == level.probability())?;
        Some((self.n_stated, self.n_kept[place]))
    }
}

impl StatementTallies {
    /// Counts what was stated of a job that has ended.
    pub fn count(&mut self, job: &CompletedJob, belief: &Belief) {
        let context = job.job.context;
        let values = [context.executable, context.queue, context.account];
        let tally = self.0.entry((job.job.class, values)).or_default();
        tally.n_stated += 1;
        let quantiles = belief.distribution.quantiles();
        for (kept, bound) in tally.n_kept.iter_mut().zip(quantiles) {
            *kept += u64::from(job.runtime <= *bound);
        }
        if tally.errors.len() == ERRORS {
            tally.errors.pop_front();
        }
        let error = ln_secs(job.runtime) - ln_secs(belief.distribution.median());
        tally.errors.push_back(error.abs() as f32);
    }

    /// Returns the statements about the jobs of a class, or of the part that a summary is of. `parts` are the values of
    /// all parts of the class. The rest of a class whose jobs are all of parts by now has those of the whole class.
    pub fn of(&self, summary: &ClassSummary, parts: &[Option<u32>]) -> StatedClass {
        let class = summary.last_job.class;
        let range = (class, [None; 3])..=(class, [Some(u32::MAX); 3]);
        let value = |values: &SplitValues| match summary.split {
            Some(aspect) => values[aspect as usize],
            None => None,
        };
        let is_of_part = |values: &SplitValues| {
            let value = value(values);
            match summary.part {
                Some(part) => value == Some(part),
                None => value.is_none() || !parts.contains(&value),
            }
        };
        let own: Vec<&StatementTally> = self
            .0
            .range(range.clone())
            .filter(|((_, values), _)| is_of_part(values))
            .map(|(_, tally)| tally)
            .collect();
        match own.is_empty() {
            true => StatedClass::sum(self.0.range(range).map(|(_, tally)| tally)),
            false => StatedClass::sum(own.into_iter()),
        }
    }
}

impl StatedClass {
    fn sum<'a>(tallies: impl Iterator<Item = &'a StatementTally>) -> Self {
        let mut sums = StatementTally::default();
        let mut errors: Vec<f32> = Vec::new();
        for tally in tallies {
            sums.n_stated += tally.n_stated;
            for (sum, kept) in sums.n_kept.iter_mut().zip(&tally.n_kept) {
                *sum += kept;
            }
            errors.extend(&tally.errors);
        }
        errors.sort_by(f32::total_cmp);
        let middle = errors.get(errors.len() / 2).copied().unwrap_or(0.0);
        let usual_factor = f64::from(middle).exp();
        Self {
            n_stated: sums.n_stated,
            n_kept: sums.n_kept,
            usual_factor,
            behaviour: ClassBehaviour::of(errors.len(), usual_factor),
        }
    }
}

fn ln_secs(span: Span) -> f64 {
    span.as_secs_f64().max(1.0).ln()
}
