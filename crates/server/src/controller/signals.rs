//! Signals of users to their running jobs. Nothing is stored: a signal that may be lost is not sent again.

use tollgate_engine::Engine;
use tollgate_model::WarningSignal;
use tollgate_service::{CommandError, TaskRanges};
use tollgate_workers::SignalReach;

use super::request_error::RequestError;
use super::state::Controller;

impl<E: Engine> Controller<E> {
    /// Sends a signal to the attempts of a user's job that run, of an array to those of the chosen tasks.
    pub(super) fn send_signal(
        &mut self,
        (user, job): (Option<u32>, u64),
        tasks: Option<&TaskRanges>,
        signal: WarningSignal,
    ) -> Result<SignalReach, RequestError> {
        let owner = self.core.user_of(job);
        // A job of another user counts as unknown.
        let is_allowed = |owner: u32| user.is_none_or(|user| owner == user);
        if owner.filter(|&owner| is_allowed(owner)).is_none() {
            return Err(RequestError::Ignored(CommandError::UnknownJob));
        }
        let running = self.core.running_attempts(job, tasks);
        if running.is_empty() {
            return Err(RequestError::NotRunning);
        }
        let reach = self.workers.signal(&running, signal);
        tracing::debug!(job, signal = signal.key(), sent = reach.sent, "signal sent");
        Ok(reach)
    }
}
