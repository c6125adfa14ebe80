//! Steps of running attempts, which their own jobs report. They are records: the core does not know them.

use tollgate_engine::Engine;
use tollgate_model::AttemptId;
use tollgate_service::CommandError;
use tollgate_store::{NewStep, StepEnding};

use super::request_error::RequestError;
use super::state::Controller;

impl<E: Engine> Controller<E> {
    /// Records the start of a step of an attempt that runs, and returns its number.
    pub(super) fn begin_step(
        &mut self,
        user: Option<u32>,
        step: &NewStep,
    ) -> Result<u32, RequestError> {
        self.check_step_owner(user, step.attempt)?;
        let live = self.core.job(step.attempt.task());
        if !live.is_some_and(|live| live.is_ordered(step.attempt)) {
            return Err(RequestError::NotRunning);
        }
        let at = self.now();
        let number = self.store.begin_step(at, step).map_err(|error| {
            self.log_error(&error);
            RequestError::from(&error)
        })?;
        number.ok_or(RequestError::StepLimit)
    }

    /// Records the end of a step. A step that has ended, or that no attempt has, stays as it is.
    pub(super) fn end_step(
        &mut self,
        user: Option<u32>,
        (attempt, step): (AttemptId, u32),
        ending: StepEnding,
    ) -> Result<(), RequestError> {
        self.check_step_owner(user, attempt)?;
        let at = self.now();
        let ended = self.store.end_step(at, attempt, step, ending);
        ended.map(drop).map_err(|error| {
            self.log_error(&error);
            RequestError::from(&error)
        })
    }

    /// Fails unless the job is one of `user`, and not over.
    fn check_step_owner(&self, user: Option<u32>, attempt: AttemptId) -> Result<(), RequestError> {
        let owner = self.core.user_of(attempt.job);
        let is_allowed = |owner: u32| user.is_none_or(|user| owner == user);
        match owner.is_some_and(is_allowed) {
            true => Ok(()),
            // A job of another user counts as unknown.
            false => Err(RequestError::Ignored(CommandError::UnknownJob)),
        }
    }
}
