//! The metrics of a year.

use tollgate_grid_policies::retry::{EvictionFilter, TaskHistory};
use tollgate_model::{Energy, Span};

use super::tasks::{CampusTask, TaskOutcome};

/// The metrics of a year under one retry and one select policy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CampusMetrics {
    /// Tasks that would end on a dedicated computer.
    pub good: TaskGroupMetrics,
    /// Tasks that would never end.
    pub bad: TaskGroupMetrics,
    /// Mean of finish - submission - run time over the completed good tasks; None if no good task
    /// completed.
    pub overhead: Option<Span>,
    /// Energy drawn in the year, less the energy of the same year without tasks and dedicated
    /// computers.
    pub marginal: Energy,
    /// Energy drawn at active power while tasks held computers.
    pub attributed: Energy,
    /// The part of `marginal` that dedicated computers drew.
    pub dedicated: Energy,
    /// Allocations of computers to tasks, dedicated ones included.
    pub allocations: u64,
    /// Number of tasks sent to dedicated computers.
    pub dedicated_tasks: u32,
}

/// The metrics of tasks of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TaskGroupMetrics {
    /// Number of tasks.
    pub tasks: u32,
    /// Number of tasks that ended by themselves.
    pub completed: u32,
    /// Number of tasks that a policy ended.
    pub killed: u32,
    /// Number of tasks that their users cancelled.
    pub removed: u32,
    /// Number of tasks that waited or ran at the end of the year.
    pub unfinished: u32,
    /// Number of evictions of all tasks.
    pub evictions: u64,
    /// Maximum number of evictions of one task.
    pub max_evictions: u32,
    /// Total time that evicted attempts held computers.
    pub wasted: Span,
}

impl TaskGroupMetrics {
    pub(super) fn add(&mut self, outcome: TaskOutcome, seen: &TaskHistory) {
        let evictions = seen.evictions(EvictionFilter::All);
        self.tasks += 1;
        match outcome {
            TaskOutcome::Unfinished => self.unfinished += 1,
            TaskOutcome::Completed => self.completed += 1,
            TaskOutcome::Abandoned => self.killed += 1,
            TaskOutcome::Removed => self.removed += 1,
        }
        self.evictions += u64::from(evictions);
        self.max_evictions = self.max_evictions.max(evictions);
        self.wasted += seen.accrued(EvictionFilter::All);
    }

    /// Returns the mean number of evictions per task; 0 without tasks.
    pub fn mean_evictions(&self) -> f64 {
        self.evictions as f64 / f64::from(self.tasks.max(1))
    }
}

/// Computes the metrics of both kinds.
pub(super) fn groups(
    tasks: &[CampusTask],
    outcomes: &[TaskOutcome],
    seen: &[TaskHistory],
) -> (TaskGroupMetrics, TaskGroupMetrics) {
    let (mut good, mut bad) = (TaskGroupMetrics::default(), TaskGroupMetrics::default());
    for ((task, &outcome), seen) in tasks.iter().zip(outcomes).zip(seen) {
        let group = if task.is_good() { &mut good } else { &mut bad };
        group.add(outcome, seen);
    }
    (good, bad)
}
