//! Tasks of an array that wait in one slot of the gate.
//!
//! A policy that decides on the tasks of an array together keeps them in one slot. While they wait they differ in their
//! numbers alone, so the service keeps ranges of numbers, and everything else once. A task leaves its group as soon as it
//! starts, is held, or is cancelled.

use serde::{Deserialize, Serialize};
use tollgate_gate::{GateInput, InputAck, JobEnding, Notice};
use tollgate_model::{BookEntry, JobId, Reason, TaskId};

use super::ActiveArray;
use crate::active_task::ActiveTask;
use crate::core::Core;
use crate::jobs::JobTable;
use crate::output::{RejectReason, RowChange, StepOutput, TaskDropCause};
use crate::task_ranges::TaskRanges;

/// Tasks of an array that wait in one slot of the gate. At least two.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TaskGroup {
    /// The numbers of the tasks.
    pub tasks: TaskRanges,
    /// All else that is known of each of them. Its slot is that of the group.
    pub common: ActiveTask,
}

impl TaskGroup {
    /// Returns the number of tasks.
    pub fn n_tasks(&self) -> u32 {
        self.tasks.len() as u32
    }

    /// Returns the number of tasks before one of them.
    pub fn n_before(&self, task: u32) -> u32 {
        let up_to = TaskRanges::new(0, task).intersection(&self.tasks);
        up_to.len().saturating_sub(1) as u32
    }

    /// Returns the task that leaves the group first. Beliefs know the group by it.
    fn first_of(&self, job: u64) -> TaskId {
        let task = self.tasks.first().unwrap_or_default();
        TaskId { job, task }
    }
}

impl ActiveArray {
    /// Returns the groups of tasks that wait in one slot of the gate each.
    pub fn groups(&self) -> &[TaskGroup] {
        &self.groups
    }

    /// Returns the first group that its user does not hold.
    pub(crate) fn waiting_group(&self) -> Option<&TaskGroup> {
        self.groups.iter().find(|group| !group.common.held)
    }

    /// Returns whether tasks wait in a group that their user does not hold.
    pub(crate) fn has_waiting_group(&self) -> bool {
        self.waiting_group().is_some()
    }

    /// Returns the group of a task, if it is in one.
    pub fn group_of(&self, task: u32) -> Option<&TaskGroup> {
        let mut groups = self.groups.iter();
        groups.find(|group| group.tasks.contains(task))
    }
}

impl JobTable {
    /// Adds tasks that wait in one slot.
    pub(crate) fn insert_group(
        &mut self,
        job: u64,
        tasks: TaskRanges,
        slot: JobId,
        common: ActiveTask,
    ) {
        if let (Some(task), 1) = (tasks.first(), tasks.len()) {
            return self.insert(TaskId { job, task }, slot, common);
        }
        let Some(array) = self.arrays.get_mut(&job) else {
            return;
        };
        let mut common = common;
        common.slot = slot;
        let group = TaskGroup { tasks, common };
        array.before_gate += group.n_tasks();
        let first = group.first_of(job);
        array.groups.push(group);
        self.group_slots.insert(slot, job);
        self.touch(first);
    }

    /// Returns the group in a slot, with the number of its array.
    pub(crate) fn group(&self, slot: JobId) -> Option<(u64, &TaskGroup)> {
        let job = *self.group_slots.get(&slot)?;
        let mut groups = self.arrays.get(&job)?.groups.iter();
        Some((job, groups.find(|group| group.common.slot == slot)?))
    }

    /// Returns the array of the group in a slot, and the group's place there.
    fn group_place(&mut self, slot: JobId) -> Option<(u64, &mut ActiveArray, usize)> {
        let job = *self.group_slots.get(&slot)?;
        let array = self.arrays.get_mut(&job)?;
        let mut groups = array.groups.iter();
        let place = groups.position(|group| group.common.slot == slot)?;
        Some((job, array, place))
    }

    /// Removes a group.
    pub(crate) fn remove_group(&mut self, slot: JobId) -> Option<(u64, TaskGroup)> {
        let (job, array, place) = self.group_place(slot)?;
        let group = array.groups.remove(place);
        array.before_gate -= group.n_tasks();
        array.changed = true;
        if group.common.held {
            array.counts.held -= u64::from(group.n_tasks());
        }
        self.group_slots.remove(&slot);
        self.touch(group.first_of(job));
        if let Some(last) = group.common.last_instant() {
            self.group_deadlines.remove(&(last, slot));
        }
        Some((job, group))
    }

