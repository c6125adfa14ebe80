//! Arrays: jobs of many tasks that differ only in their index.
//!
//! An array is one row and a range of indices; a task is materialised when it is submitted to the
//! gate. If a promise is possible, all tasks with a deadline are submitted together with the array,
//! and each is promised or rejected. All other tasks follow as earlier ones start. So a large array
//! does not block the queue, and the queue's length is bounded by the number of nodes.
//!
//! | module | contents |
//! |---|---|
//! | `admission` | tasks that are submitted to the gate, with the array or as earlier ones start |
//! | `groups` | tasks that wait in one slot of the gate |
//! | `outlook` | when the last task of an array ends |
//! | [`task_counts`] | counts of tasks, by state |
//! | `alter` | changes to all tasks that wait |
//! | `changes` | ends of tasks and of arrays, and tasks that are cancelled, held or released |
//! | `turns` | tasks in the gate that wait until fewer tasks of their array run |

mod admission;
mod alter;
mod changes;
mod groups;
mod outlook;
pub(crate) mod task_counts;
mod turns;

use serde::{Deserialize, Serialize};
use tollgate_model::{BookEntry, Credits, Instant};

pub use groups::TaskGroup;
pub use outlook::{ArrayOutlook, RunningTask};
pub use task_counts::TaskCounts;

use crate::active_task::ActiveTask;
use crate::command::{ArraySpec, Submission};
use crate::promise::LatePromises;
use crate::task_pace::TaskPace;
use crate::task_ranges::TaskRanges;

/// Maximum number of unpromised tasks of an array in the gate, per node.
const MAX_TASKS_PER_NODE: u32 = 8;

/// An array with unfinished tasks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ActiveArray {
    /// The submission of one of its tasks that are not materialised.
    pub(crate) submission: Submission,
    /// The deadline of these tasks, if they run as if they had none because it could not be promised.
    withdrawn_due: Option<Instant>,
    /// Tasks that are not materialised.
    pub(crate) pending: TaskRanges,
    /// Tasks that are not materialised and held by their user.
    pub(crate) held_pending: TaskRanges,
    pub(crate) max_at_once: Option<u32>,
    /// Tasks that wait in one slot of the gate.
    pub(crate) groups: Vec<TaskGroup>,
    /// The number of tasks in the gate.
    pub(crate) before_gate: u32,
    /// The number of those that follow others.
    pub(crate) n_followers: u32,
    /// The number of those that wait for their turn.
    n_awaiting_turn: u32,
    /// How long its tasks run.
    pub(crate) pace: TaskPace,
    /// The counts of its tasks, except for those that are not materialised or only queued.
    counts: TaskCounts,
    /// Whether the counts have changed since they were last stored.
    changed: bool,
    pub(crate) late_promises: LatePromises,
}

impl ActiveArray {
    pub(crate) fn new(submission: &Submission, plan: &ArraySpec, now: Instant) -> Self {
        let mut submission = submission.clone();
        // The tasks are in the queue now.
        submission.options.array = None;
        let early = std::mem::take(&mut submission.options.early);
        submission.options.submitted.get_or_insert(now);
        Self {
            submission,
            withdrawn_due: None,
            pending: plan.tasks.clone(),
            held_pending: TaskRanges::default(),
            max_at_once: plan.max_at_once,
            groups: Vec::new(),
            before_gate: 0,
            n_followers: 0,
            n_awaiting_turn: 0,
            pace: TaskPace::default(),
            counts: TaskCounts {
                cancelled: early.cancelled.len() as u32,
                ..TaskCounts::default()
            },
            changed: true,
            late_promises: LatePromises::default(),
        }
    }

    /// Takes on the changed submission of its tasks that are not materialised.
    pub(crate) fn take_on(&mut self, submission: &Submission, plan: &ArraySpec) {
        self.submission = submission.clone();
        self.submission.options.array = None;
        self.withdrawn_due = None;
        self.max_at_once = plan.max_at_once;
        self.changed = true;
    }

