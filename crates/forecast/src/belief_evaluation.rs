//! The retrospective evaluation of beliefs: how often they were kept, and how close they were, by what was
//! known of each job.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::ops::ControlFlow;

use tollgate_model::Probability;

use crate::belief::{Belief, BeliefJob, BeliefModel};
use crate::conformal::pinball;
use crate::online::FeedbackTiming;
use crate::record::{CompletedJob, ln_secs};
use crate::recorded_beliefs::{RecordedMoment, play_record};

/// Number of evaluated levels.
pub const N_BELIEF_LEVELS: usize = 5;

/// The evaluated levels.
pub const BELIEF_LEVELS: [Probability; N_BELIEF_LEVELS] = [
    level(0.5),
    level(5.0 / 6.0),
    level(0.9),
    level(0.95),
    level(0.98),
];

const fn level(level: f64) -> Probability {
    Probability::new(level).expect("a probability")
}

/// The number of ended batches that were known in the nearest group of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KnownBatches {
    /// None.
    None,
    /// One.
    One,
    /// Two.
    Two,
    /// Three to five.
    Few,
    /// Six or more.
    Many,
}

impl KnownBatches {
    pub(crate) const fn of(n_batches: u32) -> Self {
        match n_batches {
            0 => Self::None,
            1 => Self::One,
            2 => Self::Two,
            3..=5 => Self::Few,
            6.. => Self::Many,
        }
    }

    /// Returns the key in JSON.
    pub const fn key(self) -> &'static str {
        match self {
            Self::None => "0",
            Self::One => "1",
            Self::Two => "2",
            Self::Few => "3-5",
            Self::Many => "6+",
        }
    }
}

/// The position of a task in its batch when the belief was stated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BatchPosition {
    /// The first task, at its submission.
    First,
    /// Another task at its submission, when no sibling had ended.
    BeforeFirstEnd,
    /// Another task at its submission, when one or two siblings had ended.
    AfterFirstEnds,
    /// Another task at its submission, when three or more siblings had ended.
    AfterManyEnds,
    /// A task at its start, when one or two siblings had ended.
    StartAfterFirstEnds,
    /// A task at its start, when three or more siblings had ended.
    StartAfterManyEnds,
}

impl BatchPosition {
    /// Returns the key in JSON.
    pub const fn key(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::BeforeFirstEnd => "0_ended",
            Self::AfterFirstEnds => "1-2_ended",
            Self::AfterManyEnds => "3+_ended",
            Self::StartAfterFirstEnds => "start_1-2_ended",
            Self::StartAfterManyEnds => "start_3+_ended",
        }
    }
}

/// The scores of beliefs over some jobs. Each batch weighs the same, but for `coverage_when_stated`.
#[derive(Clone, Debug, PartialEq)]
pub struct BeliefScore {
    /// Number of jobs.
    pub n_jobs: usize,
    /// Number of batches.
    pub n_batches: usize,
    /// By level: the part of the run times within the stated quantile.
    pub coverage: [f64; N_BELIEF_LEVELS],
    /// The same where the n-th statement about a batch weighs 1/n, which is known when it is stated. How many
    /// tasks a batch gets is not. A user who submits one job after another often stops after one that took
    /// unlike long, so that misses stand in small batches and `coverage` is lower.
    pub coverage_when_stated: [f64; N_BELIEF_LEVELS],
    /// The mean pinball loss over the levels, of logarithms of seconds.
    pub pinball: f64,
}

/// The scores of the beliefs over a record.
#[derive(Clone, Debug, PartialEq)]
pub struct BeliefEvaluation {
    /// All jobs, at their submission; None if no job ran.
    pub all: Option<BeliefScore>,
    /// Jobs at their submission, by the number of batches known.
    pub by_batches: BTreeMap<KnownBatches, BeliefScore>,
    /// By position in the batch.
    pub by_position: BTreeMap<BatchPosition, BeliefScore>,
}

/// The sums of a batch.
#[derive(Clone, Copy, Debug, Default)]
struct BatchSums {
    n_jobs: usize,
    kept: [u32; N_BELIEF_LEVELS],
    /// The weights of the statements as they were stated, and of those that were kept.
    weight: f64,
    kept_weight: [f64; N_BELIEF_LEVELS],
    pinball: f64,
}

/// The sums of some jobs, by batch: the number of the part of the record, and that of the batch in it.
#[derive(Clone, Debug, Default)]
struct ScoreSums(BTreeMap<(usize, u64), BatchSums>);

