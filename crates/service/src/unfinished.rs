//! Numbers of unfinished jobs and of their tasks.

use std::iter::Sum;
use std::ops::Add;

use tollgate_model::TaskId;

use crate::command::Submission;
use crate::core::Core;
use crate::jobs::JobTable;

/// Numbers of unfinished jobs and of their tasks. An array counts as one job; a job that is no array has one task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnfinishedCounts {
    /// The number of jobs.
    pub jobs: u64,
    /// The number of tasks of these jobs that are not over.
    pub tasks: u64,
}

impl UnfinishedCounts {
    const fn one_job(tasks: u64) -> Self {
        Self { jobs: 1, tasks }
    }
}

impl Submission {
    /// Returns the counts of the job alone.
    pub fn counts(&self) -> UnfinishedCounts {
        UnfinishedCounts::one_job(self.n_tasks())
    }
}

impl Core {
    /// Returns the numbers of all unfinished jobs and tasks.
    pub fn unfinished(&self) -> UnfinishedCounts {
        self.jobs.unfinished()
    }

    /// Returns the numbers of the users' unfinished jobs and tasks; a user may come up several times.
    pub fn unfinished_of_users(&self) -> impl Iterator<Item = (u32, UnfinishedCounts)> {
        self.jobs.unfinished_of_users()
    }
}

impl JobTable {
    fn unfinished(&self) -> UnfinishedCounts {
        let is_single = |task: &TaskId| !self.arrays.contains_key(&task.job);
        let n_single = self.iter().filter(|(task, _)| is_single(task)).count() as u64;
        let single = UnfinishedCounts {
            jobs: n_single,
            tasks: n_single,
        };
        let others = self.unfinished_arrays_and_deferred();
        single + others.map(|(_, counts)| counts).sum()
    }

    fn unfinished_of_users(&self) -> impl Iterator<Item = (u32, UnfinishedCounts)> {
        let single = self
            .iter()
            .filter(|(task, _)| !self.arrays.contains_key(&task.job));
        let single = single.map(|(_, live)| (live.user, UnfinishedCounts::one_job(1)));
        single.chain(self.unfinished_arrays_and_deferred())
    }

    /// Returns the counts of each unfinished array, and of each job that waits for its admission decision.
    fn unfinished_arrays_and_deferred(&self) -> impl Iterator<Item = (u32, UnfinishedCounts)> {
        let arrays = self.arrays.values().map(|array| {
            let tasks = array.n_pending() + u64::from(array.before_gate);
            (array.submission.user, UnfinishedCounts::one_job(tasks))
        });
        let deferred = self.deferred.values();
        arrays.chain(deferred.map(|deferred| (deferred.user, deferred.counts())))
    }
}

impl Add for UnfinishedCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            jobs: self.jobs.saturating_add(other.jobs),
            tasks: self.tasks.saturating_add(other.tasks),
        }
    }
}

impl Sum for UnfinishedCounts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), Self::add)
    }
}
