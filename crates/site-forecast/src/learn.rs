//! Learning of a state from records.

use std::ops::ControlFlow;

use tollgate_forecast::{
    BeliefJob, CompletedJob, FeedbackTiming, ForecastJob, Forecaster, OnlineForecaster,
    observe_beliefs,
};
use tollgate_model::Span;

use crate::records::{ForecastJobs, JobUsageRecord};
use crate::state::{ForecastState, belief_job, cpu_job, memory_job};

/// The part of a job that is learned next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LearningStep {
    /// Its run time and use of resources, for forecasts.
    Use,
    /// Its submission, start and end, for beliefs. All jobs follow those of [`LearningStep::Use`].
    Events,
}

impl ForecastState {
    /// Learns all jobs, in the order in which a forecaster would have received them. `on_step` is called for both steps of
    /// each job. Its break ends the learning, and the state then knows nothing.
    pub fn learn<B>(
        &mut self,
        jobs: &ForecastJobs,
        on_step: impl Fn(LearningStep) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let mut runtime = online_evaluation(&mut self.runtime);
        let mut cpu_time = online_evaluation(&mut self.cpu_time).of_resource();
        let mut memory = online_evaluation(&mut self.memory).of_resource();
        for entry in &jobs.entries {
            on_step(LearningStep::Use)?;
            let record = entry.record;
            submit(&mut runtime, &record);
            self.until = self.until.max(Some(record.finish));
            if let Some(used) = entry.cpu_time {
                submit(&mut cpu_time, &usage_record(entry, cpu_job(entry), used));
            }
            if let Some(used) = entry.memory {
                let used = Span::from_secs_f64(used);
                submit(&mut memory, &usage_record(entry, memory_job(entry), used));
            }
        }
        self.learn_beliefs(jobs, || on_step(LearningStep::Events))?;
        self.jobs += jobs.entries.len() as u64;
        if !jobs.entries.is_empty() {
            self.has_calendar = jobs.has_calendar;
        }
        self.runtime = runtime.finish(|_| ());
        self.cpu_time = cpu_time.finish(|_| ());
        self.memory = memory.finish(|_| ());
        ControlFlow::Continue(())
    }

    /// Teaches the beliefs the jobs in the order of their events, and counts how well they held.
    fn learn_beliefs<B>(
        &mut self,
        jobs: &ForecastJobs,
        on_job: impl Fn() -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let records = jobs.entries.iter().map(|entry| entry.record);
        let believed = records.map(|record| (belief_job(&record.job), record));
        let believed: Vec<(BeliefJob, CompletedJob)> = believed.collect();
        let statements = &mut self.statements;
        observe_beliefs(&mut self.beliefs, &believed, |at, belief| {
            statements.count(&believed[at].1, belief);
            on_job()
        })
    }
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
fn usage_record(entry: &JobUsageRecord, job: ForecastJob, used: Span) -> CompletedJob {
    CompletedJob {
        job,
        runtime: used,
        ..entry.record
    }
}
