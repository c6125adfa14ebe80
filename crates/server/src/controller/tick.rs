//! One tick of the controller: all requests since the last tick.

use tollgate_engine::Engine;
use tollgate_model::{AttemptReport, Instant};
use tollgate_policy::JobPhase;
use tollgate_service::{
    Core, DependencyCondition, LOCAL_WORKER, ServiceCommand, Submission, UnfinishedCounts,
};
use tollgate_store::JobProgram;

use super::commit::{CommandData, CommandPrograms};
use super::keys::{KeyedCommands, KeyedRequest};
use super::quota::UserQuota;
use super::request::{ControllerRequest, NewJob};
use super::request_error::RequestError;
use super::requested_times;
use super::response::{PendingClaim, PendingResponse};
use super::state::Controller;
use crate::failpoint::ServiceFailpoint;

/// Approximate maximum number of batches that a recovery replays.
const MAX_BATCHES_PER_SNAPSHOT: u32 = 2_000;

/// The input of a tick.
pub(super) struct TickInput {
    pub(super) commands: Vec<ServiceCommand>,
    /// One response for each command.
    responses: Vec<PendingResponse>,
    programs: CommandPrograms,
    /// The commands of requests that their clients may send again.
    pub(super) keyed: KeyedCommands,
    /// Requests that came twice, answered after all commands.
    pub(super) repeats: Vec<KeyedRequest>,
    /// Queries, answered after all commands.
    queries: Vec<ControllerRequest>,
    quota: UserQuota,
}

impl<E: Engine> Controller<E> {
    /// Handles the requests, commits their consequences, and then answers and acts.
    pub fn tick(&mut self, requests: Vec<ControllerRequest>) {
        let now = self.now();
        self.clock.log_difference();
        self.retry_at = self.retry_at.filter(|&at| at > now);
        self.engine_backoff_until = self.engine_backoff_until.filter(|&at| at > now);
        let requests = self.handle_worker_events(requests);
        self.poll();
        self.disk_full = self.disk_full && !self.store.keep_reserve();
        let reported = !self.reports.is_empty();
        self.stored.begin_tick();
        let mut intake = TickInput {
            commands: Vec::new(),
            responses: Vec::new(),
            programs: CommandPrograms::new(),
            keyed: KeyedCommands::default(),
            repeats: Vec::new(),
            queries: Vec::new(),
            quota: self.user_quota(&requests),
        };
        let core = &self.core;
        let do_jobs_wait = || has_queued_jobs(core, now);
        let ahead = self.clock.ahead();
        let changes = self
            .workers
            .membership_changes(core.gate(), ahead, do_jobs_wait);
        for command in changes {
            intake.add(command, PendingResponse::Internal);
        }
        if self.core.next_wake().is_some_and(|at| at <= now) {
            intake.add(ServiceCommand::Tick, PendingResponse::Internal);
        }
        // The time left until a deadline is counted from the instant of the decision.
        let at = self.now();
        for request in requests {
            self.accept(request, at, &mut intake);
        }
        if !intake.commands.is_empty() || !self.can_reports_wait(at) {
            self.report_deadline = None;
            intake.add_reports(&self.reports);
        }
        if !intake.commands.is_empty() {
            let data = CommandData {
                programs: intake.programs,
                keyed: intake.keyed,
            };
            self.execute(at, &intake.commands, data, intake.responses);
            self.changed_at = Some(at);
        }
        for repeat in intake.repeats {
            self.answer_repeat(repeat);
        }
        for (worker, running) in self.workers.sync_with_gate(self.core.gate()) {
            self.resync_worker(worker, &running);
        }
        self.log_workers();
        self.publish_hosts(at);
        if self.engine_backoff_until.is_none() {
            self.dispatch();
            self.failpoint(ServiceFailpoint::Dispatched);
        }
        self.start_parts();
        self.store_outputs(at);
        self.acknowledge(reported);
        self.failpoint(ServiceFailpoint::Acknowledged);
        for request in intake.queries {
            self.query(request);
        }
        self.take_samples(at);
        if self.store.since_snapshot() >= MAX_BATCHES_PER_SNAPSHOT {
            self.write_snapshot();
        }
    }

