//! Who asked is answered, and who waits is told.

use tollgate_engine::Engine;

use super::ask::{Failed, Reply, Verdict};
use super::owner::Keeper;
use crate::core::{Answer, Reply as Said, Step};
use crate::store::StoreError;

/// Who is answered once a step is committed.
pub(super) enum Asker {
    Submitted(Reply<Verdict>),
    Held(Reply<(Option<u64>, Answer)>),
    Acted(Reply<()>),
    Nobody,
}

/// Who waits for a job.
#[derive(Debug)]
pub(super) struct Waiter {
    /// Which task, if only one of an array is waited for.
    task: Option<u32>,
    reply: Reply<()>,
    decided: bool,
}

impl<E: Engine> Keeper<E> {
    pub(super) fn answer(&mut self, step: &Step, askers: Vec<Asker>) {
        for (asker, reply) in askers.into_iter().zip(&step.replies) {
            match (asker, reply) {
                (Asker::Submitted(to), Said::Submitted { job, answer }) => {
                    let (job, answer) = (*job, answer.clone());
                    let _ = to.send(Ok(Verdict { job, answer }));
                }
                (Asker::Held(to), Said::Submitted { job, answer }) => {
                    let job = answer.held_until.map(|_| *job);
                    let _ = to.send(Ok((job, answer.clone())));
                }
                (Asker::Held(to), Said::NotHeld { answer }) => {
                    let _ = to.send(Ok((None, answer.clone())));
                }
                (Asker::Acted(to), Said::Done) => drop(to.send(Ok(()))),
                (Asker::Acted(to), Said::Ignored(ignored)) => {
                    let _ = to.send(Err(Failed::Ignored(*ignored)));
                }
                (Asker::Nobody, _) => {}
                (Asker::Submitted(_), Said::Done | Said::Ignored(_) | Said::NotHeld { .. })
                | (Asker::Held(_), Said::Done | Said::Ignored(_))
                | (Asker::Acted(_), Said::Submitted { .. } | Said::NotHeld { .. }) => {
                    unreachable!("a reply that does not fit its command: {reply:?}")
                }
            }
        }
    }

    pub(super) fn refuse(&mut self, error: &StoreError, askers: Vec<Asker>) {
        for asker in askers {
            let failed = Failed::from(error);
            match asker {
                Asker::Submitted(to) => drop(to.send(Err(failed))),
                Asker::Held(to) => drop(to.send(Err(failed))),
                Asker::Acted(to) => drop(to.send(Err(failed))),
                Asker::Nobody => {}
            }
        }
    }

    /// Tells those whose wait has come to its end.
    pub(super) fn tell_waiting(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.retain(|&job, waiters| {
            let over = |waiter: &mut Waiter| self.has_come(job, waiter.task, waiter.decided);
            for waiter in waiters.extract_if(.., over) {
                let _ = waiter.reply.send(Ok(()));
            }
            !waiters.is_empty()
        });
        self.waiting = waiting;
    }

    pub(super) fn wait(&mut self, job: u64, task: Option<u32>, reply: Reply<()>, decided: bool) {
        if self.has_come(job, task, decided) {
            let _ = reply.send(Ok(()));
            return;
        }
        let waiters = self.waiting.entry(job).or_default();
        waiters.retain(|waiter| !waiter.reply.is_closed());
        waiters.push(Waiter {
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
