//! Commands to the engine, and its reports.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;

use tollgate_engine::part::{HOST_VARIABLE, HOSTS_VARIABLE};
use tollgate_engine::{Engine, EngineError, LaunchHost, LaunchLimits, LaunchSpec};
use tollgate_model::{
    AttemptId, AttemptReport, BoundedReport, Instant, KillReason, LaunchFailure, NodeId,
    ReportBounds, Span, TaskId,
};
use tollgate_service::EngineAction;
use tollgate_store::{StoreError, StoredProgram};
use tollgate_workers::pool::LaunchRequest;

use super::state::Controller;
use crate::output_name::{self, AttemptFacts};

/// Maximum number of array programs kept in the cache.
const MAX_CACHED_PROGRAMS: usize = 100;
/// The variable with the whole number of a task, or of a job that is no array.
const NUMBER_VARIABLE: &str = "TOLLGATE_NUMBER";
/// The number of the first attempt of a task.
const FIRST_ATTEMPT: u32 = 1;
/// Maximum number of ends left unacknowledged while more reports come in.
const MAX_UNACKNOWLEDGED: usize = 64;
/// Maximum delay of an acknowledgement.
const ACK_DELAY: Span = Span::from_micros(20_000);

/// Interval at which a pending account lookup is checked again.
pub(super) const USER_LOOKUP_INTERVAL: Span = Span::from_micros(5_000);

/// The outcome of preparing an attempt's launch.
enum LaunchOutcome {
    /// The attempt can be started.
    Ready(Box<LaunchRequest>),
    /// The lookup of the user is pending.
    Pending,
    /// The attempt has ended.
    Failed,
}

impl<E: Engine> Controller<E> {
    pub(super) fn poll(&mut self) {
        let now = self.now();
        let (reports, failed) = self.workers.poll(now);
        for report in reports {
            let report = self.clock.date(report);
            let report = self.bounded(report, now);
            self.reports.push(report);
        }
        if let Some(error) = failed {
            self.log_error(&error);
        }
        // Last, so that the engine's own report on an attempt takes precedence.
        self.reports.append(&mut self.failed_launches);
    }

    /// Returns the report with each value in the range in which it can be true.
    fn bounded(&self, report: AttemptReport, now: Instant) -> AttemptReport {
        let attempt = report.attempt;
        let live = self.core.job(attempt.task());
        let ordered = live.map(|live| live.ordered().unwrap_or(live.spec.submit));
        let bounds = ReportBounds {
            earliest: ordered.unwrap_or(Instant::ZERO),
            now,
        };
        let BoundedReport { report, replaced } = bounds.apply(report);
        if !replaced.is_empty() {
            let worker = self.workers.worker_of(attempt);
            tracing::warn!(
                %attempt,
                worker = worker.map(|worker| self.workers.name_of(worker)),
                values = replaced.join(", "),
                "the report has values that cannot be true, the nearest possible are stored"
            );
        }
        report
    }

    /// Moves the ends of stored reports to the list for acknowledgement.
    pub(super) fn mark_reports_stored(&mut self) {
        let reports = std::mem::take(&mut self.reports).into_iter();
        let ended = reports.filter(|report| report.event.is_end());
        self.unacknowledged
            .extend(ended.map(|report| report.attempt));
    }

    /// Acknowledges the stored ends to the engine. Acknowledging can wait while more ends come in;
    /// starting queued jobs cannot.
    pub(super) fn acknowledge(&mut self, more_may_come: bool) {
        if self.unacknowledged.is_empty() || self.engine_backoff_until.is_some() {
            return;
        }
        if more_may_come && self.unacknowledged.len() < MAX_UNACKNOWLEDGED {
            self.ack_deadline = Some(self.now() + ACK_DELAY);
            return;
        }
        self.ack_deadline = None;
        match self.workers.acknowledge(&self.unacknowledged) {
            Ok(()) => self.unacknowledged.clear(),
            Err(error) => self.log_error(&error),
        }
    }

