//! Looking in: what is there, and whether it is as it must be.

use std::collections::BTreeMap;

use tollgate_policy::JobPhase;

use super::Core;
use super::array::ActiveArray;
use super::command::TaskKey;
use super::dependency::DeferredJob;
use super::jobs::ActiveTask;
use super::output::EngineAction;

impl Core {
    /// A task that is before the gate; of a job that is no array, its number will do.
    pub fn job(&self, task: impl Into<TaskKey>) -> Option<&ActiveTask> {
        self.jobs.get(task)
    }

    /// Every task that is before the gate, by name.
    pub fn tasks(&self) -> impl Iterator<Item = (TaskKey, &ActiveTask)> {
        self.jobs.iter()
    }

    /// The tasks of a job that are before the gate.
    pub fn tasks_of(&self, job: u64) -> impl Iterator<Item = (TaskKey, &ActiveTask)> {
        self.jobs.tasks_of(job)
    }

    /// An array that is not over.
    pub fn array(&self, job: u64) -> Option<&ActiveArray> {
        self.jobs.arrays.get(&job)
    }

    /// Every job that is not over, by number, and whose it is.
    pub fn jobs(&self) -> BTreeMap<u64, u32> {
        self.jobs.numbers()
    }

    /// Whose a job is that is not over.
    pub fn user_of(&self, job: u64) -> Option<u32> {
        self.jobs.user_of(job)
    }

    /// How many tasks are not over, whether or not they have come into being.
    pub fn n_tasks(&self) -> u64 {
        self.jobs.n_tasks()
    }

    /// How many tasks of each user are not over; a user may come up again and again.
    pub fn tasks_of_users(&self) -> impl Iterator<Item = (u32, u64)> {
        self.jobs.tasks_of_users()
    }

    /// A job that was handed in and waits before anything is decided about it.
    pub fn deferred_job(&self, job: u64) -> Option<&DeferredJob> {
        self.jobs.deferred.get(&job)
    }

    /// How many jobs do so, and how many of them for their user.
    pub fn n_waiting(&self) -> (usize, usize) {
        let waiting = self.jobs.deferred.values();
        let held = waiting.filter(|waiting| waiting.is_held()).count();
        (self.jobs.deferred.len(), held)
    }

    /// Every array that is not over.
    pub fn arrays(&self) -> impl Iterator<Item = (u64, &ActiveArray)> {
        self.jobs.arrays.iter().map(|(&job, array)| (job, array))
    }

    /// Attempts that were started and have not ended, with the nodes that they have: an engine
    /// that does not know one of them is to be told again.
    pub fn running_actions(&self) -> Vec<EngineAction> {
        let running = self.jobs.iter().filter(|(_, live)| live.is_running());
        running
            .map(|(task, live)| self.start_action(live.attempt_key(task), live.slot))
            .collect()
    }

    /// Whether everything is as it must be.
    ///
    /// # Errors
    /// The first thing that is wrong, in words.
    pub fn check_invariants(&self) -> Result<(), tollgate_gate::InvariantViolation> {
        self.gate.check(self.now)?;
        let view = self.gate.view(self.now);
        let known = self.jobs.iter().count();
        let there = view.jobs().count();
        if known != there {
            return Err(tollgate_gate::InvariantViolation(format!(
                "the gate has {there} jobs, the service {known}"
            )));
        }
        for (task, live) in self.jobs.iter() {
            let job = view.job(live.slot);
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
        self.check_arrays()?;
        self.shadow
            .as_ref()
            .map_or(Ok(()), |shadow| shadow.check_invariants())
    }

    /// What is counted of arrays is so.
    fn check_arrays(&self) -> Result<(), tollgate_gate::InvariantViolation> {
        for (job, array) in self.arrays() {
            let before_gate = self.jobs.tasks_of(job).count();
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
            let tally = array.counts();
            let counted = (array.before_gate as usize, tally.running as usize);
            let held = held as u64 + array.held_pending.len();
            if counted != (before_gate, running) || tally.held != held {
                return Err(tollgate_gate::InvariantViolation(format!(
                    "array {job} has {before_gate} tasks before the gate, {running} of them run and \
                     {held} are held: {array:?}"
                )));
            }
        }
        Ok(())
    }
}
