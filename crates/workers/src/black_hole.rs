//! Workers on which nothing can be started, and which would take one job after the other.

use std::collections::BTreeSet;

use tollgate_engine::Engine;
use tollgate_gate::{Gate, WorkerId};
use tollgate_model::report_bounds::plain_text;
use tollgate_model::{AttemptEvent, AttemptReport, AttemptStatus, LaunchFault};
use tollgate_service::ServiceCommand;

use crate::pool::WorkerPool;
use crate::protocol::ServerMessage;

/// Number of jobs in a row that could not be started on a worker, after which it is retired. One job
/// may be at fault itself, all of its tasks alike.
const MAX_FAILED_JOBS: usize = 3;

/// The failed starts on a worker since the last start that did not fail.
#[derive(Debug, Default)]
pub(crate) struct FailedStarts {
    jobs: BTreeSet<u64>,
    /// The last reason.
    reason: String,
}

impl FailedStarts {
    /// Counts a report of the worker. Where all jobs are of one user, a missing directory is the host's
    /// fault, too: the client found it where the job was submitted. Of many users one could otherwise
    /// name directories that are nowhere, and have every worker drained.
    pub(crate) fn count(&mut self, report: &AttemptReport, is_of_one_user: bool) {
        match &report.event {
            AttemptEvent::Started(_) => self.jobs.clear(),
            AttemptEvent::Ended(ended) => {
                if let AttemptStatus::NotStarted(failure) = &ended.status
                    && ended.killed.is_none()
                    && (failure.fault == LaunchFault::Host
                        || is_of_one_user && failure.step == "dir")
                {
                    self.jobs.insert(report.attempt.job);
                    self.reason = plain_text(&failure.to_string());
                }
            }
            AttemptEvent::Lost { .. } => {}
        }
    }

    /// Returns why the worker is to be retired, if it is.
    fn verdict(&self) -> Option<String> {
        (self.jobs.len() >= MAX_FAILED_JOBS).then(|| {
            let reason = &self.reason;
            format!("{MAX_FAILED_JOBS} jobs in a row could not be started ({reason})")
        })
    }
}

impl<E: Engine> WorkerPool<E> {
    /// Returns the commands that drain workers on which nothing can be started. They stay drained
    /// until an operator resumes them.
    pub(crate) fn retirements(&self, gate: &Gate) -> Vec<ServiceCommand> {
        let failing = self.workers.iter();
        let failing = failing.filter(|(worker, entry)| {
            let is_drained = gate.worker(**worker).is_some_and(|live| live.drained);
            entry.incarnation.is_some() && !is_drained && entry.retired.is_none()
        });
        let failing = failing.filter(|(_, entry)| entry.failed_starts.verdict().is_some());
        failing
            .map(|(&worker, _)| ServiceCommand::Drain {
                worker,
                drained: true,
            })
            .collect()
    }

    /// Tells the workers that are drained by now that they are retired, and forgets the failures of
    /// those that were resumed.
    pub(crate) fn sync_retirements(&mut self, gate: &Gate) {
        for (worker, live) in gate.workers() {
            let Some(entry) = self.workers.get_mut(&worker) else {
                continue;
            };
            if !live.drained {
                if entry.retired.take().is_some() {
                    entry.failed_starts = FailedStarts::default();
                }
            } else if entry.retired.is_none()
                && let Some(reason) = entry.failed_starts.verdict()
            {
                entry.retired = Some(reason.clone());
                self.send(worker, ServerMessage::Retire(reason));
            }
        }
    }

    /// Tells the next incarnation of a retired worker that it is retired.
    pub(crate) fn repeat_retirement(&mut self, worker: WorkerId) {
        let entry = self.workers.get(&worker);
        if let Some(reason) = entry.and_then(|entry| entry.retired.clone()) {
            self.send(worker, ServerMessage::Retire(reason));
        }
    }
}

#[cfg(test)]
mod tests {
    use tollgate_model::{AttemptId, AttemptStart, Instant, LaunchFailure};

    use super::*;

    fn failure(job: u64, task: u32) -> AttemptReport {
        let attempt = AttemptId {
            job,
            task,
            attempt: 1,
        };
        AttemptReport::not_started(attempt, LaunchFailure::of_job("dir", "gone"), Instant::ZERO)
    }

    #[test]
    fn faults_of_jobs_retire_no_worker() {
        let mut starts = FailedStarts::default();
        for job in 1..9 {
            let mistyped = AttemptReport::not_started(
                failure(job, 0).attempt,
                LaunchFailure::of_job("program", ""),
                Instant::ZERO,
            );
            starts.count(&mistyped, true);
            starts.count(&failure(job, 0), false);
        }
        assert_eq!(starts.verdict(), None);
        for job in 1..4 {
            let report = AttemptReport::not_started(
                failure(job, 0).attempt,
                LaunchFailure::of_host("limits", ""),
                Instant::ZERO,
            );
            starts.count(&report, false);
        }
        assert!(starts.verdict().is_some());
    }

    #[test]
    fn worker_is_retired_after_three_jobs_in_a_row() {
        let mut starts = FailedStarts::default();
        for task in 0..9 {
            starts.count(&failure(1, task), true);
        }
        starts.count(&failure(2, 0), true);
        assert_eq!(starts.verdict(), None, "two jobs may be at fault");
        let mut started = failure(3, 0);
        started.event = AttemptEvent::Started(AttemptStart {
            at: Instant::ZERO,
            pid: Some(1),
        });
        starts.count(&started, true);
        for job in 4..7 {
            assert_eq!(starts.verdict(), None, "{job}");
            starts.count(&failure(job, 0), true);
        }
        let verdict = starts.verdict().unwrap();
        assert_eq!(verdict, "3 jobs in a row could not be started (dir: gone)");
    }
}
