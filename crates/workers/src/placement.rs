//! Starts of attempts on the right workers, and starts that have to wait.

use std::collections::BTreeMap;

use tollgate_engine::output::AttemptStream;
use tollgate_engine::part::whole_attempt;
use tollgate_engine::{Engine, EngineError, LaunchSpec};
use tollgate_gate::WorkerId;
use tollgate_model::{AttemptId, AttemptReport, Instant, LaunchFailure};
use tollgate_service::LOCAL_WORKER;

use crate::pool::{LaunchRequest, WorkerPool};
use crate::protocol::{ServerMessage, WorkerLaunch};

/// Maximum number of attempts in one message: each may carry a script.
const MAX_LAUNCHES_PER_FRAME: usize = 16;

impl<E: Engine> WorkerPool<E> {
    /// Starts attempts. Attempts for a disconnected worker are sent when it connects again. An
    /// attempt waits until an earlier attempt of the same task has ended.
    pub fn start(&mut self, launches: Vec<LaunchRequest>, now: Instant) -> Result<(), EngineError> {
        let mut here = Vec::new();
        let mut away: BTreeMap<WorkerId, Vec<WorkerLaunch>> = BTreeMap::new();
        for request in launches {
            if self.predecessor_may_run(request.launch.attempt) {
                self.delay(request);
                continue;
            }
            let (worker, nodes) = self.locate(&request.launch.nodes);
            if nodes.is_empty() {
                // The nodes have gone since, and the attempt with them.
                continue;
            }
            self.assign(request.launch.attempt, worker);
            if let Some(location) = self.locations.get_mut(&request.launch.attempt) {
                // Another worker may have claimed to run it before it was ordered.
                location.worker = worker;
                location.is_unconfirmed = false;
                location.streams = streams(&request.launch);
            }
            let launch = LaunchSpec {
                nodes,
                ..request.launch
            };
            match worker {
                LOCAL_WORKER => here.push(self.with_access(launch)),
                _ => match self.worker_launch(request.owner, launch) {
                    Ok(charge) => away.entry(worker).or_default().push(charge),
                    Err(unfit) => self.inbox.push(unfit.into_report(now)),
                },
            }
        }
        for (worker, charges) in away {
            for charges in charges.chunks(MAX_LAUNCHES_PER_FRAME) {
                self.send(worker, ServerMessage::Start(charges.to_vec()));
            }
        }
        match here.is_empty() {
            true => Ok(()),
            false => self.local.start(&here),
        }
    }

    /// Starts the attempts that waited for an attempt that has ended.
    pub fn start_delayed(&mut self, now: Instant) -> Result<(), EngineError> {
        let held = std::mem::take(&mut self.delayed);
        let ready = |request: &LaunchRequest| !self.predecessor_may_run(request.launch.attempt);
        let (ready, held): (Vec<_>, Vec<_>) = held.into_iter().partition(ready);
        self.delayed = held;
        if ready.is_empty() {
            return Ok(());
        }
        let started = self.start(ready.clone(), now);
        if started.is_err() {
            // Engines accept an attempt twice.
            self.delayed.extend(ready);
        }
        started
    }

    /// Ends attempts that wait for their start, without starting them.
    pub fn cancel_delayed(&mut self, attempts: &[AttemptId], now: Instant) {
        let is_meant = |request: &mut LaunchRequest| attempts.contains(&request.launch.attempt);
        let killed: Vec<LaunchRequest> = self.delayed.extract_if(.., is_meant).collect();
        let ended = killed.into_iter().map(|request| LaunchError {
            attempt: request.launch.attempt,
            failure: LaunchFailure::of_job("start", "it was killed before it started"),
        });
        self.inbox.extend(ended.map(|unfit| unfit.into_report(now)));
    }

    fn delay(&mut self, request: LaunchRequest) {
        let attempt = request.launch.attempt;
        let is_known = |other: &LaunchRequest| other.launch.attempt == attempt;
        if !self.delayed.iter().any(is_known) {
            self.delayed.push(request);
        }
    }

    /// Returns whether an earlier attempt of the same task may still be running.
    fn predecessor_may_run(&self, attempt: AttemptId) -> bool {
        let mut lives = self
            .workers
            .values()
            .filter(|worker_entry| worker_entry.incarnation.is_some());
        if attempt.attempt > 1 && lives.any(|worker_entry| !worker_entry.has_reported_running) {
            return true;
        }
        let mut running = self
            .locations_of_task(attempt)
            .filter(|(_, location)| !location.ended);
        running.any(|(other, _)| whole_attempt(other).attempt < attempt.attempt)
    }

    pub(crate) fn worker_launch(
        &self,
        owner: u32,
        launch: LaunchSpec,
    ) -> Result<WorkerLaunch, LaunchError> {
        let attempt = launch.attempt;
        let unfit = |failure| LaunchError { attempt, failure };
        let pool_config = self.pool_config.as_ref();
        let Some(pool_config) = pool_config else {
            let reason = "the service takes no workers any more";
            return Err(unfit(LaunchFailure::of_host("node", reason)));
        };
        let owner = (pool_config.name_of)(owner)
            .map_err(|error| unfit(LaunchFailure::of_job("user", error)))?;
        Ok(WorkerLaunch {
            launch: LaunchSpec {
                user: None,
                ..launch
            },
            owner,
        })
    }
}

/// Returns the streams that a launch writes to files.
fn streams(launch: &LaunchSpec) -> Vec<AttemptStream> {
    let is_file = |stream: &AttemptStream| {
        let file = launch.file_of(*stream);
        file.is_some_and(|file| !file.starts_with("/dev"))
    };
    AttemptStream::ALL.into_iter().filter(is_file).collect()
}

/// An attempt that cannot be sent.
pub(crate) struct LaunchError {
    pub(crate) attempt: AttemptId,
    pub(crate) failure: LaunchFailure,
}

impl LaunchError {
    fn into_report(self, at: Instant) -> AttemptReport {
        AttemptReport::not_started(self.attempt, self.failure, at)
    }
}
