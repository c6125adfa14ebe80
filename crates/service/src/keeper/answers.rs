//! Who asked is answered, and who waits is told.

use tollgate_engine::Engine;

use super::ask::{Failed, Reply, Verdict};
use super::owner::Keeper;
use crate::core::{Answer, Change, Reply as Said, Step};
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

    pub(super) fn tell_waiting(&mut self, changes: &[Change]) {
        for change in changes {
            let (job, over) = match change {
                Change::Over { job, .. }
                | Change::Rejected { job, .. }
                | Change::Lapsed { job } => (*job, true),
                Change::Accepted { job, .. } => (*job, false),
                Change::Submitted { .. }
                | Change::Claimed { .. }
                | Change::Queued { .. }
                | Change::Held { .. }
                | Change::Started { .. }
                | Change::Fate { .. }
                | Change::Booked { .. } => continue,
            };
            let waiting = self.waiting.remove(&job).unwrap_or_default();
            let (told, still): (Vec<_>, Vec<_>) = waiting
                .into_iter()
                .partition(|waiter| over || waiter.decided);
            for waiter in told {
                let _ = waiter.reply.send(Ok(()));
            }
            if !still.is_empty() {
                self.waiting.insert(job, still);
            }
        }
    }

    pub(super) fn wait(&mut self, job: u64, reply: Reply<()>, decided: bool) {
        let live = self.core.job(job);
        let view = self.core.gate().view(self.core.now());
        let known = live.map(|live| view.job(live.slot).accepted.is_some());
        match known {
            None => drop(reply.send(Ok(()))),
            Some(true) if decided => drop(reply.send(Ok(()))),
            Some(_) => {
                let waiting = self.waiting.entry(job).or_default();
                waiting.retain(|waiter| !waiter.reply.is_closed());
                waiting.push(Waiter { reply, decided });
            }
        }
    }
}
