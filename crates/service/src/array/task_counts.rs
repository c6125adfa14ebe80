//! Counts of the tasks of an array, by state.

use serde::{Deserialize, Serialize};
use tollgate_model::{Credits, JobEndState};

use crate::command::{Submission, SubmissionOptions};

/// Counts of the tasks of an array.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskCounts {
    /// Waiting tasks.
    pub queued: u64,
    /// Tasks held by their user.
    pub held: u64,
    /// Running tasks.
    pub running: u32,
    /// Tasks that ended by themselves.
    pub finished: u32,
    /// Tasks that reached their time limit.
    pub timed_out: u32,
    /// Tasks that the kernel ended for memory.
    pub out_of_memory: u32,
    /// Tasks that the limit of their output ended.
    pub output_limit: u32,
    /// Cancelled tasks.
    pub cancelled: u32,
    /// Tasks with an unknown end.
    pub lost: u32,
    /// Tasks that were evicted too often.
    pub abandoned: u32,
    /// Rejected tasks.
    pub rejected: u32,
    /// Tasks whose promise was kept.
    pub kept: u32,
    /// Tasks whose promise was broken, also unfinished ones.
    pub broken: u32,
    /// Tasks whose promise became void.
    pub void: u32,
    /// Tasks that ended, and had a deadline that was not promised.
    pub unpromised: u32,
    /// Those of them that succeeded by it.
    pub unpromised_in_time: u32,
    /// The number of started attempts.
    pub attempts: u32,
    /// Maximum total price of the accepted tasks.
    pub price: Credits,
    /// The greatest exit code of the tasks that ran to an end, as of `wait`.
    pub max_exit_code: Option<u8>,
}

impl TaskCounts {
    /// Counts the end of a task, with the exit code of `wait`.
    pub(super) fn count_end(&mut self, state: JobEndState, wait_code: Option<u8>) {
        let count = match state {
            JobEndState::Finished => &mut self.finished,
            JobEndState::TimedOut => &mut self.timed_out,
            JobEndState::OutOfMemory => &mut self.out_of_memory,
            JobEndState::OutputLimit => &mut self.output_limit,
            JobEndState::Cancelled => &mut self.cancelled,
            JobEndState::Lost => &mut self.lost,
            JobEndState::Abandoned => &mut self.abandoned,
        };
        *count += 1;
        if state == JobEndState::Finished || state.exceeded().is_some() {
            self.max_exit_code = self.max_exit_code.max(wait_code);
        }
    }

    /// Returns the state of an array whose tasks are over: that of the least expected end.
    pub(super) const fn end_state(&self) -> JobEndState {
        if self.lost > 0 {
            JobEndState::Lost
        } else if self.abandoned > 0 {
            JobEndState::Abandoned
        } else if self.cancelled > 0 {
            JobEndState::Cancelled
        } else if self.out_of_memory > 0 {
            JobEndState::OutOfMemory
        } else if self.timed_out > 0 {
            JobEndState::TimedOut
        } else if self.output_limit > 0 {
            JobEndState::OutputLimit
        } else {
            JobEndState::Finished
        }
    }

    /// Returns the counts of an array without any materialised task: all tasks are cancelled or,
    /// with `rejected`, rejected.
    pub(crate) fn never_started(submission: &Submission, rejected: bool) -> Option<Self> {
        submission.options.array.as_ref()?;
        let tasks = submission.n_tasks() as u32;
        let cancelled = submission.options.early.cancelled.len() as u32;
        Some(Self {
            rejected: if rejected { tasks } else { 0 },
            cancelled: cancelled + if rejected { 0 } else { tasks },
            ..Self::default()
        })
    }

    /// Returns the counts of an array that waits for the decision about it.
    pub(crate) fn deferred(submission: &Submission) -> Self {
        let SubmissionOptions { held, early, .. } = &submission.options;
        let tasks = submission.n_tasks();
        let n_held = if *held { tasks } else { early.held.len() };
        Self {
            queued: tasks - n_held,
            held: n_held,
            cancelled: early.cancelled.len() as u32,
            ..Self::default()
        }
    }
}