    /// Takes tasks out of a group, which the gate has taken out of its slot. A single task that is left is no group.
    fn take_from_group(&mut self, slot: JobId, tasks: &TaskRanges) -> Option<(u64, ActiveTask)> {
        let is_watched = self.is_group_watched(slot);
        let (job, group) = self.remove_group(slot)?;
        let TaskGroup {
            tasks: mut left,
            common,
        } = group;
        left.remove(tasks);
        let n_left = left.len();
        if let Some(array) = self.arrays.get_mut(&job).filter(|_| common.held) {
            array.counts.held += n_left;
        }
        self.insert_group(job, left, slot, common.clone());
        if is_watched {
            self.watch_slot(slot);
        }
        Some((job, common))
    }

    /// Gives the first task of a group a slot of its own.
    pub(crate) fn split_first(&mut self, group: JobId, slot: JobId) {
        let is_watched = self.is_group_watched(group);
        let first = self.group(group).and_then(|(_, group)| group.tasks.first());
        let Some(task) = first else {
            return;
        };
        let one = TaskRanges::new(task, task);
        if let Some((job, common)) = self.take_from_group(group, &one) {
            self.insert_group(job, one, slot, common);
            if is_watched {
                self.watch_slot(slot);
            }
        }
    }

    fn is_group_watched(&self, slot: JobId) -> bool {
        let last = self.group(slot);
        let last = last.and_then(|(_, group)| group.common.last_instant());
        last.is_some_and(|last| self.group_deadlines.contains(&(last, slot)))
    }

    /// Watches the deadline of the single task or the group in a slot.
    fn watch_slot(&mut self, slot: JobId) {
        match self.slots.get(&slot).copied() {
            Some(task) => self.watch_deadline(task),
            None => self.watch_group_deadline(slot),
        }
    }

    /// Watches the deadline of an admitted group, if it is promised and was not broken before.
    fn watch_group_deadline(&mut self, slot: JobId) {
        let is_open = |live: &ActiveTask| !live.unpromised && live.entry.is_none();
        let group = self.group(slot).map(|(_, group)| &group.common);
        let last = group.filter(|live| is_open(live));
        let last = last.and_then(ActiveTask::last_instant);
        self.group_deadlines.extend(last.map(|last| (last, slot)));
    }

    /// Returns the groups whose promised deadline has not passed.
    pub(crate) fn watched_groups(&self) -> impl Iterator<Item = &TaskGroup> {
        let slots = self.group_deadlines.iter();
        slots.filter_map(|&(_, slot)| self.group(slot).map(|(_, group)| group))
    }

    /// Returns the first task of each of these groups.
    pub(crate) fn first_of_watched_groups(&self) -> impl Iterator<Item = TaskId> {
        let slots = self.group_deadlines.iter();
        slots.filter_map(|&(_, slot)| {
            let (job, group) = self.group(slot)?;
            Some(group.first_of(job))
        })
    }

    /// Returns what is common to the tasks of a group.
    pub(crate) fn common_mut(&mut self, slot: JobId) -> Option<&mut ActiveTask> {
        let (_, array, place) = self.group_place(slot)?;
        Some(&mut array.groups[place].common)
    }

    /// Marks a group, or the single task in a slot, as one that runs without a promise because its deadline could not
    /// be promised yet.
    pub(crate) fn mark_unpromised_in(&mut self, slot: JobId) {
        let single = self.slots.contains_key(&slot);
        let live = match single {
            true => self.by_slot_mut(slot).map(|(_, live)| live),
            false => self.common_mut(slot),
        };
        if let Some(live) = live {
            live.unpromised = true;
        }
    }

    /// Returns all groups.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &TaskGroup> {
        self.arrays.values().flat_map(|array| &array.groups)
    }

    /// Returns the slots of the groups of an array that have some of these tasks, with those.
    fn groups_with(&self, job: u64, tasks: Option<&TaskRanges>) -> Vec<(JobId, TaskRanges)> {
        let groups = self.arrays.get(&job).into_iter();
        let groups = groups.flat_map(|array| &array.groups);
        let matching = groups.map(|group| {
            let matching = tasks.map_or_else(
                || group.tasks.clone(),
                |tasks| group.tasks.intersection(tasks),
            );
            (group.common.slot, matching)
        });
        matching
            .filter(|(_, matching)| !matching.is_empty())
            .collect()
    }
}

