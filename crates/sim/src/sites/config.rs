//! The sites, the kind of their pilots, and the tasks.

use tollgate_model::{Instant, Span};
use tollgate_provisioning::PilotShape;
use tollgate_trace::TraceJob;

use super::tasks::PilotTask;

/// The configuration of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct SitesConfig {
    /// The batch systems; at least one.
    pub queues: Vec<QueueConfig>,
    /// Whether the batch systems show users their own jobs alone.
    pub hides_jobs: bool,
    /// The number of cores and the time limit of a pilot.
    pub shape: PilotShape,
    /// The maximum number of pilots that wait or run at a site.
    pub at_most: u32,
    /// The number of pilots of each site at first, where their number is fixed.
    pub fixed: u32,
    /// The tasks, in order of submission.
    pub tasks: Vec<PilotTask>,
    /// The time between two rounds of the keeper of pilots; positive.
    pub every: Span,
    /// The instant at which the run ends, whatever is unfinished.
    pub stop: Instant,
}

/// A batch system and the jobs of its other users.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueConfig {
    /// The number of its processors; at least 1.
    pub procs: u32,
    /// The jobs, in order of submission.
    pub others: Vec<OtherJob>,
}

/// A job of another user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherJob {
    /// The instant of its submission.
    pub submit: Instant,
    /// The number of its processors; at least 1.
    pub procs: u32,
    /// The time for which it runs; positive.
    pub runtime: Span,
    /// The time limit that its user asks for. The batch system plans with it.
    pub limit: Span,
}

impl QueueConfig {
    /// Returns the batch system of a record on `procs` processors, with its jobs moved so that the first one is submitted at
    /// [`Instant::ZERO`]. Jobs that are wider than the machine or never ran are left out; one that ran longer than its limit has
    /// its run time as limit.
    pub fn of_record(procs: u32, jobs: &[TraceJob]) -> Self {
        let first = jobs.iter().map(|job| job.submit).min();
        let first = first.unwrap_or(Instant::ZERO);
        let fits = |job: &&TraceJob| (1..=procs).contains(&job.procs) && job.runtime > Span::ZERO;
        let others = jobs.iter().filter(fits).map(|job| OtherJob {
            submit: Instant::ZERO + job.submit.since(first),
            procs: job.procs,
            runtime: job.runtime,
            limit: job.estimate.max(job.runtime),
        });
        let mut others: Vec<OtherJob> = others.collect();
        others.sort_by_key(|job| job.submit);
        Self { procs, others }
    }
}
