//! Responses to requests, and notifications of waiters.

use tollgate_engine::Engine;
use tollgate_service::{ActiveArray, ActiveTask, CommandResult, StepOutput, SubmitOutcome};
use tollgate_store::StoreError;

use super::request::{Responder, SubmittedJob};
use super::request_error::RequestError;
use super::state::Controller;

/// The response that a command gets once its step is committed.
pub(super) enum PendingResponse {
    Submit(Responder<SubmittedJob>),
    Reserve(Responder<(Option<u64>, SubmitOutcome)>),
    Command(Responder<()>),
    Claim(PendingClaim),
    Alter(Responder<(bool, SubmitOutcome)>),
    Learn(Responder<(u32, u32)>),
    Internal,
}

/// A claim of a reserved quote.
pub(super) struct PendingClaim {
    pub(super) user: u32,
    pub(super) job: u64,
    /// The key of the claim, if it has one.
    pub(super) key: Option<String>,
    pub(super) reply: Responder<()>,
}

/// A request that waits for a job.
#[derive(Debug)]
pub(super) struct JobWaiter {
    /// The task to wait for, if only one task of an array matters.
    task: Option<u32>,
    reply: Responder<()>,
    decided: bool,
}

impl<E: Engine> Controller<E> {
    pub(super) fn respond(&mut self, step: &StepOutput, pending: Vec<PendingResponse>) {
        for (response, reply) in pending.into_iter().zip(&step.results) {
            match (response, reply) {
                (PendingResponse::Submit(to), CommandResult::Submitted { job, answer }) => {
                    let (job, answer) = (*job, answer.clone());
                    let _ = to.send(Ok(SubmittedJob { job, answer }));
                }
                (PendingResponse::Reserve(to), CommandResult::Submitted { job, answer }) => {
                    let job = answer.reserved_until.map(|_| *job);
                    let _ = to.send(Ok((job, answer.clone())));
                }
                (PendingResponse::Reserve(to), CommandResult::NotReserved { answer }) => {
                    let _ = to.send(Ok((None, answer.clone())));
                }
                (PendingResponse::Command(to), CommandResult::Done) => drop(to.send(Ok(()))),
                (PendingResponse::Command(to), CommandResult::Ignored(ignored)) => {
                    let _ = to.send(Err(RequestError::Ignored(*ignored)));
                }
                (PendingResponse::Claim(claim), CommandResult::Done) => {
                    drop(claim.reply.send(Ok(())))
                }
                (PendingResponse::Claim(claim), CommandResult::Ignored(ignored)) => {
                    let answer = match self.was_claimed(&claim) {
                        Ok(true) => Ok(()),
                        Ok(false) => Err(RequestError::Ignored(*ignored)),
                        Err(error) => Err(RequestError::from(&error)),
                    };
                    let _ = claim.reply.send(answer);
                }
                (PendingResponse::Alter(to), CommandResult::Altered { answer }) => {
                    let _ = to.send(Ok((true, answer.clone())));
                }
                (PendingResponse::Alter(to), CommandResult::Unaltered { answer }) => {
                    let _ = to.send(Ok((false, answer.clone())));
                }
                (PendingResponse::Alter(to), CommandResult::Ignored(ignored)) => {
                    let _ = to.send(Err(RequestError::Ignored(*ignored)));
                }
                (PendingResponse::Learn(to), &CommandResult::Learned { learned, known }) => {
                    let _ = to.send(Ok((learned, known)));
                }
                (PendingResponse::Internal, _) => {}
                (
                    PendingResponse::Submit(_),
                    CommandResult::Done
                    | CommandResult::Ignored(_)
                    | CommandResult::NotReserved { .. }
                    | CommandResult::Altered { .. }
                    | CommandResult::Unaltered { .. }
                    | CommandResult::Learned { .. },
                )
                | (
                    PendingResponse::Reserve(_),
                    CommandResult::Done
                    | CommandResult::Ignored(_)
                    | CommandResult::Altered { .. }
                    | CommandResult::Unaltered { .. }
                    | CommandResult::Learned { .. },
                )
                | (
                    PendingResponse::Command(_) | PendingResponse::Claim(_),
                    CommandResult::Submitted { .. }
                    | CommandResult::NotReserved { .. }
                    | CommandResult::Altered { .. }
                    | CommandResult::Unaltered { .. }
                    | CommandResult::Learned { .. },
                )
                | (
                    PendingResponse::Alter(_),
                    CommandResult::Submitted { .. }
                    | CommandResult::NotReserved { .. }
                    | CommandResult::Done
                    | CommandResult::Learned { .. },
                )
                | (
                    PendingResponse::Learn(_),
                    CommandResult::Submitted { .. }
                    | CommandResult::NotReserved { .. }
                    | CommandResult::Altered { .. }
                    | CommandResult::Unaltered { .. }
                    | CommandResult::Done
                    | CommandResult::Ignored(_),
                ) => {
                    unreachable!("a reply that does not fit its command: {reply:?}")
                }
            }
        }
    }