impl Core {
    /// Records a notice of the gate about a group.
    pub(crate) fn on_group_notice(&mut self, slot: JobId, notice: Notice, step: &mut StepOutput) {
        let planned_run = self.gate.planned_run(self.now, slot);
        let Some((_, array, place)) = self.jobs.group_place(slot) else {
            return;
        };
        let group = &mut array.groups[place];
        let n_tasks = group.n_tasks();
        let live = &mut group.common;
        match notice {
            Notice::Accepted { price } | Notice::Promised { price } => {
                let is_first = matches!(notice, Notice::Accepted { .. });
                let price = self.rules.for_user(live.spec.procs, price);
                live.undecided = false;
                live.unpromised &= live.spec.sla.deadline.is_none();
                live.planned_run = planned_run;
                if is_first {
                    array.add_price(price.times(n_tasks));
                }
                self.jobs.watch_group_deadline(slot);
            }
            Notice::Unpromised { price } => {
                let price = self.rules.for_user(live.spec.procs, price);
                array.add_price(price.times(n_tasks));
            }
            Notice::Queued => live.undecided = true,
            Notice::Rejected(reason) => self.drop_group(slot, reason, step),
        }
    }

    /// Drops a group that the policy rejects.
    fn drop_group(&mut self, slot: JobId, reason: Reason, step: &mut StepOutput) {
        let Some((job, group)) = self.jobs.remove_group(slot) else {
            return;
        };
        let n_tasks = group.n_tasks();
        let is_late = reason == Reason::LATE;
        if is_late {
            self.enter_together(job, &group, BookEntry::UnpromisedDropped, step);
        }
        if let Some(array) = self.jobs.arrays.get_mut(&job) {
            let counts = &mut array.counts;
            *(match is_late {
                true => &mut counts.cancelled,
                false => &mut counts.rejected,
            }) += n_tasks;
        }
        step.changes.push(RowChange::TasksDropped {
            job,
            tasks: group.tasks,
            cause: match is_late {
                true => TaskDropCause::Late,
                false => TaskDropCause::Rejected(vec![RejectReason::Policy(reason)]),
            },
        });
        self.finish_array(job, step);
    }

    /// Handles the end of a group in the gate: its user has cancelled it.
    pub(crate) fn finish_group(&mut self, slot: JobId, ending: JobEnding, step: &mut StepOutput) {
        debug_assert_eq!(ending, JobEnding::Cancelled, "no task of a group has run");
        if let Some((job, group)) = self.jobs.remove_group(slot) {
            self.count_cancelled(job, group.tasks, step);
            self.finish_array(job, step);
        }
    }

    fn count_cancelled(&mut self, job: u64, tasks: TaskRanges, step: &mut StepOutput) {
        if let Some(array) = self.jobs.arrays.get_mut(&job) {
            array.changed = true;
            array.counts.cancelled += tasks.len() as u32;
        }
        step.changes.push(RowChange::TasksDropped {
            job,
            tasks,
            cause: TaskDropCause::Cancelled,
        });
    }

    /// Cancels those of these tasks that are in groups; all without a list. Returns whether there were any.
    pub(super) fn cancel_in_groups(
        &mut self,
        job: u64,
        tasks: Option<&TaskRanges>,
        step: &mut StepOutput,
    ) -> bool {
        let groups = self.jobs.groups_with(job, tasks);
        let any = !groups.is_empty();
        for (slot, to_cancel) in groups {
            let n_left = self
                .jobs
                .group(slot)
                .map_or(0, |(_, group)| group.tasks.len() - to_cancel.len());
            if n_left == 0 {
                // The gate answers with the end of the group.
                let _ = self.apply_input(GateInput::Cancel { job: slot }, step);
                continue;
            }
            let by = to_cancel.len() as u32;
            let shrunk = self.apply_input(GateInput::Shrink { job: slot, by }, step);
            if shrunk.is_ok() {
                self.jobs.take_from_group(slot, &to_cancel);
                self.count_cancelled(job, to_cancel, step);
            }
        }
        any
    }

