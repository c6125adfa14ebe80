//! Who asked is answered, and who waits is told.

use tollgate_engine::Engine;

use super::ask::{RequestError, Responder, SubmittedJob};
use super::owner::Controller;
use crate::core::{CommandResult as Said, StepOutput, SubmitOutcome};
use crate::store::StoreError;

/// Who is answered once a step is committed.
pub(super) enum PendingResponse {
    Submitted(Responder<SubmittedJob>),
    Held(Responder<(Option<u64>, SubmitOutcome)>),
    Acted(Responder<()>),
    Nobody,
}

/// Who waits for a job.
#[derive(Debug)]
pub(super) struct JobWaiter {
    /// Which task, if only one of an array is waited for.
    task: Option<u32>,
    reply: Responder<()>,
    decided: bool,
}

impl<E: Engine> Controller<E> {
    pub(super) fn answer(&mut self, step: &StepOutput, askers: Vec<PendingResponse>) {
        for (asker, reply) in askers.into_iter().zip(&step.replies) {
            match (asker, reply) {
                (PendingResponse::Submitted(to), Said::Submitted { job, answer }) => {
                    let (job, answer) = (*job, answer.clone());
                    let _ = to.send(Ok(SubmittedJob { job, answer }));
                }
                (PendingResponse::Held(to), Said::Submitted { job, answer }) => {
                    let job = answer.held_until.map(|_| *job);
                    let _ = to.send(Ok((job, answer.clone())));
                }
                (PendingResponse::Held(to), Said::NotHeld { answer }) => {
                    let _ = to.send(Ok((None, answer.clone())));
                }
                (PendingResponse::Acted(to), Said::Done) => drop(to.send(Ok(()))),
                (PendingResponse::Acted(to), Said::Ignored(ignored)) => {
                    let _ = to.send(Err(RequestError::Ignored(*ignored)));
                }
                (PendingResponse::Nobody, _) => {}
                (
                    PendingResponse::Submitted(_),
                    Said::Done | Said::Ignored(_) | Said::NotHeld { .. },
                )
                | (PendingResponse::Held(_), Said::Done | Said::Ignored(_))
                | (PendingResponse::Acted(_), Said::Submitted { .. } | Said::NotHeld { .. }) => {
                    unreachable!("a reply that does not fit its command: {reply:?}")
                }
            }
        }
    }

    pub(super) fn refuse(&mut self, error: &StoreError, askers: Vec<PendingResponse>) {
        for asker in askers {
            let failed = RequestError::from(error);
            match asker {
                PendingResponse::Submitted(to) => drop(to.send(Err(failed))),
                PendingResponse::Held(to) => drop(to.send(Err(failed))),
                PendingResponse::Acted(to) => drop(to.send(Err(failed))),
                PendingResponse::Nobody => {}
            }
        }
    }

    /// Tells those whose wait has come to its end.
    pub(super) fn tell_waiting(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|&job, waiters| {
            let over = |waiter: &mut JobWaiter| self.has_come(job, waiter.task, waiter.decided);
            for waiter in waiters.extract_if(.., over) {
                let _ = waiter.reply.send(Ok(()));
            }
            !waiters.is_empty()
        });
        self.waiting = waiting;
    }

    pub(super) fn wait(
        &mut self,
        job: u64,
        task: Option<u32>,
        reply: Responder<()>,
        decided: bool,
    ) {
        if self.has_come(job, task, decided) {
            let _ = reply.send(Ok(()));
            return;
        }
        let waiters = self.waiting.entry(job).or_default();
        waiters.retain(|waiter| !waiter.reply.is_closed());
        waiters.push(JobWaiter {
            task,
            reply,
            decided,
        });
    }

    /// Whether a job, or a task of it, is over or, with `decided`, let in or kept out.
    fn has_come(&self, job: u64, task: Option<u32>, decided: bool) -> bool {
        if self.core.waiting(job).is_some() {
            return false;
        }
        let tasks = self.core.tasks_of(job);
        let mut tasks = tasks.filter(|(key, _)| task.is_none_or(|task| key.task == task));
        let array = self.core.array(job);
        let sleeps = array.is_some_and(|array| match task {
            Some(task) => array.sleeps(task),
            None => array.asleep() > 0,
        });
        let view = self.core.gate().view(self.core.now());
        let goes_on = |slot| !decided || view.job(slot).accepted.is_none();
        !sleeps && !tasks.any(|(_, live)| goes_on(live.slot))
    }
}