    /// Sends the pending actions to the engine. On failure the actions stay pending. An attempt
    /// that no engine could start has ended.
    pub(super) fn dispatch(&mut self) {
        let actions = std::mem::take(&mut self.pending_actions);
        if actions.is_empty() {
            return;
        }
        let mut launches: Vec<LaunchRequest> = Vec::new();
        let mut shares = BTreeMap::new();
        let (mut kills, mut withdrawals) = (Vec::new(), Vec::new());
        // Attempts that cannot be started yet; all their actions wait.
        let mut later = BTreeSet::new();
        for order in &actions {
            match order {
                EngineAction::Start {
                    attempt,
                    nodes,
                    after,
                } => {
                    match self.prepare_launch(*attempt, nodes, *after) {
                        Ok(LaunchOutcome::Ready(request)) => launches.push(*request),
                        Ok(LaunchOutcome::Failed) => {}
                        Ok(LaunchOutcome::Pending) => drop(later.insert(*attempt)),
                        Err(error) => {
                            // No action is lost, and engines accept an action twice.
                            self.log_error(&error);
                            self.pending_actions = actions;
                            return;
                        }
                    }
                }
                EngineAction::SetShare { attempt, rate } => {
                    shares.insert(*attempt, rate.max(f64::MIN_POSITIVE));
                }
                EngineAction::Kill { attempt } => kills.push(*attempt),
                EngineAction::Withdraw { attempt } => withdrawals.push(*attempt),
                EngineAction::Continued { .. } => {}
            }
        }
        let waits = |order: &EngineAction| {
            let (EngineAction::Start { attempt, .. }
            | EngineAction::SetShare { attempt, .. }
            | EngineAction::Withdraw { attempt }
            | EngineAction::Continued { attempt, .. }
            | EngineAction::Kill { attempt }) = order;
            later.contains(attempt)
        };
        for launch in launches.iter_mut().map(|request| &mut request.launch) {
            if let Some(share) = shares.remove(&launch.attempt) {
                launch.share = share;
            }
        }
        let now = self.now();
        let shares: Vec<_> = shares.into_iter().collect();
        let done = run_if(!launches.is_empty(), || self.workers.start(launches, now))
            .and_then(|()| run_if(!shares.is_empty(), || self.workers.set_shares(&shares)))
            .and_then(|()| {
                run_if(!kills.is_empty(), || {
                    self.workers.kill(&kills, KillReason::Cancelled, now)
                })
            })
            .and_then(|()| {
                run_if(!withdrawals.is_empty(), || {
                    let why = KillReason::Withdrawn;
                    self.workers.kill(&withdrawals, why, now)
                })
            });
        if let Err(error) = done {
            self.log_error(&error);
            self.engine_backoff_until = self.retry_at;
            self.engine_failures += 1;
            self.pending_actions = actions;
        } else if !later.is_empty() {
            self.retry_at = Some(self.now() + USER_LOOKUP_INTERVAL);
            self.pending_actions = actions.into_iter().filter(waits).collect();
        }
    }

    /// Returns the program of a job. The tasks of an array share a program, which is read once.
    pub(super) fn program(&mut self, job: u64) -> Result<Option<StoredProgram>, StoreError> {
        if self.core.array(job).is_none() {
            return self.store.program(job);
        }
        if let Some(program) = self.programs.get(&job) {
            return Ok(Some(StoredProgram::Whole(Box::new(program.clone()))));
        }
        self.forget_ended_arrays();
        let program = self.store.program(job)?;
        if let Some(StoredProgram::Whole(program)) = &program
            && self.programs.len() < MAX_CACHED_PROGRAMS
        {
            self.programs.insert(job, (**program).clone());
        }
        Ok(program)
    }

    /// Returns the whole number of a task: that of its job, unless the task belongs to an array. None if the store is
    /// damaged.
    fn task_number(&mut self, task: TaskId) -> Result<Option<u64>, StoreError> {
        let job = task.job;
        if self.core.array(job).is_none() {
            return Ok(Some(job));
        }
        if let Some(numbers) = self.task_numbers.get(&job) {
            return Ok(numbers.number(task.task));
        }
        self.forget_ended_arrays();
        let numbers = self.store.task_numbers(job)?;
        let number = numbers.as_ref().and_then(|all| all.number(task.task));
        if self.task_numbers.len() < MAX_CACHED_PROGRAMS {
            self.task_numbers
                .extend(numbers.map(|numbers| (job, numbers)));
        }
        Ok(number)
    }

    fn forget_ended_arrays(&mut self) {
        let core = &self.core;
        self.programs.retain(|&job, _| core.array(job).is_some());
        self.task_numbers
            .retain(|&job, _| core.array(job).is_some());
    }

    /// Ends an attempt without the engine.
    fn fail_attempt(&mut self, attempt: AttemptId, failure: LaunchFailure) -> LaunchOutcome {
        let now = self.now();
        self.failed_launches
            .push(AttemptReport::not_started(attempt, failure, now));
        self.retry_at = Some(now);
        LaunchOutcome::Failed
    }

