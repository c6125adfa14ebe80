//! Queries on the state, and the check of its invariants.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_model::{AttemptId, TaskId};
use tollgate_policy::JobPhase;

use crate::active_task::ActiveTask;
use crate::array::ActiveArray;
use crate::command::Submission;
use crate::core::Core;
use crate::output::EngineAction;
use crate::task_ranges::TaskRanges;

impl Core {
    /// Returns a task in the gate. The job's number is enough for a single job.
    pub fn job(&self, task: impl Into<TaskId>) -> Option<&ActiveTask> {
        self.jobs.get(task)
    }

    /// Returns the number of jobs of the task's class that have failed by themselves.
    pub fn n_failures(&self, live: &ActiveTask) -> u64 {
        self.classes.n_failures(live.class)
    }

    /// Returns every task with a slot of its own in the gate, by key.
    pub fn tasks(&self) -> impl Iterator<Item = (TaskId, &ActiveTask)> {
        self.jobs.iter()
    }

    /// Returns the tasks of a job that have a slot of their own in the gate.
    pub fn tasks_of(&self, job: u64) -> impl Iterator<Item = (TaskId, &ActiveTask)> {
        self.jobs.tasks_of(job)
    }

    /// Returns an unfinished array.
    pub fn array(&self, job: u64) -> Option<&ActiveArray> {
        self.jobs.arrays.get(&job)
    }

    /// Returns every unfinished job, by number, with its owner.
    pub fn jobs(&self) -> BTreeMap<u64, u32> {
        self.jobs.numbers()
    }

    /// Returns the owner of an unfinished job.
    pub fn user_of(&self, job: u64) -> Option<u32> {
        self.jobs.user_of(job)
    }

    /// Returns how many more jobs can get a number.
    pub fn n_job_numbers(&self) -> u64 {
        self.jobs.n_numbers()
    }

    /// Returns the submission of a job that waits for its admission decision, without the predecessors
    /// that have finished.
    pub fn deferred_job(&self, job: u64) -> Option<&Submission> {
        self.jobs.deferred.get(&job)
    }

    /// Returns the number of tasks in the gate that are held by their user.
    pub fn n_held(&self) -> usize {
        let groups = self.jobs.groups().filter(|group| group.common.held);
        let in_groups = groups.map(|group| group.tasks.len() as usize);
        let tasks = self.jobs.iter().filter(|(_, live)| live.held);
        tasks.count() + in_groups.sum::<usize>()
    }

    /// Returns the number of such jobs, and the number of those held by their user.
    pub fn n_waiting(&self) -> (usize, usize) {
        let waiting = self.jobs.deferred.values();
        let held = waiting.filter(|waiting| waiting.options.held).count();
        (self.jobs.deferred.len(), held)
    }

    /// Returns every unfinished array.
    pub fn arrays(&self) -> impl Iterator<Item = (u64, &ActiveArray)> {
        self.jobs.arrays.iter().map(|(&job, array)| (job, array))
    }

    /// Returns the start actions of all running attempts and of those that follow them, with their nodes: an
    /// engine that lacks one of them has to start it again.
    pub fn running_actions(&self) -> Vec<EngineAction> {
        let running = self.jobs.iter().filter(|(_, live)| live.is_running());
        running
            .map(|(task, live)| self.start_action(live.attempt_key(task), live.slot))
            .chain(self.follower_actions())
            .collect()
    }

    /// Returns the attempts of a job whose programs run, as far as the engine has reported; of an array those of the
    /// chosen tasks, or of all.
    pub fn running_attempts(&self, job: u64, tasks: Option<&TaskRanges>) -> Vec<AttemptId> {
        let is_chosen = |task: u32| tasks.is_none_or(|tasks| tasks.contains(task));
        let running = self.tasks_of(job).filter(|(task, live)| {
            live.is_running() && live.engine_wait.is_none() && is_chosen(task.task)
        });
        running.map(|(task, live)| live.attempt_key(task)).collect()
    }

    /// Checks the invariants.
    ///
    /// # Errors
    /// The first violated invariant.
    pub fn check_invariants(&self) -> Result<(), tollgate_gate::InvariantViolation> {
        self.gate.check(self.now)?;
        let view = self.gate.view(self.now);
        let known = self.jobs.iter().count() + self.jobs.groups().count();
        let there = view.jobs().count();
        if known != there {
            return Err(tollgate_gate::InvariantViolation(format!(
                "the gate has {there} jobs, the service {known}"
            )));
        }
        for (task, live) in self.jobs.iter() {
            let job = view.job(live.slot);
            if (job.phase == JobPhase::Held) != live.is_held_in_gate() {
                return Err(tollgate_gate::InvariantViolation(format!(
                    "job {}, task {} is {:?}: {live:?}",
                    task.job, task.task, job.phase
                )));
            }
            if (job.phase == JobPhase::Running) != live.has_nodes() {
                return Err(tollgate_gate::InvariantViolation(format!(
                    "job {}, task {} is {:?}, and the service says that it has nodes: {}",
                    task.job,
                    task.task,
                    job.phase,
                    live.has_nodes()
                )));
            }
        }
        let waiting = self.jobs.deferred.iter();
        let begins = waiting.filter_map(|(&job, waiting)| Some((waiting.options.begin?, job)));
        if !begins.collect::<BTreeSet<_>>().eq(&self.jobs.begins) {
            return Err(tollgate_gate::InvariantViolation(format!(
                "other jobs than those that begin later are to be released: {:?}",
                self.jobs.begins
            )));
        }
        self.check_arrays()?;
        self.check_followers()?;
        self.shadow
            .as_ref()
            .map_or(Ok(()), |shadow| shadow.check_invariants())
    }

    /// Checks the counts of the arrays.
    fn check_arrays(&self) -> Result<(), tollgate_gate::InvariantViolation> {
        for (job, array) in self.arrays() {
            let in_groups = |is_counted: fn(&ActiveTask) -> bool| -> usize {
                let groups = array.groups().iter();
                let groups = groups.filter(|group| is_counted(&group.common));
                groups.map(|group| group.tasks.len() as usize).sum()
            };
            let before_gate = self.jobs.tasks_of(job).count() + in_groups(|_| true);
            let running = self
                .jobs
                .tasks_of(job)
                .filter(|(_, live)| live.has_nodes())
                .count();
            let held = self
                .jobs
                .tasks_of(job)
                .filter(|(_, live)| live.held)
                .count();
            let awaiting = self
                .jobs
                .tasks_of(job)
                .filter(|(_, live)| live.awaits_turn)
                .count();
            let tally = array.counts();
            let counted = (
                array.before_gate as usize,
                tally.running as usize,
                array.n_awaiting_turn() as usize,
            );
            let held = (held + in_groups(|live| live.held)) as u64 + array.held_pending.len();
            if counted != (before_gate, running, awaiting) || tally.held != held {
                return Err(tollgate_gate::InvariantViolation(format!(
                    "array {job} has {before_gate} tasks before the gate, {running} of them run, \
                     {awaiting} wait for their turn and {held} are held: {array:?}"
                )));
            }
        }
        Ok(())
    }
}