    /// Returns the number of tasks that are not materialised.
    pub fn n_pending(&self) -> u64 {
        self.pending.len() + self.held_pending.len()
    }

    /// Returns the number of unmaterialised tasks: the waiting ones, and those held by their user.
    pub fn n_pending_and_held(&self) -> (u64, u64) {
        (self.pending.len(), self.held_pending.len())
    }

    /// Returns whether a task is not materialised.
    pub fn is_pending(&self, task: u32) -> bool {
        self.pending.contains(task) || self.held_pending.contains(task)
    }

    /// Returns the number of tasks that are materialised before another one that is not.
    pub fn n_pending_before(&self, task: u32) -> u64 {
        let before = TaskRanges::new(0, task).intersection(&self.pending);
        before.len() - u64::from(self.pending.contains(task))
    }

    /// Returns the counts of its tasks.
    pub fn counts(&self) -> TaskCounts {
        let waits = u64::from(self.before_gate - self.counts.running);
        TaskCounts {
            queued: self.pending.len() + waits - self.n_held_at_gate(),
            held: self.held_pending.len() + self.n_held_at_gate(),
            ..self.counts.clone()
        }
    }

    /// Returns the number of held tasks in the gate.
    fn n_held_at_gate(&self) -> u64 {
        self.counts.held
    }

    pub(crate) fn count_hold(&mut self, held: bool) {
        self.changed = true;
        if held {
            self.counts.held += 1;
        } else {
            self.counts.held -= 1;
        }
    }

    pub(crate) fn add_price(&mut self, price: Credits) {
        self.changed = true;
        self.counts.price += price;
    }

    /// Counts the entries of `n` tasks in the books.
    pub(crate) fn count_entries(&mut self, entry: BookEntry, n: u32) {
        self.changed = true;
        match entry {
            BookEntry::Kept => self.counts.kept += n,
            BookEntry::Broken(_) => self.counts.broken += n,
            BookEntry::Void => self.counts.void += n,
            BookEntry::UnpromisedInTime => {
                self.counts.unpromised += n;
                self.counts.unpromised_in_time += n;
            }
            BookEntry::UnpromisedLate
            | BookEntry::UnpromisedDropped
            | BookEntry::UnpromisedVoid => self.counts.unpromised += n,
            // Those without a deadline are in no promise, and rejected ones are counted as such.
            BookEntry::NoDeadline | BookEntry::Rejected | BookEntry::NoDeadlineRejected => {}
        }
    }

    pub(crate) fn count_start(&mut self) {
        self.changed = true;
        self.counts.running += 1;
        self.counts.attempts += 1;
    }

    /// Counts an attempt that was over before its start was known.
    pub(crate) fn count_unstarted(&mut self) {
        self.changed = true;
        self.counts.attempts += 1;
    }

    pub(crate) fn count_stop(&mut self) {
        self.changed = true;
        self.counts.running -= 1;
    }

    pub(crate) fn remove_from_gate(&mut self, live: &ActiveTask) {
        self.changed = true;
        self.before_gate -= 1;
        self.counts.running -= u32::from(live.has_nodes());
        self.counts.held -= u64::from(live.held);
        self.n_awaiting_turn -= u32::from(live.awaits_turn);
    }

    fn is_over(&self) -> bool {
        self.before_gate == 0 && self.n_pending() == 0
    }

    /// Returns the number of tasks that may run at once, if as many run.
    pub fn reached_limit(&self) -> Option<u32> {
        self.max_at_once
            .filter(|&limit| self.counts.running >= limit)
    }

    /// Returns whether another unpromised task may be submitted to the gate.
    fn can_add_task(&self, nodes: u32) -> bool {
        let active = self.n_active();
        let most = self.max_at_once().min(nodes.max(1) * MAX_TASKS_PER_NODE);
        active < most && active - self.counts.running <= nodes
    }

    /// Returns whether all tasks ended with success.
    fn succeeded(&self) -> bool {
        let tally = &self.counts;
        tally.cancelled + tally.lost + tally.rejected == 0 && tally.max_exit_code.unwrap_or(0) == 0
    }
}
