//! Learns a forecast state from records.

use tollgate_forecast::{
    BeliefJob, CompletedJob, FeedbackTiming, Forecaster, OnlineForecaster, observe_beliefs,
};
use tollgate_model::Span;

use super::args::ForecastArgs;
use super::error::ForecastError;
use super::parse::ClassKey;
use super::records::{self, ForecastJobs, JobUsageRecord};
use super::state::{ForecastState, ForecastStateError, belief_job, cpu_job, memory_job};
use crate::exit::CliFailure;
use crate::output::messages::{Verbosity, pluralise};
use crate::output::progress::{CountProgress, ProgressIterator};

/// Returns the state after the records, starting from the stored state if there is one.
pub(super) fn load_and_learn(
    args: &ForecastArgs,
    verbosity: Verbosity,
) -> Result<ForecastState, CliFailure> {
    let known = match &args.state {
        Some(file) => ForecastState::load(file)?,
        None => None,
    };
    if args.records.is_empty() && known.is_none() {
        return Err(ForecastError::NoRecords.into());
    }
    let mut state = match known {
        Some(state) => check_keys(state, args)?,
        None => ForecastState::new(&args.class_keys.by),
    };
    if let (Some(file), true) = (&args.state, state.jobs > 0) {
        let jobs = pluralise(state.jobs as usize, "job");
        verbosity.note(format_args!("{}: {jobs} learned before", file.display()));
    }
    let jobs = records::read(&args.records, &mut state.names, state.until, verbosity)?;
    let fresh = !jobs.entries.is_empty();
    learn(&mut state, &jobs);
    if let (Some(file), true) = (&args.state, fresh) {
        state.save(file)?;
    }
    Ok(state)
}

/// Returns the state, or an error if its classes have other keys than requested.
fn check_keys(
    state: ForecastState,
    args: &ForecastArgs,
) -> Result<ForecastState, ForecastStateError> {
    if args.class_keys.by.is_empty() || args.class_keys.by == state.names.by {
        return Ok(state);
    }
    let words = |keys: &[ClassKey]| {
        let words: Vec<String> = keys.iter().map(ClassKey::to_string).collect();
        words.join(",")
    };
    let file = args.state.as_ref();
    Err(ForecastStateError::Keys {
        file: file.map_or_else(String::new, |file| file.display().to_string()),
        found: words(state.names.keys()),
        requested: words(&args.class_keys.by),
    })
}

/// Learns all jobs, in the order in which a forecaster would have received them.
fn learn(state: &mut ForecastState, jobs: &ForecastJobs) {
    let progress = CountProgress::on_terminal(jobs.entries.len() as u64, "jobs");
    let entries = ProgressIterator::new(jobs.entries.iter(), progress.as_ref());
    let mut runtime = online_evaluation(&mut state.runtime);
    let mut cpu_time = online_evaluation(&mut state.cpu_time).of_resource();
    let mut memory = online_evaluation(&mut state.memory).of_resource();
    for entry in entries {
        let record = entry.record;
        submit(&mut runtime, &record);
        state.until = state.until.max(Some(record.finish));
        if let Some(used) = entry.cpu_time {
            submit(&mut cpu_time, &usage_record(entry, cpu_job(entry), used));
        }
        if let Some(used) = entry.memory {
            let used = Span::from_secs_f64(used);
            submit(&mut memory, &usage_record(entry, memory_job(entry), used));
        }
    }
    drop(progress);
    learn_beliefs(state, jobs);
    state.jobs += jobs.entries.len() as u64;
    if !jobs.entries.is_empty() {
        state.has_calendar = jobs.has_calendar;
    }
    state.runtime = runtime.finish(|_| ());
    state.cpu_time = cpu_time.finish(|_| ());
    state.memory = memory.finish(|_| ());
}

/// Teaches the beliefs the jobs in the order of their events, and counts how well they held.
fn learn_beliefs(state: &mut ForecastState, jobs: &ForecastJobs) {
    let records = jobs.entries.iter().map(|entry| entry.record);
    let believed = records.map(|record| (belief_job(&record.job), record));
    let believed: Vec<(BeliefJob, CompletedJob)> = believed.collect();
    let statements = &mut state.statements;
    observe_beliefs(&mut state.beliefs, &believed, |at, belief| {
        statements.count(&believed[at].1, belief);
    });
}

fn online_evaluation(forecaster: &mut Forecaster) -> OnlineForecaster {
    OnlineForecaster::new(std::mem::take(forecaster), FeedbackTiming::Causal)
}

/// Forecasts and queues a job. A job that used none of the resource is not learned.
fn submit(course: &mut OnlineForecaster, record: &CompletedJob) {
    let _ = course.submit(record, |_| ());
}

/// Returns a job with its use of a resource in place of its run time. The value becomes known when
/// the job ends, and promises fall due at the same time.
fn usage_record(
    entry: &JobUsageRecord,
    job: tollgate_forecast::ForecastJob,
    used: Span,
) -> CompletedJob {
    CompletedJob {
        job,
        runtime: used,
        ..entry.record
    }
}