    /// Returns whether the same claim was carried out before: its answer was lost, and the claim was sent
    /// again.
    pub(super) fn was_claimed(&self, claim: &PendingClaim) -> Result<bool, StoreError> {
        match &claim.key {
            Some(key) => self.store.is_claimed_with(claim.job, claim.user, key),
            None => Ok(false),
        }
    }

    pub(super) fn fail_all(&mut self, error: &StoreError, pending: Vec<PendingResponse>) {
        for response in pending {
            let failed = RequestError::from(error);
            match response {
                PendingResponse::Submit(to) => drop(to.send(Err(failed))),
                PendingResponse::Reserve(to) => drop(to.send(Err(failed))),
                PendingResponse::Command(to) => drop(to.send(Err(failed))),
                PendingResponse::Claim(claim) => drop(claim.reply.send(Err(failed))),
                PendingResponse::Alter(to) => drop(to.send(Err(failed))),
                PendingResponse::Learn(to) => drop(to.send(Err(failed))),
                PendingResponse::Internal => {}
            }
        }
    }

    /// Notifies the waiters whose condition now holds.
    pub(super) fn notify_waiters(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiters);
        waiting.retain(|&job, waiters| {
            let over = |waiter: &mut JobWaiter| self.wait_is_over(job, waiter.task, waiter.decided);
            for waiter in waiters.extract_if(.., over) {
                let _ = waiter.reply.send(Ok(()));
            }
            !waiters.is_empty()
        });
        self.waiters = waiting;
    }

    pub(super) fn add_waiter(
        &mut self,
        job: u64,
        task: Option<u32>,
        reply: Responder<()>,
        decided: bool,
    ) {
        if self.wait_is_over(job, task, decided) {
            let _ = reply.send(Ok(()));
            return;
        }
        let waiters = self.waiters.entry(job).or_default();
        waiters.retain(|waiter| !waiter.reply.is_closed());
        waiters.push(JobWaiter {
            task,
            reply,
            decided,
        });
    }

    /// Returns whether a job, or one of its tasks, has finished or, with `decided`, is at least
    /// admitted or rejected.
    fn wait_is_over(&self, job: u64, task: Option<u32>, decided: bool) -> bool {
        if let Some(waiting) = self.core.deferred_job(job) {
            return !waiting.has_task(task.unwrap_or(0));
        }
        let tasks = self.core.tasks_of(job);
        let tasks = tasks.filter(|(key, _)| task.is_none_or(|task| key.task == task));
        let array = self.core.array(job);
        let groups = array.map_or(&[][..], ActiveArray::groups).iter();
        let groups = groups.filter(|group| task.is_none_or(|task| group.tasks.contains(task)));
        let mut lives = tasks
            .map(|(_, live)| live)
            .chain(groups.map(|group| &group.common));
        let sleeps = array.is_some_and(|array| match task {
            Some(task) => array.is_pending(task),
            None => array.n_pending() > 0,
        });
        let view = self.core.gate().view(self.core.now());
        let goes_on = |live: &ActiveTask| {
            let waits = view.job(live.slot).accepted.is_none() && !live.is_unpromised();
            !decided || waits
        };
        !sleeps && !lives.any(goes_on)
    }
}
