//! Tasks that a rule for evictions has ended, and the finished ones that rules compare tasks with.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use tollgate_grid_policies::retry::{FinishedTasks, RetryPolicy};
use tollgate_model::{LimitOwner, Span};

/// Number of finished tasks that a rule has to compare with before it acts.
pub const MIN_FINISHED_TASKS: usize = 200;

/// Maximum number of finished tasks that are remembered for rules that compare with them.
const MAX_FINISHED_TASKS: usize = 2_000;

/// Why a task is not tried again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Abandonment {
    /// The owner of the rule.
    pub by: LimitOwner,
    /// The rule.
    pub rule: RetryPolicy,
    /// The evictions of the task.
    pub evictions: u32,
    /// The total time for which its evicted attempts held computers.
    pub held: Span,
}

/// Evictions of the tasks that finished, with the time that all attempts of each held computers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct FinishedHistory(VecDeque<(u32, Span)>);

impl FinishedHistory {
    pub(crate) fn add(&mut self, evictions: u32, held: Span) {
        if self.0.len() == MAX_FINISHED_TASKS {
            self.0.pop_front();
        }
        self.0.push_back((evictions, held));
    }

    /// Returns the policy with what it learns from these tasks; as it is while there are too few.
    pub(crate) fn teach(&self, policy: &RetryPolicy) -> RetryPolicy {
        match policy.needs_finished_tasks() && self.0.len() >= MIN_FINISHED_TASKS {
            true => policy.learn(&FinishedTasks::of(self.0.iter().copied())),
            false => policy.clone(),
        }
    }
}