    /// Holds or releases those of these tasks that are in groups; all without a list. Returns whether there were any.
    pub(super) fn hold_in_groups(
        &mut self,
        job: u64,
        tasks: Option<&TaskRanges>,
        hold: bool,
        step: &mut StepOutput,
    ) -> bool {
        let mut any = false;
        for (slot, to_hold) in self.jobs.groups_with(job, tasks) {
            let slot = self.part_group(slot, &to_hold);
            let is_other = |live: &ActiveTask| live.held != hold;
            let Some(slot) = slot else {
                continue;
            };
            // A task that was parted alone is no group any more.
            let is_group = self.jobs.group(slot).is_some();
            if !is_group {
                let single = self.jobs.by_slot(slot).map(|(task, _)| task);
                any |= single.is_some_and(|task| self.hold_task(task, hold, step).is_ok());
                continue;
            }
            let input = match hold {
                true => GateInput::Hold { job: slot },
                false => GateInput::Release { job: slot },
            };
            let changes = self
                .jobs
                .group(slot)
                .is_some_and(|(_, group)| is_other(&group.common));
            if !changes || self.apply_input(input, step).is_err() {
                continue;
            }
            any = true;
            if let Some((_, array, place)) = self.jobs.group_place(slot) {
                let group = &mut array.groups[place];
                group.common.held = hold;
                let n_tasks = u64::from(group.n_tasks());
                array.changed = true;
                match hold {
                    true => array.counts.held += n_tasks,
                    false => array.counts.held -= n_tasks,
                }
            }
        }
        any
    }

    /// Gives some tasks of a group a slot of their own, and returns it: that of the group if these are all.
    pub(crate) fn part_group(&mut self, slot: JobId, tasks: &TaskRanges) -> Option<JobId> {
        let (_, group) = self.jobs.group(slot)?;
        if group.tasks.len() == tasks.len() {
            return Some(slot);
        }
        let input = GateInput::Split {
            job: slot,
            first: tasks.len() as u32,
        };
        let Ok(InputAck::Job(parted)) = self.gate.handle(self.now, input, &mut self.effects) else {
            return None;
        };
        self.look_ahead.invalidate(slot);
        self.look_ahead.invalidate(parted);
        let is_watched = self.jobs.is_group_watched(slot);
        let (job, common) = self.jobs.take_from_group(slot, tasks)?;
        if let Some(array) = self.jobs.arrays.get_mut(&job).filter(|_| common.held) {
            array.counts.held += tasks.len();
        }
        self.jobs.insert_group(job, tasks.clone(), parted, common);
        if is_watched {
            self.jobs.watch_slot(parted);
        }
        Some(parted)
    }

    /// Breaks the promises of groups whose deadlines have passed.
    pub(crate) fn judge_overdue_groups(&mut self, step: &mut StepOutput) {
        while let Some(slot) = self.jobs.take_overdue_group(self.now) {
            let Some((job, group)) = self.jobs.group(slot) else {
                continue;
            };
            let group = group.clone();
            let entry = BookEntry::Broken(group.common.cause_of_delay());
            self.enter_together(job, &group, entry, step);
            if let Some(common) = self.jobs.common_mut(slot) {
                common.entry = Some(entry);
            }
        }
    }

    /// Records an entry in the books for each task of a group.
    fn enter_together(
        &mut self,
        job: u64,
        group: &TaskGroup,
        entry: BookEntry,
        step: &mut StepOutput,
    ) {
        if let Some(array) = self.jobs.arrays.get_mut(&job) {
            array.count_entries(entry, group.n_tasks());
        }
        step.changes.push(RowChange::EnteredTogether {
            job,
            tasks: group.tasks.clone(),
            entry,
            wait: group.common.wait_span(),
        });
    }

    /// Gives each task of every group a slot of its own, for a policy that knows no groups.
    pub(crate) fn dissolve_groups(&mut self) {
        let slots: Vec<JobId> = self.jobs.group_slots.keys().copied().collect();
        for slot in slots {
            while self.jobs.group(slot).is_some() {
                let input = GateInput::Split {
                    job: slot,
                    first: 1,
                };
                let Ok(InputAck::Job(parted)) =
                    self.gate.handle(self.now, input, &mut self.effects)
                else {
                    break;
                };
                self.jobs.split_first(slot, parted);
            }
        }
    }
}
