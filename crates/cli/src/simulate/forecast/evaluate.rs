//! `tollgate forecast evaluate`: the accuracy of past forecasts.

mod beliefs;
mod files;
mod print;
mod series;

use std::num::NonZeroUsize;
use std::thread;

use tollgate_forecast::{
    BeliefModel, ClassId, CompletedJob, EvaluationConfig, FeedbackTiming, ForecastEvaluation,
    Forecaster, evaluate,
};
use tollgate_model::Instant;

use self::beliefs::BeliefEvaluations;
use self::series::SeriesRecorder;
use super::args::ForecastEvaluateArgs;
use super::error::ForecastError;
use super::name_ids::ForecastNames;
use super::records::{self, ForecastJobs};
use super::verbosity;
use crate::args::OutputFormat;
use crate::exit::CliFailure;
use crate::output::calendar::month;

/// The evaluations of both settings over the same records.
pub(super) struct EvaluationPair {
    pub(super) one_step: ForecastEvaluation,
    pub(super) causal: ForecastEvaluation,
    pub(super) beliefs: BeliefEvaluations,
    pub(super) series: SeriesRecorder,
    pub(super) names: ForecastNames,
    pub(super) jobs: ForecastJobs,
    /// The minimum number of jobs for a class to be a series.
    pub(super) min_jobs: usize,
}

/// The length of a period in days for records without dates. Records with dates have months as
/// periods.
pub(super) const PERIOD_DAYS: i64 = 30;

pub(super) fn run(args: &ForecastEvaluateArgs) -> Result<(), CliFailure> {
    if args.cold.is_some() && args.format != OutputFormat::Json {
        return Err(ForecastError::ColdWithoutJson.into());
    }
    let notes = verbosity(args.quiet);
    let mut naming = ForecastNames::new(&args.class_keys.by);
    let jobs = records::read(&args.records, &mut naming, None, notes)?;
    let records: Vec<CompletedJob> = jobs.entries.iter().map(|entry| entry.record).collect();
    let fewest = min_jobs_per_series(&records, args.series.get());
    if fewest < args.series.get() {
        notes.note(format_args!(
            "no class has {} jobs: errors are counted over all of them",
            args.series
        ));
    }
    let evaluated = evaluate_both(&records, args, fewest, naming, jobs);
    print::write_answer(&evaluated, args.format)?;
    if let Some(folder) = &args.out {
        files::write(&evaluated, folder)?;
        notes.note(format_args!(
            "the tables and the report are in {}",
            folder.display()
        ));
    }
    Ok(())
}

/// Returns the minimum number of jobs of a series: the requested number, or 1 if no class has as
/// many jobs.
fn min_jobs_per_series(records: &[CompletedJob], given: usize) -> usize {
    let mut jobs_of = std::collections::BTreeMap::<ClassId, usize>::new();
    for record in records {
        *jobs_of.entry(record.job.class).or_default() += 1;
    }
    if jobs_of.values().any(|jobs| *jobs >= given) {
        given
    } else {
        1
    }
}

fn evaluate_both(
    records: &[CompletedJob],
    args: &ForecastEvaluateArgs,
    fewest: usize,
    naming: ForecastNames,
    jobs: ForecastJobs,
) -> EvaluationPair {
    let forecaster = || {
        if args.class_keys.by.is_empty() {
            Forecaster::default()
        } else {
            Forecaster::default().without_splitting()
        }
    };
    let trial = |setting| EvaluationConfig {
        timing: setting,
        min_jobs: fewest,
    };
    let dated = jobs.has_calendar;
    let period = move |at: Instant| {
        if dated {
            month(at)
        } else {
            at.as_micros().div_euclid(PERIOD_DAYS * 86_400_000_000)
        }
    };
    let mut paths = SeriesRecorder::of(records, fewest);
    let (one_step, causal, beliefs) = thread::scope(|scope| {
        let n_cold = args.cold.map(NonZeroUsize::get);
        let beliefs = scope.spawn(move || BeliefEvaluations::of(records, n_cold));
        let one_step = scope.spawn(|| {
            evaluate(
                forecaster(),
                BeliefModel::default(),
                records,
                trial(FeedbackTiming::OneStep),
                period,
                &mut (),
            )
        });
        let causal = evaluate(
            forecaster(),
            BeliefModel::default(),
            records,
            trial(FeedbackTiming::Causal),
            period,
            &mut paths,
        );
        (one_step.join(), causal, beliefs.join())
    });
    EvaluationPair {
        one_step: one_step.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        causal,
        beliefs: beliefs.unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        series: paths,
        names: naming,
        jobs,
        min_jobs: fewest,
    }
}
