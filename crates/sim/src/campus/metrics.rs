//! What came of a year.

use tollgate_model::{Energy, Span};
use tollgate_policy::retry::{EvictionFilter, TaskHistory};

use super::tasks::{CampusTask, TaskFate};

/// The measures of a year under one retry and one select policy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CampusMetrics {
    /// Tasks that would end on a dedicated computer.
    pub good: TaskGroupMetrics,
    /// Tasks that would not.
    pub bad: TaskGroupMetrics,
    /// Mean of finish - submission - run time over the good tasks that completed; none if none did.
    pub overhead: Option<Span>,
    /// What was drawn in the year, less what the same year would have drawn without tasks and
    /// dedicated computers.
    pub marginal: Energy,
    /// What was drawn at active power while tasks held computers.
    pub attributed: Energy,
    /// The part of `marginal` that dedicated computers drew.
    pub dedicated: Energy,
    /// Allocations of computers to tasks, dedicated ones included.
    pub allocations: u64,
    /// Tasks that came to dedicated computers.
    pub dedicated_tasks: u32,
}

/// What became of tasks of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TaskGroupMetrics {
    /// How many there are.
    pub tasks: u32,
    /// How many ended by themselves.
    pub completed: u32,
    /// How many a policy ended.
    pub killed: u32,
    /// How many their users took away.
    pub removed: u32,
    /// How many waited or ran at the end of the year.
    pub unfinished: u32,
    /// Evictions of all of them.
    pub evictions: u64,
    /// The most evictions of one.
    pub max_evictions: u32,
    /// How long attempts that were evicted held computers.
    pub wasted: Span,
}

impl TaskGroupMetrics {
    pub(super) fn add(&mut self, fate: TaskFate, seen: &TaskHistory) {
        let evictions = seen.evictions(EvictionFilter::All);
        self.tasks += 1;
        match fate {
            TaskFate::Unfinished => self.unfinished += 1,
            TaskFate::Completed => self.completed += 1,
            TaskFate::Abandoned => self.killed += 1,
            TaskFate::Removed => self.removed += 1,
        }
        self.evictions += u64::from(evictions);
        self.max_evictions = self.max_evictions.max(evictions);
        self.wasted += seen.accrued(EvictionFilter::All);
    }

    /// Mean evictions of a task; 0 if there is none.
    pub fn mean_evictions(&self) -> f64 {
        self.evictions as f64 / f64::from(self.tasks.max(1))
    }
}

/// Sums up both kinds.
pub(super) fn groups(
    tasks: &[CampusTask],
    fates: &[TaskFate],
    seen: &[TaskHistory],
) -> (TaskGroupMetrics, TaskGroupMetrics) {
    let (mut good, mut bad) = (TaskGroupMetrics::default(), TaskGroupMetrics::default());
    for ((task, &fate), seen) in tasks.iter().zip(fates).zip(seen) {
        let group = if task.is_good() { &mut good } else { &mut bad };
        group.add(fate, seen);
    }
    (good, bad)
}
