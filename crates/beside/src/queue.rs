//! The queue as it was seen, without statements.

use tollgate_model::Instant;

use crate::answer::RequestedJob;
use crate::follower::QueueFollower;
use crate::job::SeenJobKey;

/// A job of the queue that is not over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenQueueJob {
    /// The name of the job.
    pub key: SeenJobKey,
    /// The requested job.
    pub job: RequestedJob,
    /// The instant of the submission.
    pub submitted: Instant,
    /// The instant from which the job has waited. None for a held job.
    pub queued: Option<Instant>,
    /// The start of a job that runs.
    pub started: Option<Instant>,
    /// Whether the job is held, or depends on another one.
    pub is_held: bool,
    /// The reason why the job waits, in the words of the batch system. Empty without one.
    pub reason: String,
}

/// Numbers of jobs of the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounts {
    /// Number of jobs that wait and may start.
    pub waiting: usize,
    /// Number of jobs that are held, or depend on another one.
    pub held: usize,
    /// Number of jobs that run.
    pub running: usize,
}

impl QueueFollower {
    /// Returns a job that waits or runs. None if no such job is known.
    pub fn queued_job(&self, key: &SeenJobKey) -> Option<OpenQueueJob> {
        let job = self.jobs.get(key)?;
        Some(OpenQueueJob {
            key: key.clone(),
            job: self.requested(&job.facts),
            submitted: job.submitted,
            queued: job.queued,
            started: job.started,
            is_held: job.is_held,
            reason: job.reason.clone(),
        })
    }

    /// Counts the jobs that are not over.
    pub fn counts(&self) -> QueueCounts {
        let mut counts = QueueCounts::default();
        for job in self.jobs.values() {
            let count = match (job.started, job.is_held) {
                (Some(_), _) => &mut counts.running,
                (None, true) => &mut counts.held,
                (None, false) => &mut counts.waiting,
            };
            *count += 1;
        }
        counts
    }

    /// Returns the number of processors in use.
    pub fn procs_in_use(&self) -> u64 {
        self.forecaster.procs_in_use()
    }

    /// Returns the largest number of processors in use in the last 60 days, at least 1.
    pub fn capacity(&self) -> u64 {
        self.forecaster.capacity()
    }
}