    /// Handles the workers' events first, because this turn uses their news. Returns the other
    /// requests.
    fn handle_worker_events(&mut self, requests: Vec<ControllerRequest>) -> Vec<ControllerRequest> {
        let mut others = Vec::new();
        for request in requests {
            if let ControllerRequest::Worker { event, reply } = request {
                let _ = reply.send(self.workers.on_connection_event(event));
            } else if let ControllerRequest::Part(call) = request {
                self.workers.request_part(*call);
            } else {
                others.push(request);
            }
        }
        others
    }

    pub(super) fn accept(&mut self, request: ControllerRequest, at: Instant, to: &mut TickInput) {
        match request {
            ControllerRequest::Keyed(keyed) => self.accept_keyed(*keyed, at, to),
            ControllerRequest::Submit { jobs } => self.accept_jobs(jobs, at, to),
            ControllerRequest::Claim {
                user,
                job,
                program,
                reply,
            } => {
                let key = program.claim_key.clone();
                let claim = PendingClaim {
                    user,
                    job,
                    key,
                    reply,
                };
                self.accept_claim(claim, *program, to);
            }
            ControllerRequest::Reserve { .. } | ControllerRequest::Learn { .. }
                if self.disk_full =>
            {
                request.fail(RequestError::DiskFull);
            }
            ControllerRequest::Reserve {
                mut submission,
                times,
                reply,
            } => {
                let admitted = to.quota.try_admit(submission.user, submission.counts());
                match admitted.and_then(|()| times.resolve(&mut submission, at)) {
                    Ok(()) => to.add(
                        ServiceCommand::Submit(Box::new(submission)),
                        PendingResponse::Reserve(reply),
                    ),
                    Err(failed) => drop(reply.send(Err(failed))),
                }
            }
            ControllerRequest::Command {
                user,
                command,
                reply,
            } => match self.authorise(user, &command) {
                Ok(()) => to.add(command, PendingResponse::Command(reply)),
                Err(failed) => drop(reply.send(Err(failed))),
            },
            ControllerRequest::Alter {
                user,
                job,
                mut change,
                due,
                reply,
            } => {
                let resolved = requested_times::resolve_change(&mut change, due, at);
                let command = ServiceCommand::Alter { job, change };
                match resolved.and_then(|()| self.authorise(user, &command)) {
                    Ok(()) => to.add(command, PendingResponse::Alter(reply)),
                    Err(failed) => drop(reply.send(Err(failed))),
                }
            }
            ControllerRequest::Drain {
                worker,
                drained,
                reply,
            } => {
                let mut workers = match &worker {
                    None => vec![LOCAL_WORKER],
                    Some(name) => self.workers.named(name, self.core.gate()),
                };
                let Some(last) = workers.pop() else {
                    let name = worker.unwrap_or_default();
                    let _ = reply.send(Err(RequestError::UnknownWorker(name)));
                    return;
                };
                let drain = |worker| ServiceCommand::Drain { worker, drained };
                for worker in workers {
                    to.add(drain(worker), PendingResponse::Internal);
                }
                to.add(drain(last), PendingResponse::Command(reply));
            }
            ControllerRequest::ExpectHosts {
                site,
                statement,
                reply,
            } => {
                let command = ServiceCommand::ExpectHosts { site, statement };
                to.add(command, PendingResponse::Command(reply));
            }
            ControllerRequest::Maintain { calendar } => {
                let calendar = self.clock.date_windows(&calendar);
                if *self.core.gate().view(at).maintenance() != calendar {
                    let command = ServiceCommand::Maintain { calendar };
                    to.add(command, PendingResponse::Internal);
                }
            }
            ControllerRequest::HostSlowed { host, slowdown } => {
                self.workers.set_exported(host, slowdown);
            }
            ControllerRequest::WeighUsers { weights } => {
                let view = self.core.gate().view(at);
                let known = view.user_weights().iter();
                let known: Vec<(u32, f64)> =
                    known.map(|(user, &weight)| (user.0, weight)).collect();
                if known != weights {
                    let command = ServiceCommand::WeighUsers { weights };
                    to.add(command, PendingResponse::Internal);
                }
            }
            ControllerRequest::SetLicences { licences } => {
                let view = self.core.gate().view(at);
                let known = self.core.resource_names().named(&view.licences());
                if known != licences {
                    let command = ServiceCommand::SetLicences { licences };
                    to.add(command, PendingResponse::Internal);
                }
            }
            ControllerRequest::Learn { records, reply } => to.add(
                ServiceCommand::Learn { records },
                PendingResponse::Learn(reply),
            ),
            ControllerRequest::Quote { .. }
            | ControllerRequest::Signal { .. }
            | ControllerRequest::BeginStep { .. }
            | ControllerRequest::EndStep { .. }
            | ControllerRequest::MoveEnds { .. }
            | ControllerRequest::ReleaseWorkers { .. }
            | ControllerRequest::Ping { .. }
            | ControllerRequest::Status { .. }
            | ControllerRequest::Nodes { .. }
            | ControllerRequest::Explain { .. }
            | ControllerRequest::WaitCauses { .. }
            | ControllerRequest::Suspensions { .. }
            | ControllerRequest::Predict { .. }
            | ControllerRequest::Now { .. }
            | ControllerRequest::ExplainArray { .. }
            | ControllerRequest::PromiseRisk { .. }
            | ControllerRequest::Wait { .. }
            | ControllerRequest::Prune { .. }
            | ControllerRequest::Worker { .. }
            | ControllerRequest::ReadOutput { .. }
            | ControllerRequest::Part(_)
            | ControllerRequest::EngineReady
            | ControllerRequest::Stop => to.queries.push(request),
        }
    }