    /// Prepares the launch of an attempt. The outcome is `Never` if the attempt has ended: an
    /// action that failed at first may have been carried out all the same.
    fn prepare_launch(
        &mut self,
        attempt: AttemptId,
        nodes: &[NodeId],
        after: Option<AttemptId>,
    ) -> Result<LaunchOutcome, StoreError> {
        let live = self.core.job(attempt.task());
        let live = live.filter(|live| live.is_ordered(attempt));
        let Some((owner, time_limit)) = live.map(|live| (live.user, live.time_limit)) else {
            return Ok(LaunchOutcome::Failed);
        };
        let program = match self.program(attempt.job)? {
            Some(StoredProgram::Whole(program)) => *program,
            Some(StoredProgram::Missing(text)) => {
                let why = "its text is not in the store as it came with the job";
                return Ok(self.fail_attempt(attempt, LaunchFailure::of_host(text, why)));
            }
            None => return Ok(LaunchOutcome::Failed),
        };
        let user = match (self.run_as)(owner) {
            None => return Ok(LaunchOutcome::Pending),
            Some(Ok(user)) => user,
            Some(Err(error)) => {
                let (job, task) = (attempt.job, attempt.task);
                tracing::warn!(job, task, %error, "no account for the job");
                return Ok(self.fail_attempt(attempt, error.into_failure()));
            }
        };
        let enforced = self.core.rules().enforces_time_limits();
        let own_limit = time_limit.filter(|_| enforced);
        let limit_of_rule = self.core.attempt_limit(attempt.task());
        let wall = own_limit.into_iter().chain(limit_of_rule).min();
        let hosts = self.launch_hosts(nodes);
        let host = hosts.first().map(|host| host.name.as_str());
        let path = |name: &Option<String>| -> Option<PathBuf> {
            let name = name.as_deref()?;
            Some(file_path(name, attempt, host).into())
        };
        let output = path(&program.output);
        let error = path(&program.error).filter(|error| Some(error) != output.as_ref());
        let input = path(&program.input);
        let mut placement = placement_variables(nodes, &hosts).to_vec();
        placement.extend(self.device_variables(attempt, nodes));
        let number = self.task_number(attempt.task())?;
        placement.extend(number.map(|number| (NUMBER_VARIABLE.into(), number.to_string().into())));
        let launch = LaunchSpec {
            attempt,
            nodes: nodes.to_vec(),
            argv: program.argv.into_iter().map(OsString::from).collect(),
            script: program.script,
            env: os_env(program.env)
                .into_iter()
                .filter(|(name, _)| placement.iter().all(|(own, _)| own != name))
                .chain(placement.clone())
                .collect(),
            hosts,
            dir: PathBuf::from(program.dir),
            output,
            error,
            input,
            // Output that an attempt wrote before it was lost stays.
            append: program.append || attempt.attempt > FIRST_ATTEMPT,
            user,
            umask: program.umask,
            limits: LaunchLimits {
                memory: program.memory,
                wall,
                warning: program.signal.filter(|_| enforced),
                ..self.task_limits
            },
            share: 1.0,
            after,
            is_probe: false,
        };
        Ok(LaunchOutcome::Ready(Box::new(LaunchRequest {
            owner,
            launch,
        })))
    }
}

impl<E: Engine> Controller<E> {
    /// Returns the hosts of an attempt on these nodes, the one where its program runs first.
    fn launch_hosts(&self, nodes: &[NodeId]) -> Vec<LaunchHost> {
        let parts = self.host_parts(nodes).into_iter();
        let host = |(name, count)| LaunchHost {
            name,
            nodes: u32::try_from(count).unwrap_or(u32::MAX),
        };
        parts.map(host).collect()
    }
}

/// Returns what an attempt finds of its processors. That is how many it has on all hosts together, on which
/// hosts, as Open MPI's `--host` takes them, and which of them it runs on.
fn placement_variables(nodes: &[NodeId], hosts: &[LaunchHost]) -> [(OsString, OsString); 3] {
    let parts = hosts.iter();
    let parts: Vec<String> = parts
        .map(|host| format!("{}:{}", host.name, host.nodes))
        .collect();
    let here = hosts.first().map_or("", |host| host.name.as_str());
    [
        ("TOLLGATE_PROCS".into(), nodes.len().to_string().into()),
        (HOSTS_VARIABLE.into(), parts.join(",").into()),
        (HOST_VARIABLE.into(), here.into()),
    ]
}

fn run_if(
    condition: bool,
    act: impl FnOnce() -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    if condition { act() } else { Ok(()) }
}

fn os_env(env: Vec<(String, String)>) -> Vec<(OsString, OsString)> {
    env.into_iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}

fn file_path(name: &str, attempt: AttemptId, host: Option<&str>) -> String {
    let facts = AttemptFacts {
        job: attempt.job,
        task: Some(attempt.task),
        restarts: Some(attempt.attempt.saturating_sub(FIRST_ATTEMPT)),
        host,
    };
    output_name::of_attempt(name, &facts)
}
