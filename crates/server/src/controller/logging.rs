//! Log messages of a step: lost attempts, admission decisions, and workers that come and go.

use std::collections::BTreeMap;

use tollgate_engine::Engine;
use tollgate_gate::WorkerId;
use tollgate_model::{
    AttemptEvent, AttemptId, AttemptOutcome, AttemptReport, AttemptStatus, LaunchFailure,
    LaunchFault,
};
use tollgate_service::AdmissionState;
use tollgate_service::LOCAL_WORKER;
use tollgate_service::{RejectReason, RowChange, TaskDropCause};
use tollgate_workers::{WorkerSnapshot, WorkerState};

use super::state::Controller;

impl<E: Engine> Controller<E> {
    /// Logs a step's changes, before the pool forgets where its attempts ran.
    pub(super) fn log_step(&self, changes: &[RowChange]) {
        let mut lost_with = BTreeMap::new();
        for change in changes {
            if let RowChange::WorkerLost { attempt, worker } = change {
                lost_with.insert(*attempt, *worker);
            }
        }
        for change in changes {
            match change {
                RowChange::Submitted {
                    job,
                    submission,
                    answer,
                } => log_admission(*job, Some(submission.user), &answer.admission),
                RowChange::Decided { job, answer } => log_admission(*job, None, &answer.admission),
                RowChange::Rejected { job, reason } => {
                    tracing::debug!(job, reasons = reason.key(), "job rejected");
                }
                RowChange::TasksDropped {
                    job,
                    tasks,
                    cause: TaskDropCause::Rejected(refusals),
                } => {
                    let reasons = reason_keys(refusals);
                    tracing::debug!(job, %tasks, reasons, "tasks rejected");
                }
                RowChange::AtRisk { job, risk } => {
                    let (probability, cause) = (risk.probability.as_f64(), risk.cause);
                    tracing::warn!(job, probability, %cause, "the promise is at risk");
                }
                RowChange::AttemptReported(report) => {
                    self.log_report(report, lost_with.get(&report.attempt));
                }
                RowChange::Evicted {
                    attempt,
                    cause,
                    held,
                } => {
                    let AttemptId { job, task, attempt } = *attempt;
                    let held_s = held.as_secs_f64();
                    tracing::info!(job, task, attempt, cause = cause.key(), held_s, "evicted");
                }
                RowChange::Abandoned { attempt, why } => {
                    let AttemptId { job, task, .. } = *attempt;
                    let (rule, evictions) = (why.rule.to_string(), why.evictions);
                    tracing::warn!(job, task, rule, evictions, "abandoned");
                }
                RowChange::TasksDropped { .. }
                | RowChange::Accepted { .. }
                | RowChange::Priced { .. }
                | RowChange::Promised { .. }
                | RowChange::NotPromised { .. }
                | RowChange::Deferred { .. }
                | RowChange::Altered { .. }
                | RowChange::Granted { .. }
                | RowChange::DependencyFailed { .. }
                | RowChange::HeldTasks { .. }
                | RowChange::TaskEnded { .. }
                | RowChange::ArrayCounts { .. }
                | RowChange::Claimed { .. }
                | RowChange::Expired { .. }
                | RowChange::DroppedLate { .. }
                | RowChange::Queued { .. }
                | RowChange::Held { .. }
                | RowChange::Started { .. }
                | RowChange::WorkMeasured { .. }
                | RowChange::WorkerLost { .. }
                | RowChange::Booked { .. }
                | RowChange::Entered { .. }
                | RowChange::EnteredTogether { .. }
                | RowChange::StartedLate { .. }
                | RowChange::JobEnded { .. } => {}
            }
        }
    }

