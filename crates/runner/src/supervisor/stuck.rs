//! Attempts whose children hang in their setup, counted against their users.

use std::time::Instant;

use tollgate_model::AttemptId;

use super::RunnerSupervisor;
use super::task::RunnerTaskState;
use crate::child::failure::failed_step;
use crate::child::setup::SpawnPhase;
use crate::slot::not_started_event;
use crate::slot::pool::AbandonedSlot;
use crate::slot::stuck::MAX_STUCK_PER_USER;

impl RunnerSupervisor {
    /// Ends children that take too long to become their programs. The attempts of those that cannot be
    /// ended are over, and their nodes are free.
    pub(super) fn end_stuck_setups(&mut self) {
        let limit = self.settings.setup();
        for slot in self.slots.end_stuck_setups(Instant::now(), limit) {
            self.on_given_up(slot);
        }
    }

    fn on_given_up(&mut self, slot: AbandonedSlot) {
        if let Some(attempt) = slot.stuck {
            tracing::warn!(%attempt, "a task hangs in its setup and cannot be killed: given up");
            let user = self.user_of(attempt);
            self.stuck.insert(slot.number, user);
            let limit = self.settings.setup().as_secs_f64();
            let reason = format!(
                "no answer for {limit} s from the file system of its directory, output or program"
            );
            self.on_finished(
                attempt,
                not_started_event(failed_step(SpawnPhase::Dir, reason)),
            );
        }
        for attempt in slot.behind {
            self.placed.remove(&attempt);
            if let Some(task) = self.tasks.get_mut(&attempt) {
                task.state = RunnerTaskState::Queued;
                task.slot = None;
                self.enqueue(attempt);
            }
        }
    }

    /// Takes note that the child of a slot that was given up has ended.
    pub(super) fn on_stuck_setup_ended(&mut self, slot: usize) {
        self.stuck.remove(&slot);
        self.slots.forget_given_up(slot);
    }

    /// Ends an attempt without starting it if too many of its user's hang. Returns whether it did.
    pub(super) fn refuse_if_stuck(&mut self, attempt: AttemptId) -> bool {
        let user = self.user_of(attempt);
        let n_stuck = self.stuck.values().filter(|other| **other == user).count();
        if n_stuck < MAX_STUCK_PER_USER {
            return false;
        }
        let reason = format!(
            "limit of hanging tasks reached: {n_stuck} tasks of this user hang on this host, because a \
             file system does not answer; at most {MAX_STUCK_PER_USER} may"
        );
        self.on_finished(
            attempt,
            not_started_event(failed_step(SpawnPhase::Dir, reason)),
        );
        true
    }

    /// Returns the user that an attempt runs as; None for the user of the runner.
    fn user_of(&self, attempt: AttemptId) -> Option<u32> {
        let task = self.tasks.get(&attempt);
        task.and_then(|task| Some(task.launch.user.as_ref()?.uid))
    }
}
