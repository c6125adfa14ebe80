//! The table of unfinished jobs.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tollgate_model::{AttemptId, BookEntry, FIRST_TASK_NUMBER, Instant, JobId, Span, TaskId};

use crate::active_task::ActiveTask;
use crate::array::ActiveArray;
use crate::at_risk::RiskWatch;
use crate::command::Submission;
use crate::followers::Follower;

/// All unfinished jobs, by key and by slot.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct JobTable {
    active: BTreeMap<TaskId, ActiveTask>,
    /// The task in each slot of the gate.
    pub(crate) slots: BTreeMap<JobId, TaskId>,
    /// Reserved quotes, by expiry.
    reservations: BTreeSet<(Instant, u64)>,
    /// Followers, by the attempt before each.
    followers: BTreeMap<AttemptId, TaskId>,
    /// Followers that are not withdrawn yet, by the time at which they are.
    follower_ends: BTreeSet<(Instant, TaskId)>,
    /// Tasks that are held until the next launch, by its time.
    pub(crate) launch_retries: BTreeSet<(Instant, TaskId)>,
    /// Attempts whose program the engine has not started, by the time at which their runs are counted anew.
    pub(crate) engine_waits: BTreeSet<(Instant, TaskId)>,
    pub(crate) risks: RiskWatch,
    /// Admitted tasks with a deadline that has not passed, by the last instant within it.
    deadlines: BTreeSet<(Instant, TaskId)>,
    /// The last number given to a job.
    last_number: u64,
    /// Arrays with unfinished tasks.
    pub(crate) arrays: BTreeMap<u64, ActiveArray>,
    /// Jobs that were not submitted to the gate yet.
    pub(crate) deferred: BTreeMap<u64, Submission>,
    /// The instants for which deferred jobs wait.
    pub(crate) begins: BTreeSet<(Instant, u64)>,
    /// The dependents of each job: pairs of the earlier and the later job.
    pub(crate) dependents: BTreeSet<(u64, u64)>,
    /// The array of the group of tasks in each slot of the gate that has one.
    pub(crate) group_slots: BTreeMap<JobId, u64>,
    /// Groups with a promise of a deadline that has not passed, by the last instant within it.
    pub(crate) group_deadlines: BTreeSet<(Instant, JobId)>,
    /// Within a step: tasks that may have changed since beliefs took note of them.
    #[serde(skip)]
    touched: BTreeSet<TaskId>,
}

impl JobTable {
    /// Returns a new job number.
    pub(crate) fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    /// Returns the number of job numbers that are left, below those of tasks.
    pub(crate) fn n_numbers(&self) -> u64 {
        (FIRST_TASK_NUMBER - 1).saturating_sub(self.last_number)
    }

    /// Gives later jobs numbers above `last`.
    pub(crate) fn number_after(&mut self, last: u64) {
        self.last_number = last;
    }

    /// Returns the submission of a task, which is that of its array if it is in one.
    pub(crate) fn submission_of(&self, task: TaskId) -> Option<&Submission> {
        let of_array = self.arrays.get(&task.job).map(|array| &array.submission);
        of_array.or_else(|| self.active.get(&task)?.submission.as_deref())
    }

    /// Returns the tasks that may have changed since the last call.
    pub(crate) fn take_touched(&mut self) -> BTreeSet<TaskId> {
        std::mem::take(&mut self.touched)
    }

    /// Notes that a task may have changed.
    pub(crate) fn touch(&mut self, task: TaskId) {
        self.touched.insert(task);
    }

    pub(crate) fn insert(&mut self, task: TaskId, slot: JobId, live: ActiveTask) {
        self.touched.insert(task);
        self.slots.insert(slot, task);
        self.reservations
            .extend(live.reserved_until.map(|lapses| (lapses, task.job)));
        self.active.insert(task, ActiveTask { slot, ..live });
        if let Some(array) = self.arrays.get_mut(&task.job) {
            array.before_gate += 1;
        }
    }

    /// Turns a reserved quote into a job. None if it is not a reserved quote.
    pub(crate) fn claim(&mut self, job: u64) -> Option<&mut ActiveTask> {
        self.touched.insert(job.into());
        let live = self.active.get_mut(&job.into())?;
        let lapses = live.reserved_until.take()?;
        self.reservations.remove(&(lapses, job));
        let last = live.last_instant();
        self.deadlines.extend(last.map(|last| (last, job.into())));
        Some(live)
    }