    fn log_report(&self, report: &AttemptReport, lost_with: Option<&WorkerId>) {
        let AttemptId { job, task, attempt } = report.attempt;
        match &report.event {
            AttemptEvent::Lost { .. } => {
                let worker = self.workers.worker_of(report.attempt);
                let worker = lost_with.copied().or(worker);
                let host = match worker {
                    None | Some(LOCAL_WORKER) => "this host".to_owned(),
                    Some(worker) => self.workers.name_of(worker),
                };
                let reason = match worker {
                    _ if lost_with.is_some() => "its worker is gone",
                    None | Some(LOCAL_WORKER) => "no runner saw its end",
                    Some(_) => "its worker ended it or did not see its end",
                };
                tracing::warn!(job, task, attempt, host, reason, "attempt is lost");
            }
            AttemptEvent::Ended(AttemptOutcome {
                status: AttemptStatus::NotStarted(failure),
                ..
            }) => {
                let LaunchFailure {
                    step,
                    reason,
                    fault,
                } = failure;
                match fault {
                    LaunchFault::Job => {
                        tracing::debug!(
                            job,
                            task,
                            attempt,
                            step,
                            reason,
                            "attempt was not started"
                        );
                    }
                    LaunchFault::Storage | LaunchFault::Host => {
                        tracing::warn!(
                            job,
                            task,
                            attempt,
                            step,
                            reason,
                            "attempt could not be started, and is tried again"
                        );
                    }
                }
            }
            AttemptEvent::Ended(_) | AttemptEvent::Started(_) => {}
        }
    }

    /// Logs which workers have connected, disconnected or been given up since the last call.
    pub(super) fn log_workers(&mut self) {
        let mut changed = Vec::new();
        for (worker, now) in self.workers.snapshots(self.core.gate()) {
            let before = self.described.insert(worker, now);
            if before == Some(now) {
                continue;
            }
            changed.push((worker, before, now));
            let WorkerSnapshot {
                state: worker_state,
                incarnation,
                nodes,
                is_leaving,
                is_retired,
            } = now;
            let name = || self.workers.name_of(worker);
            let same = before.is_some_and(|before| before.incarnation == incarnation);
            match worker_state {
                WorkerState::Connected if same && is_retired && !is_leaving => {
                    tracing::warn!(
                        name = name(),
                        incarnation,
                        nodes,
                        "worker is drained: three jobs in a row could not be started"
                    );
                }
                WorkerState::Connected if same && is_leaving => {
                    tracing::info!(name = name(), incarnation, nodes, "worker is leaving");
                }
                WorkerState::Connected if same => {
                    tracing::info!(name = name(), incarnation, nodes, "worker is back");
                }
                WorkerState::Connected => {
                    tracing::info!(name = name(), incarnation, nodes, "worker has come");
                }
                WorkerState::Disconnected if before.is_none() => {
                    tracing::info!(name = name(), incarnation, nodes, "worker is expected back");
                }
                WorkerState::Disconnected => {
                    tracing::warn!(
                        name = name(),
                        incarnation,
                        nodes,
                        "worker is disconnected; its jobs go on until its grace time is over"
                    );
                }
                // The worker was already given up when the service started.
                WorkerState::Lost if before.is_none() => {}
                WorkerState::Lost if is_leaving => {
                    tracing::info!(name = name(), incarnation, nodes, "worker has left");
                }
                WorkerState::Lost => {
                    tracing::warn!(name = name(), incarnation, nodes, "worker was given up");
                }
            }
        }
        for (worker, before, now) in changed {
            self.note_worker(worker, before, now);
        }
    }
}

fn log_admission(job: u64, user: Option<u32>, admission: &AdmissionState) {
    match admission {
        AdmissionState::Accepted { .. } => tracing::debug!(job, user, "job accepted"),
        AdmissionState::Queued => tracing::debug!(job, user, "job queued"),
        AdmissionState::Waitlisted { .. } => tracing::debug!(job, user, "job waitlisted"),
        AdmissionState::Unpromised(reasons) => {
            tracing::debug!(job, user, reasons = reason_keys(reasons), "job unpromised");
        }
        AdmissionState::Deferred => tracing::debug!(job, user, "job deferred"),
        AdmissionState::Rejected(refusals) => {
            tracing::debug!(job, user, reasons = reason_keys(refusals), "job rejected");
        }
    }
}

fn reason_keys(refusals: &[RejectReason]) -> String {
    let keys: Vec<&str> = refusals.iter().map(RejectReason::key).collect();
    keys.join(",")
}
