//! The run of some jobs in a future.

use tollgate_model::outcome::RunInterval;
use tollgate_model::{HostSlowdown, Instant, WorkProgress};

/// The run of some jobs in a future, with the progress from which it is judged whether a single one keeps its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlayedRun {
    /// The first start and the last end. [`Instant::MAX`] stands for never.
    pub(super) interval: RunInterval,
    /// The progress of the job that starts first.
    pub(super) judged: WorkProgress,
}

impl PlayedRun {
    /// Returns the run of no job, which each run widens.
    pub(super) const fn none(now: Instant) -> Self {
        Self {
            interval: RunInterval {
                start: Instant::MAX,
                finish: now,
            },
            judged: WorkProgress::from_start(Instant::MAX, HostSlowdown::NONE),
        }
    }

    /// Includes the run of a job that starts in the future, on hosts with this slowdown.
    pub(super) fn include(&mut self, start: Instant, finish: Instant, slowdown: HostSlowdown) {
        self.include_running(start, finish, WorkProgress::from_start(start, slowdown));
    }

    /// Includes the run of a job that runs.
    pub(super) fn include_running(
        &mut self,
        start: Instant,
        finish: Instant,
        progress: WorkProgress,
    ) {
        if start < self.interval.start {
            self.interval.start = start;
            self.judged = progress;
        }
        self.interval.finish = self.interval.finish.max(finish);
    }

    /// Includes the run of a job that never starts.
    pub(super) fn include_none(&mut self) {
        self.interval.finish = Instant::MAX;
    }
}