    /// Handles a claim of a reserved quote. A claim that was carried out before is confirmed before any limit
    /// is checked: its client does not know the first answer.
    fn accept_claim(&mut self, claim: PendingClaim, program: JobProgram, to: &mut TickInput) {
        let command = ServiceCommand::Claim { job: claim.job };
        let is_repeated = claim.key.is_some() && to.commands.contains(&command);
        let checked = match self.was_claimed(&claim) {
            Ok(true) => return drop(claim.reply.send(Ok(()))),
            Err(error) => Err(RequestError::from(&error)),
            // The first of both is carried out in this turn; the answer to the second waits for it.
            Ok(false) if is_repeated => self.authorise(Some(claim.user), &command),
            Ok(false) if self.disk_full => Err(RequestError::DiskFull),
            Ok(false) => self.authorise(Some(claim.user), &command).and_then(|()| {
                match self.stored.try_reserve(claim.user, program.bytes()) {
                    true => Ok(()),
                    false => Err(RequestError::StorageLimit(self.stored.max())),
                }
            }),
        };
        match checked {
            Ok(()) => {
                if !is_repeated {
                    to.programs.insert(to.commands.len(), program);
                }
                to.add(command, PendingResponse::Claim(claim));
            }
            Err(failed) => drop(claim.reply.send(Err(failed))),
        }
    }

    /// Accepts the jobs of one user, or none of them if one cannot be accepted.
    fn accept_jobs(&mut self, mut jobs: Vec<NewJob>, at: Instant, to: &mut TickInput) {
        if let Err(failed) = self.check_jobs(&mut jobs, at, &mut to.quota) {
            for job in jobs {
                let _ = job.reply.send(Err(failed.clone()));
            }
            return;
        }
        for job in jobs {
            to.programs.insert(to.commands.len(), *job.program);
            to.add(
                ServiceCommand::Submit(Box::new(job.submission)),
                PendingResponse::Submit(job.reply),
            );
        }
    }

    /// Checks whether all of the jobs can be accepted, and resolves their dependencies and times.
    fn check_jobs(
        &mut self,
        jobs: &mut [NewJob],
        at: Instant,
        quota: &mut UserQuota,
    ) -> Result<(), RequestError> {
        let Some(user) = jobs.first().map(|job| job.submission.user) else {
            return Ok(());
        };
        if self.disk_full {
            return Err(RequestError::DiskFull);
        }
        quota.try_admit(user, jobs.iter().map(|job| job.submission.counts()).sum())?;
        let bytes = jobs.iter().map(|job| job.program.bytes());
        if !self
            .stored
            .try_reserve(user, bytes.fold(0, u64::saturating_add))
        {
            return Err(RequestError::StorageLimit(self.stored.max()));
        }
        for job in jobs {
            self.resolve_dependencies(&mut job.submission)?;
            job.times.resolve(&mut job.submission, at)?;
            job.program.begin = job.submission.options.begin;
        }
        Ok(())
    }

