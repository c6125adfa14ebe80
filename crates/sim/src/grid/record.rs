//! Jobs with their run times, drawn or from a trace.

use tollgate_model::{Instant, Span};
use tollgate_trace::name_column::NameColumn;
use tollgate_trace::{Trace, TraceMetadata};
use tollgate_workload::rng::{StreamFamily, StreamPurpose};

/// A job that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridJob {
    /// The user; None if the record does not name one.
    pub user: Option<u32>,
    /// The group of the user, or the project.
    pub group: Option<u32>,
    /// The executable.
    pub executable: Option<u32>,
    /// The queue of the submission.
    pub queue: Option<u32>,
    /// The account that is charged.
    pub account: Option<u32>,
    /// Processors. At least 1.
    pub procs: u32,
    /// The run time that the user requested.
    pub request: Option<Span>,
    /// The submission.
    pub submit: Instant,
    /// The end.
    pub finish: Instant,
    /// The run time. Positive.
    pub runtime: Span,
    /// The part of the job in what was planted.
    pub truth: PlantedTruth,
}

/// The part of a job in the planted mode changes and anomalies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlantedTruth {
    /// The job is as usual.
    Usual,
    /// The job comes after the mode change of its user.
    Changed,
    /// The job is odd, and the jobs after it are not.
    Anomaly,
}

/// The jobs of a grid in order of submission.
#[derive(Clone, Debug, PartialEq)]
pub struct GridRecord {
    /// The jobs, in order of submission.
    pub jobs: Vec<GridJob>,
    /// Whether mode changes or anomalies were planted.
    pub is_planted: bool,
}

impl GridRecord {
    /// Creates the record of those jobs of a trace that ran and whose users a sample contains. A user
    /// is in the sample of a seed with probability `share`. Only the last `last` jobs of the
    /// trace count. A job whose wait is unknown counts as started at its submission.
    pub fn of_trace(trace: &Trace, seed: u64, share: f64, last: usize) -> Self {
        let nameless = TraceMetadata::default();
        let names = trace.metadata.as_ref().unwrap_or(&nameless);
        let first = trace.jobs.len().saturating_sub(last);
        let sample = StreamFamily::new(seed, StreamPurpose::SampledUsers);
        let rows = trace.jobs.iter().enumerate().skip(first);
        let jobs = rows.filter(|(_, job)| job.runtime > Span::ZERO);
        let jobs = jobs.map(|(row, job)| GridJob {
            user: number(&names.user, row),
            group: number(&names.group, row),
            executable: number(&names.executable, row),
            queue: number(&names.queue, row),
            account: number(&names.account, row),
            procs: job.procs,
            request: (trace.has_estimate(row) && job.estimate > Span::ZERO).then_some(job.estimate),
            submit: job.submit,
            finish: job.submit + trace.usage(row).wait.unwrap_or(Span::ZERO) + job.runtime,
            runtime: job.runtime,
            truth: PlantedTruth::Usual,
        });
        let is_sampled = |job: &GridJob| {
            let user = job.user.map_or(0, |user| u64::from(user) + 1);
            sample.stream(user).chance(share)
        };
        let mut jobs: Vec<GridJob> = jobs.filter(is_sampled).collect();
        jobs.sort_by_key(|job| job.submit);
        Self {
            jobs,
            is_planted: false,
        }
    }
}

fn number(names: &NameColumn, row: usize) -> Option<u32> {
    names.id(row).map(|name| name.index() as u32)
}
