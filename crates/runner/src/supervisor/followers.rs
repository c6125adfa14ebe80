//! Attempts that follow others: each starts on the nodes of the attempt before it, once that has ended.

use std::collections::BTreeSet;

use tollgate_model::AttemptId;

use super::RunnerSupervisor;
use super::task::RunnerTaskState;

impl RunnerSupervisor {
    /// Queues an attempt that is not in a slot. It is queued in the slot of the attempt that it follows,
    /// behind that attempt if it has no slot yet, or for any slot if that attempt has ended.
    pub(crate) fn enqueue(&mut self, attempt: AttemptId) {
        let task = self.tasks.get(&attempt);
        let before = task.and_then(|task| task.launch.after);
        let ahead = before.and_then(|before| Some((before, self.tasks.get(&before)?)));
        match ahead.filter(|(_, task)| !task.is_finished()) {
            None => self.queued.push_back(attempt),
            Some((before, task)) => match task.slot {
                Some(slot) => self.append(attempt, slot),
                None => drop(self.followers.insert(before, attempt)),
            },
        }
    }

    fn append(&mut self, attempt: AttemptId, slot: usize) {
        if self.refuse_if_stuck(attempt) {
            return;
        }
        self.inherit_share(attempt);
        if let Some(job) = self.slot_job(attempt) {
            self.slots.append(slot, job);
            self.on_placed(attempt, slot);
        }
    }

    /// Records that a slot has an attempt, and gives it those that follow.
    pub(crate) fn on_placed(&mut self, attempt: AttemptId, slot: usize) {
        self.placed.insert(attempt);
        if let Some(task) = self.tasks.get_mut(&attempt) {
            task.state = RunnerTaskState::Starting;
            task.slot = Some(slot);
        }
        self.reapply_priority();
        if let Some(next) = self.followers.remove(&attempt) {
            self.append(next, slot);
        }
    }

    /// Queues the attempt that follows one that has ended without a slot. After an attempt that never
    /// started it follows the one before that.
    pub(crate) fn release_follower(&mut self, ended: AttemptId) {
        let Some(next) = self.followers.remove(&ended) else {
            return;
        };
        let task = self.tasks.get(&ended);
        let skipped = task.filter(|task| task.started.is_none());
        let before = skipped.and_then(|task| task.launch.after);
        if let Some(task) = self.tasks.get_mut(&next) {
            task.launch.after = before;
            self.enqueue(next);
        }
    }

    /// Gives a follower the share of the attempt before it, unless it has got its own.
    pub(crate) fn inherit_share(&mut self, follower: AttemptId) {
        let task = self.tasks.get(&follower);
        let before = task.filter(|task| !task.has_own_share);
        let before = before.and_then(|task| self.tasks.get(&task.launch.after?));
        let share = before.map(|before| before.launch.share);
        if let (Some(share), Some(task)) = (share, self.tasks.get_mut(&follower)) {
            task.launch.share = share;
        }
    }

    /// Returns all attempts, each after the one that it follows.
    pub(crate) fn in_order_of_starts(&self) -> Vec<AttemptId> {
        let mut order = Vec::new();
        let mut left: BTreeSet<AttemptId> = self.tasks.keys().copied().collect();
        while let Some(&first) = left.first() {
            let mut chain = Vec::new();
            let mut next = Some(first);
            while let Some(attempt) = next.filter(|attempt| left.remove(attempt)) {
                chain.push(attempt);
                next = self.tasks[&attempt].launch.after;
            }
            order.extend(chain.into_iter().rev());
        }
        order
    }

    /// Takes an attempt back that waits: for a slot, for another attempt, or in a slot. Returns false if
    /// it is being started or was.
    pub(crate) fn withdraw(&mut self, attempt: AttemptId) -> bool {
        let Some(task) = self.tasks.get(&attempt) else {
            return false;
        };
        match (&task.state, task.slot) {
            (RunnerTaskState::Queued, _) => {
                self.queued.retain(|other| *other != attempt);
                self.followers.retain(|_, other| *other != attempt);
                true
            }
            (RunnerTaskState::Starting, Some(slot)) => self.slots.withdraw(slot, attempt),
            (RunnerTaskState::Starting, None) => false,
            (RunnerTaskState::Running(_) | RunnerTaskState::Finished(_), _) => false,
        }
    }
}