    /// Returns whether the reports can wait for a moment for other changes, so that both are stored at once.
    /// It can soon after another change, if nothing waits for the nodes that they free, nor for the ends of jobs.
    fn can_reports_wait(&mut self, now: Instant) -> bool {
        if self.reports.is_empty() {
            return true;
        }
        let due = self.changed_at.map_or(now, |at| at + self.report_delay);
        // The clock may have jumped back since.
        let due = due.min(now + self.report_delay);
        let due = *self.report_deadline.get_or_insert(due);
        let is_end = |report: &AttemptReport| report.event.is_end();
        let is_awaited = || {
            let mut arrays = self.core.arrays();
            !self.waiters.is_empty()
                || self.core.n_waiting().0 > 0
                || arrays.any(|(_, array)| array.n_pending() > 0)
                || has_queued_jobs(&self.core, now)
        };
        now < due && !(self.reports.iter().any(is_end) && is_awaited())
    }

    fn user_quota(&self, requests: &[ControllerRequest]) -> UserQuota {
        let arriving: UnfinishedCounts = requests.iter().map(ControllerRequest::submits).sum();
        // The limits matter only to submissions.
        let together = match arriving == UnfinishedCounts::default() {
            true => arriving,
            false => self.core.unfinished() + arriving,
        };
        UserQuota::new(
            self.max_unfinished,
            self.core.n_job_numbers(),
            together,
            || self.core.unfinished_of_users(),
        )
    }

    /// Checks that the user owns all predecessors of a job, and drops those that have already
    /// finished.
    fn resolve_dependencies(&self, submission: &mut Submission) -> Result<(), RequestError> {
        let user = submission.user;
        let mut live = Vec::new();
        for earlier in std::mem::take(&mut submission.options.dependencies) {
            let job = earlier.job;
            match self.core.user_of(job) {
                Some(owner) if owner == user => live.push(earlier),
                Some(_) => return Err(RequestError::UnknownDependency(job)),
                None => {
                    let ended = self
                        .store
                        .ended(job)
                        .map_err(|error| RequestError::from(&error))?;
                    let (_, well) = ended
                        .filter(|&(owner, _)| owner == user)
                        .ok_or(RequestError::UnknownDependency(job))?;
                    match earlier.condition {
                        DependencyCondition::Success if !well => {
                            return Err(RequestError::DependencyFailed(job));
                        }
                        DependencyCondition::Failure if well => {
                            return Err(RequestError::DependencySucceeded(job));
                        }
                        DependencyCondition::Success
                        | DependencyCondition::AnyEnd
                        | DependencyCondition::Failure => {}
                    }
                }
            }
        }
        submission.options.dependencies = live;
        Ok(())
    }

    /// Rejects commands on a job of another user as if the job did not exist.
    fn authorise(&self, user: Option<u32>, command: &ServiceCommand) -> Result<(), RequestError> {
        let (ServiceCommand::Cancel { job, .. }
        | ServiceCommand::Hold { job, .. }
        | ServiceCommand::Release { job, .. }
        | ServiceCommand::Requeue { job, .. }
        | ServiceCommand::Alter { job, .. }
        | ServiceCommand::Claim { job }) = command
        else {
            return Ok(());
        };
        let owner = self.core.user_of(*job);
        if owner.is_some_and(|owner| user.is_none_or(|user| owner == user)) {
            Ok(())
        } else {
            Err(RequestError::Ignored(
                tollgate_service::CommandError::UnknownJob,
            ))
        }
    }
}

/// Returns whether a job waits for nodes.
fn has_queued_jobs(core: &Core, now: Instant) -> bool {
    let view = core.gate().view(now);
    view.jobs().any(|(_, job)| job.phase == JobPhase::Queued)
}

impl TickInput {
    /// Adds reports, before all other commands.
    fn add_reports(&mut self, reports: &[AttemptReport]) {
        let n_reports = reports.len();
        let commands = reports.iter().cloned().map(ServiceCommand::Report);
        self.commands.splice(..0, commands);
        let responses = (0..n_reports).map(|_| PendingResponse::Internal);
        self.responses.splice(..0, responses);
        self.keyed.shift(n_reports);
        let programs = std::mem::take(&mut self.programs).into_iter();
        self.programs = programs
            .map(|(index, program)| (index + n_reports, program))
            .collect();
    }

    fn add(&mut self, command: ServiceCommand, response: PendingResponse) {
        self.commands.push(command);
        self.responses.push(response);
    }
}