/// Evaluates the beliefs over a record, as a site would have had them that begins with nothing. With `cold`,
/// the record is cut into parts of as many jobs, and each begins with nothing.
pub fn evaluate_beliefs(
    jobs: &[(BeliefJob, CompletedJob)],
    cold: Option<usize>,
) -> BeliefEvaluation {
    let go_on = || ControlFlow::<Infallible>::Continue(());
    let ControlFlow::Continue(evaluated) = try_evaluate_beliefs(jobs, cold, go_on);
    evaluated
}

/// Evaluates beliefs as [`evaluate_beliefs`] does. `on_job` is called at least once for each job that ran; its break ends
/// the evaluation.
pub fn try_evaluate_beliefs<B>(
    jobs: &[(BeliefJob, CompletedJob)],
    cold: Option<usize>,
    on_job: impl Fn() -> ControlFlow<B>,
) -> ControlFlow<B, BeliefEvaluation> {
    let mut jobs = jobs.to_vec();
    jobs.sort_by_key(|(_, job)| job.submit);
    let mut all = ScoreSums::default();
    let mut by_batches: BTreeMap<KnownBatches, ScoreSums> = BTreeMap::new();
    let mut by_position: BTreeMap<BatchPosition, ScoreSums> = BTreeMap::new();
    let n_part = cold.unwrap_or(jobs.len()).max(1);
    for (part, jobs) in jobs.chunks(n_part).enumerate() {
        let mut seen = BTreeSet::new();
        let mut observe = |at: usize, moment: RecordedMoment<'_>| {
            let (RecordedMoment::Submission(belief) | RecordedMoment::Start(belief)) = moment
            else {
                return ControlFlow::Continue(());
            };
            let batch = belief.kinship.batch;
            let is_first = seen.insert(batch);
            let key = (part, batch);
            let runtime = &jobs[at].1;
            if let RecordedMoment::Submission(_) = moment {
                all.add(key, runtime, belief);
                let known = KnownBatches::of(belief.basis.n_batches);
                by_batches
                    .entry(known)
                    .or_default()
                    .add(key, runtime, belief);
            }
            if let Some(position) = position(moment, is_first) {
                by_position
                    .entry(position)
                    .or_default()
                    .add(key, runtime, belief);
            }
            on_job()
        };
        let timing = FeedbackTiming::Causal;
        play_record(
            &mut BeliefModel::default(),
            jobs,
            timing,
            Some(&mut observe),
        )?;
    }
    ControlFlow::Continue(BeliefEvaluation {
        all: all.score(),
        by_batches: scores(by_batches),
        by_position: scores(by_position),
    })
}

fn scores<K: Ord>(sums: BTreeMap<K, ScoreSums>) -> BTreeMap<K, BeliefScore> {
    let scores = sums.into_iter();
    scores
        .filter_map(|(key, sums)| Some((key, sums.score()?)))
        .collect()
}

fn position(moment: RecordedMoment<'_>, is_first: bool) -> Option<BatchPosition> {
    Some(match moment {
        RecordedMoment::Submission(_) if is_first => BatchPosition::First,
        RecordedMoment::Submission(belief) => match belief.basis.siblings.n_ended {
            0 => BatchPosition::BeforeFirstEnd,
            1..=2 => BatchPosition::AfterFirstEnds,
            3.. => BatchPosition::AfterManyEnds,
        },
        RecordedMoment::Start(belief) => match belief.basis.siblings.n_ended {
            0 => return None,
            1..=2 => BatchPosition::StartAfterFirstEnds,
            3.. => BatchPosition::StartAfterManyEnds,
        },
        RecordedMoment::End(_) => return None,
    })
}

impl ScoreSums {
    fn add(&mut self, batch: (usize, u64), job: &CompletedJob, belief: &Belief) {
        let Some(ln_run) = ln_secs(job.runtime) else {
            return;
        };
        let sums = self.0.entry(batch).or_default();
        sums.n_jobs += 1;
        let weight = 1.0 / sums.n_jobs as f64;
        sums.weight += weight;
        for (at, &level) in BELIEF_LEVELS.iter().enumerate() {
            let bound = ln_secs(belief.distribution.quantile(level)).unwrap_or(0.0);
            let is_kept = ln_run <= bound + ROUNDING;
            sums.kept[at] += u32::from(is_kept);
            sums.kept_weight[at] += if is_kept { weight } else { 0.0 };
            sums.pinball += pinball(bound, ln_run, level.as_f64()) / N_BELIEF_LEVELS as f64;
        }
    }