    /// Watches the deadline of an admitted task, if it has one that is promised and was not broken before.
    pub(crate) fn watch_deadline(&mut self, task: TaskId) {
        let is_open = |live: &&ActiveTask| !live.unpromised && live.entry.is_none();
        let promised = self.get(task).filter(is_open);
        let last = promised.and_then(ActiveTask::last_instant);
        self.deadlines.extend(last.map(|last| (last, task)));
    }

    /// Records the entry in the books of a task that goes on: it gets no other one.
    pub(crate) fn keep_entry(&mut self, task: TaskId, entry: BookEntry) {
        if let Some(live) = self.get_mut(task) {
            live.entry = Some(entry);
            let last = live.last_instant();
            if let Some(last) = last {
                self.deadlines.remove(&(last, task));
            }
        }
    }

    /// Returns the tasks with a promise of a deadline that has not passed.
    pub(crate) fn watched_tasks(&self) -> impl Iterator<Item = TaskId> {
        self.deadlines.iter().map(|&(_, task)| task)
    }

    /// Returns the first instant past a watched deadline.
    pub(crate) fn next_deadline(&self) -> Option<Instant> {
        let task = self.deadlines.first().map(|(last, _)| *last);
        let group = self.group_deadlines.first().map(|(last, _)| *last);
        let last = task.into_iter().chain(group).min();
        last.map(|last| last + Span::TICK)
    }

    /// Removes a watched deadline that has passed, and returns its task.
    pub(crate) fn take_overdue(&mut self, now: Instant) -> Option<TaskId> {
        self.deadlines.first().filter(|(last, _)| *last < now)?;
        self.deadlines.pop_first().map(|(_, task)| task)
    }

    /// Removes a watched deadline of a group that has passed, and returns its slot.
    pub(crate) fn take_overdue_group(&mut self, now: Instant) -> Option<JobId> {
        self.group_deadlines
            .first()
            .filter(|(last, _)| *last < now)?;
        self.group_deadlines.pop_first().map(|(_, slot)| slot)
    }

    /// Records that a task follows an attempt.
    pub(crate) fn set_follower(&mut self, task: TaskId, follower: Follower) {
        self.followers.insert(follower.after, task);
        self.follower_ends.insert((follower.until, task));
        if let Some(live) = self.active.get_mut(&task) {
            live.follows = Some(follower);
        }
        if let Some(array) = self.arrays.get_mut(&task.job) {
            array.n_followers += 1;
        }
    }

    /// Records that a follower begins, because the attempt before it has ended.
    pub(crate) fn begin_follower(&mut self, task: TaskId) -> Option<Follower> {
        let follower = self.active.get_mut(&task)?.follows.take()?;
        self.followers.remove(&follower.after);
        self.follower_ends.remove(&(follower.until, task));
        if let Some(array) = self.arrays.get_mut(&task.job) {
            array.n_followers -= 1;
        }
        Some(follower)
    }

    /// Records that a task follows no attempt any more and does not begin. The task that follows it now
    /// follows the attempt before it.
    pub(crate) fn take_from_chain(&mut self, task: TaskId) -> Option<Follower> {
        let follower = self.begin_follower(task)?;
        let own = self.active.get(&task)?.next_attempt_key(task);
        if let Some(next) = self.followers.remove(&own) {
            self.followers.insert(follower.after, next);
            let next = self.active.get_mut(&next);
            if let Some(next) = next.and_then(|live| live.follows.as_mut()) {
                next.after = follower.after;
            }
        }
        Some(follower)
    }

    /// Returns the task that follows an attempt.
    pub(crate) fn follower_of(&self, attempt: AttemptId) -> Option<TaskId> {
        self.followers.get(&attempt).copied()
    }

    /// Returns the attempts that follow `first`, in order.
    pub(crate) fn followers_of(&self, first: AttemptId) -> Vec<AttemptId> {
        let next = |after: &AttemptId| {
            let task = self.follower_of(*after)?;
            Some(self.active.get(&task)?.next_attempt_key(task))
        };
        std::iter::successors(next(&first), next).collect()
    }

    /// Returns all followers.
    pub(crate) fn followers(&self) -> Vec<TaskId> {
        self.followers.values().copied().collect()
    }

    /// Returns the time at which a follower is withdrawn next.
    pub(crate) fn next_follower_end(&self) -> Option<Instant> {
        self.follower_ends.first().map(|(until, _)| *until)
    }

    /// Returns a follower that is to be withdrawn, once.
    pub(crate) fn take_late_follower(&mut self, now: Instant) -> Option<TaskId> {
        self.follower_ends
            .first()
            .filter(|(until, _)| *until <= now)?;
        self.follower_ends.pop_first().map(|(_, task)| task)
    }

