//! The accuracy of past forecasts: every job of the records, forecast from the jobs before it.
//!
//! | module | contents |
//! |---|---|
//! | [`beliefs`] | the evaluation of beliefs over the records as one and over parts of them |
//! | [`series`] | the largest series, job by job |
//! | `keys` | the figures as keys of JSON and as rows of tables |

pub mod beliefs;
mod keys;
pub mod series;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::thread;

use tollgate_forecast::{
    BeliefModel, ClassId, CompletedJob, EvaluationConfig, FeedbackTiming, ForecastEvaluation,
    try_evaluate,
};
use tollgate_model::Instant;

use self::beliefs::BeliefEvaluations;
use self::series::SeriesRecorder;
use crate::calendar::month;
use crate::names::ForecastNames;
use crate::records::ForecastJobs;
use crate::state::new_forecaster;

/// The length of a period in days for records without dates. Records with dates have months as
/// periods.
const PERIOD_DAYS: i64 = 30;
/// The maximum distance between a level and the coverage of a class at this level.
pub const TOLERANCE: f64 = 0.04;

/// The settings of an evaluation.
#[derive(Clone, Copy, Debug)]
pub struct SiteEvaluationSettings {
    /// The minimum number of jobs of a class to be a series. Without such a class every class is one.
    pub min_jobs: NonZeroUsize,
    /// Number of jobs of the parts over which beliefs are also evaluated from nothing.
    pub n_cold: Option<NonZeroUsize>,
}

impl SiteEvaluationSettings {
    /// The default minimum number of jobs of a series.
    pub const MIN_JOBS: NonZeroUsize = NonZeroUsize::new(160).unwrap();
}

/// The evaluations of both settings over the same records.
pub struct EvaluationPair {
    /// As if each job ended before the next one is submitted.
    pub one_step: ForecastEvaluation,
    /// With only the jobs that had ended by then.
    pub causal: ForecastEvaluation,
    /// The evaluation of beliefs alone.
    pub beliefs: BeliefEvaluations,
    /// The largest series of the causal evaluation, job by job.
    pub series: SeriesRecorder,
    /// The names behind classes.
    pub names: ForecastNames,
    /// The jobs.
    pub jobs: ForecastJobs,
    /// The minimum number of jobs for a class to be a series.
    pub min_jobs: usize,
}

impl EvaluationPair {
    /// Evaluates forecasts of jobs whose names were numbered in `names`. `on_job` is called several times for each job,
    /// by several threads. Its break ends the evaluation.
    pub fn of<B: Send>(
        jobs: ForecastJobs,
        names: ForecastNames,
        settings: SiteEvaluationSettings,
        on_job: impl Fn() -> ControlFlow<B> + Sync,
    ) -> ControlFlow<B, Self> {
        let records: Vec<CompletedJob> = jobs.entries.iter().map(|entry| entry.record).collect();
        let records = records.as_slice();
        let min_jobs = min_jobs_per_series(records, settings.min_jobs.get());
        let n_cold = settings.n_cold.map(NonZeroUsize::get);
        let config = |timing| EvaluationConfig { timing, min_jobs };
        let has_calendar = jobs.has_calendar;
        let period = move |at: Instant| match has_calendar {
            true => month(at),
            false => at.as_micros().div_euclid(PERIOD_DAYS * 86_400_000_000),
        };
        let mut series = SeriesRecorder::of(records, min_jobs);
        let (one_step, causal, beliefs) = thread::scope(|scope| {
            let beliefs = scope.spawn(|| BeliefEvaluations::of(records, n_cold, &on_job));
            let one_step = scope.spawn(|| {
                try_evaluate(
                    new_forecaster(&names.by),
                    BeliefModel::default(),
                    records,
                    config(FeedbackTiming::OneStep),
                    period,
                    &mut (),
                    &on_job,
                )
            });
            let causal = try_evaluate(
                new_forecaster(&names.by),
                BeliefModel::default(),
                records,
                config(FeedbackTiming::Causal),
                period,
                &mut series,
                &on_job,
            );
            (one_step.join(), causal, beliefs.join())
        });
        ControlFlow::Continue(Self {
            one_step: one_step.unwrap_or_else(|panic| resume_unwind(panic))?,
            causal: causal?,
            beliefs: beliefs.unwrap_or_else(|panic| resume_unwind(panic))?,
            series,
            names,
            jobs,
            min_jobs,
        })
    }

    /// Returns both settings with their keys.
    pub fn settings(&self) -> [(&'static str, &ForecastEvaluation); 2] {
        [("one_step", &self.one_step), ("causal", &self.causal)]
    }
}

/// Returns the minimum number of jobs of a series: the requested number, or 1 if no class has as
/// many jobs.
fn min_jobs_per_series(records: &[CompletedJob], requested: usize) -> usize {
    let mut jobs_of = BTreeMap::<ClassId, usize>::new();
    for record in records {
        *jobs_of.entry(record.job.class).or_default() += 1;
    }
    match jobs_of.values().any(|jobs| *jobs >= requested) {
        true => requested,
        false => 1,
    }
}