    fn score(&self) -> Option<BeliefScore> {
        let n_batches = self.0.len();
        let mean = |of: &dyn Fn(&BatchSums) -> f64| {
            let sums = self.0.values();
            let parts = sums.map(|sums| of(sums) / sums.n_jobs as f64);
            parts.sum::<f64>() / n_batches as f64
        };
        let sum = |of: &dyn Fn(&BatchSums) -> f64| self.0.values().map(of).sum::<f64>();
        let weight = sum(&|sums| sums.weight);
        (n_batches > 0).then(|| BeliefScore {
            n_jobs: self.0.values().map(|sums| sums.n_jobs).sum(),
            n_batches,
            coverage: std::array::from_fn(|at| mean(&|sums| f64::from(sums.kept[at]))),
            coverage_when_stated: std::array::from_fn(|at| {
                sum(&|sums| sums.kept_weight[at]) / weight
            }),
            pinball: mean(&|sums| sums.pinball),
        })
    }
}

/// How far above a quantile a run time may be and count as kept, as a logarithm: run times are rounded.
const ROUNDING: f64 = 1e-3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{ClassId, ForecastJob, JobAttributes};
    use tollgate_model::{Instant, Span, UserId};

    /// Batches of 4 jobs, each two hours after the one before; two run at a time.
    fn record(n_batches: i64) -> Vec<(BeliefJob, CompletedJob)> {
        let jobs = (0..n_batches).flat_map(|batch| (0..4).map(move |task| (batch, task)));
        let jobs = jobs.map(|(batch, task)| {
            let job = ForecastJob {
                class: ClassId(1),
                procs: 1,
                request: Some(Span::from_secs(600)),
                context: JobAttributes::default(),
            };
            let submit = Instant::from_secs(batch * 7200);
            let ended = CompletedJob {
                job,
                submit,
                finish: submit + Span::from_secs(100 * (1 + task / 2)),
                runtime: Span::from_secs(100),
            };
            (BeliefJob::new(UserId(1), &job), ended)
        });
        jobs.collect()
    }

    #[test]
    fn jobs_are_counted_by_batches_known_and_by_position() {
        let evaluated = evaluate_beliefs(&record(8), None);
        let all = evaluated.all.unwrap();
        assert_eq!((all.n_jobs, all.n_batches), (32, 8));
        let n_jobs = |known| evaluated.by_batches[&known].n_jobs;
        assert_eq!(n_jobs(KnownBatches::None), 4);
        assert_eq!(n_jobs(KnownBatches::Few), 12);
        assert_eq!(n_jobs(KnownBatches::Many), 8);
        let position = |position| &evaluated.by_position[&position];
        assert_eq!(position(BatchPosition::First).n_jobs, 8);
        assert_eq!(position(BatchPosition::BeforeFirstEnd).n_jobs, 24);
        assert_eq!(position(BatchPosition::StartAfterFirstEnds).n_jobs, 16);
        let [new, known] = [KnownBatches::None, KnownBatches::Many]
            .map(|known| evaluated.by_batches[&known].pinball);
        assert!(known < 0.2 * new, "{known} {new}");
    }

    #[test]
    fn batches_that_stop_after_a_miss_do_not_lower_the_coverage_when_stated() {
        let job = |runtime| CompletedJob {
            runtime: Span::from_secs(runtime),
            ..record(1)[0].1
        };
        let belief = BeliefModel::default().belief(&record(1)[0].0, Instant::ZERO);
        let median = belief.distribution.quantile(BELIEF_LEVELS[0]).as_secs_f64() as i64;
        let mut sums = ScoreSums::default();
        // Of statements that hold one time in two, each batch gets one, and another one after a hit.
        let batches = [&[2][..], &[2], &[0, 2], &[0, 0]];
        for (batch, runs) in batches.into_iter().enumerate() {
            for half in runs {
                sums.add((0, batch as u64), &job(1 + median * half), &belief);
            }
        }
        let score = sums.score().unwrap();
        assert_eq!(score.coverage[0], (0.5 + 1.0) / 4.0);
        assert_eq!(score.coverage_when_stated[0], 0.5);
    }

    #[test]
    fn cold_parts_begin_with_nothing() {
        let evaluated = evaluate_beliefs(&record(8), Some(8));
        assert_eq!(evaluated.by_batches[&KnownBatches::None].n_jobs, 16);
        assert_eq!(evaluated.by_batches[&KnownBatches::One].n_jobs, 16);
    }
}