    /// Returns the quote that expires next, with its expiry.
    pub(crate) fn next_expiry(&self) -> Option<(Instant, u64)> {
        self.reservations.first().copied()
    }

    /// Takes the deadline off a job, or a group, that waits without a promise: it runs as if it had none.
    pub(crate) fn drop_deadline(&mut self, slot: JobId) {
        let live = match self.slots.contains_key(&slot) {
            true => self.by_slot_mut(slot).map(|(_, live)| live),
            false => self.common_mut(slot),
        };
        if let Some(live) = live {
            live.withdrawn_due = live.due();
            live.spec.sla.deadline = None;
            live.unpromised = true;
        }
    }

    /// Returns the number of a user's reserved quotes.
    pub(crate) fn n_reservations(&self, user: u32) -> usize {
        let held = self.reservations.iter();
        let held = held.filter_map(|&(_, job)| self.active.get(&job.into()));
        held.filter(|live| live.user == user).count()
    }

    pub(crate) fn remove(&mut self, slot: JobId) -> Option<(TaskId, ActiveTask)> {
        let task = self.slots.remove(&slot)?;
        self.touched.insert(task);
        let live = self.active.remove(&task)?;
        if let Some(lapses) = live.reserved_until {
            self.reservations.remove(&(lapses, task.job));
        }
        if let Some(last) = live.last_instant() {
            self.deadlines.remove(&(last, task));
        }
        if let Some(wait) = live.engine_wait {
            self.engine_waits.remove(&wait.key(task));
        }
        if let Some(at) = live.launch_retry_at {
            self.launch_retries.remove(&(at, task));
        }
        if let Some(array) = self.arrays.get_mut(&task.job) {
            array.remove_from_gate(&live);
        }
        Some((task, live))
    }

    /// Returns what is known of a task in the gate, which may be in a group.
    pub(crate) fn get(&self, task: impl Into<TaskId>) -> Option<&ActiveTask> {
        let task = task.into();
        self.active.get(&task).or_else(|| {
            let group = self.arrays.get(&task.job)?.group_of(task.task)?;
            Some(&group.common)
        })
    }

    /// Returns a task with a slot of its own.
    pub(crate) fn get_mut(&mut self, task: TaskId) -> Option<&mut ActiveTask> {
        self.touched.insert(task);
        self.active.get_mut(&task)
    }

    pub(crate) fn by_slot(&self, slot: JobId) -> Option<(TaskId, &ActiveTask)> {
        let task = *self.slots.get(&slot)?;
        Some((task, self.active.get(&task)?))
    }

    pub(crate) fn by_slot_mut(&mut self, slot: JobId) -> Option<(TaskId, &mut ActiveTask)> {
        let task = *self.slots.get(&slot)?;
        self.touched.insert(task);
        Some((task, self.active.get_mut(&task)?))
    }

    /// Returns the task in a slot, with its array, if it has one.
    pub(crate) fn with_array(
        &mut self,
        slot: JobId,
    ) -> Option<(TaskId, &mut ActiveTask, Option<&mut ActiveArray>)> {
        let task = *self.slots.get(&slot)?;
        self.touched.insert(task);
        let live = self.active.get_mut(&task)?;
        Some((task, live, self.arrays.get_mut(&task.job)))
    }

    /// Returns every task with a slot of its own in the gate.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (TaskId, &ActiveTask)> {
        self.active.iter().map(|(&task, live)| (task, live))
    }

    /// Returns the tasks of a job that have a slot of their own in the gate.
    pub(crate) fn tasks_of(&self, job: u64) -> impl Iterator<Item = (TaskId, &ActiveTask)> {
        let all = TaskId { job, task: 0 }..=TaskId {
            job,
            task: u32::MAX,
        };
        self.active.range(all).map(|(&task, live)| (task, live))
    }

    /// Returns the owner of an unfinished job.
    pub(crate) fn user_of(&self, job: u64) -> Option<u32> {
        let waits = || Some(self.deferred.get(&job)?.user);
        let array = || Some(self.arrays.get(&job)?.submission.user);
        let live = self.get(job).map(|live| live.user);
        live.or_else(array).or_else(waits)
    }

    /// Returns the numbers of all unfinished jobs, with their owners.
    pub(crate) fn numbers(&self) -> BTreeMap<u64, u32> {
        let live = self.active.iter().map(|(task, live)| (task.job, live.user));
        let arrays = self.arrays.iter();
        let arrays = arrays.map(|(&job, array)| (job, array.submission.user));
        let waiting = self.deferred.iter();
        let waiting = waiting.map(|(&job, waiting)| (job, waiting.user));
        live.chain(arrays).chain(waiting).collect()
    }
}
