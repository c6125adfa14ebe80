//! What the log says of a step: attempts that are lost, admission decisions, workers that come and go.

use std::collections::BTreeMap;

use tollgate_engine::Engine;
use tollgate_gate::WorkerId;

use super::owner::Keeper;
use crate::core::Standing as Admission;
use crate::core::{AttemptKey, Change, ExitStatus, Fate, Refusal};
use crate::engine_words;
use crate::fleet::muster::LOCAL;
use crate::fleet::{Standing, WorkerStanding};

impl<E: Engine> Keeper<E> {
    /// Logs what followed from a step, before the fleet forgets where its attempts ran.
    pub(super) fn log_step(&self, changes: &[Change]) {
        let mut lost_with = BTreeMap::new();
        for change in changes {
            if let Change::WorkerLost { attempt, worker } = change {
                lost_with.insert(*attempt, *worker);
            }
        }
        for change in changes {
            match change {
                Change::Submitted {
                    job,
                    submission,
                    answer,
                } => log_admission(*job, Some(submission.user), &answer.standing),
                Change::Decided { job, answer } => log_admission(*job, None, &answer.standing),
                Change::Rejected { job, reason } => {
                    tracing::debug!(job, reasons = reason.key(), "job rejected");
                }
                Change::Dropped {
                    job,
                    tasks,
                    refusals,
                } if !refusals.is_empty() => {
                    let reasons = keys(refusals);
                    tracing::debug!(job, %tasks, reasons, "tasks rejected");
                }
                Change::Fate { attempt, fate } => {
                    self.log_fate(*attempt, fate, lost_with.get(attempt))
                }
                Change::Dropped { .. }
                | Change::Accepted { .. }
                | Change::Deferred { .. }
                | Change::Forsaken { .. }
                | Change::HeldTasks { .. }
                | Change::TaskOver { .. }
                | Change::Tally { .. }
                | Change::Claimed { .. }
                | Change::Expired { .. }
                | Change::Queued { .. }
                | Change::Held { .. }
                | Change::Started { .. }
                | Change::WorkerLost { .. }
                | Change::Booked { .. }
                | Change::Over { .. } => {}
            }
        }
    }

    fn log_fate(&self, key: AttemptKey, fate: &Fate, lost_with: Option<&WorkerId>) {
        let AttemptKey { job, task, attempt } = key;
        match fate {
            Fate::Lost { .. } => {
                let worker = self.fleet.worker_of(engine_words::key(key));
                let worker = lost_with.copied().or(worker);
                let host = match worker {
                    None | Some(LOCAL) => "this host".to_owned(),
                    Some(worker) => self.fleet.name_of(worker),
                };
                let reason = match worker {
                    _ if lost_with.is_some() => "its worker is gone",
                    None | Some(LOCAL) => "no runner saw its end",
                    Some(_) => "its worker ended it or did not see its end",
                };
                tracing::warn!(job, task, attempt, host, reason, "attempt is lost");
            }
            Fate::Ended {
                status: ExitStatus::NotStarted { step, reason },
                ..
            } => tracing::debug!(job, task, attempt, step, reason, "attempt was not started"),
            Fate::Ended { .. } | Fate::Started { .. } => {}
        }
    }

    /// Logs which workers have come, gone or come back since the last call.
    pub(super) fn log_workers(&mut self) {
        for (worker, now) in self.fleet.standings(self.core.gate()) {
            let before = self.described.insert(worker, now);
            if before == Some(now) {
                continue;
            }
            let WorkerStanding {
                standing,
                incarnation,
                nodes,
            } = now;
            let name = || self.fleet.name_of(worker);
            let same = before.is_some_and(|before| before.incarnation == incarnation);
            match standing {
                Standing::Here if same => {
                    tracing::info!(name = name(), incarnation, nodes, "worker is back");
                }
                Standing::Here => {
                    tracing::info!(name = name(), incarnation, nodes, "worker has come");
                }
                Standing::Away if before.is_none() => {
                    tracing::info!(name = name(), incarnation, nodes, "worker is expected back");
                }
                Standing::Away => {
                    tracing::warn!(
                        name = name(),
                        incarnation,
                        nodes,
                        "worker is disconnected; its jobs go on until its grace time is over"
                    );
                }
                // It was gone when the service started.
                Standing::Gone if before.is_none() => {}
                Standing::Gone => {
                    tracing::warn!(name = name(), incarnation, nodes, "worker was given up");
                }
            }
        }
    }
}

fn log_admission(job: u64, user: Option<u32>, admission: &Admission) {
    match admission {
        Admission::Accepted { .. } => tracing::debug!(job, user, "job accepted"),
        Admission::Queued => tracing::debug!(job, user, "job queued"),
        Admission::Deferred => tracing::debug!(job, user, "job deferred"),
        Admission::Rejected(refusals) => {
            tracing::debug!(job, user, reasons = keys(refusals), "job rejected");
        }
    }
}

fn keys(refusals: &[Refusal]) -> String {
    let keys: Vec<&str> = refusals.iter().map(Refusal::key).collect();
    keys.join(",")
}
