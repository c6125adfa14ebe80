//! Parts of attempts on other hosts: requests for them, their starts, and their ends.
//!
//! A process of an attempt asks its own host for a part on another host of the attempt. The host of the
//! process says for which user it asks, and the controller says which attempts run and on which nodes.
//! A part is then one more attempt to its engine. It ends with its attempt, whatever ends that one.

use std::collections::BTreeMap;
use std::fmt;

use tollgate_engine::part::{HOST_VARIABLE, whole_attempt};
use tollgate_engine::{
    AttemptPart, Engine, EngineError, LaunchLimits, LaunchSpec, PartEvent, PartRequest,
    SpreadAccess,
};
use tollgate_gate::WorkerId;
use tollgate_model::{AttemptEvent, AttemptId, AttemptReport, KillReason, LaunchFailure, NodeId};
use tollgate_service::LOCAL_WORKER;

use crate::placement::LaunchError;
use crate::pool::{AttemptLocation, WorkerPool};
use crate::protocol::ServerMessage;

/// Maximum number of parts of one attempt at a time: more than a job has hosts, several times.
const MAX_PARTS: usize = 4_096;

/// The end of a request's connection on this host. Must not block.
pub trait PartSink: Send {
    /// Passes an event to the process that asked. It may be gone.
    fn send(&mut self, event: PartEvent);
}

/// A request for a part that is not decided yet.
pub struct PartCall {
    /// Name of the user whose process asks.
    pub user: String,
    /// The request.
    pub request: PartRequest,
    /// The origin of the request, which receives the events.
    pub(crate) origin: PartOrigin,
}

/// The origin of a request for a part.
pub(crate) enum PartOrigin {
    /// A process on the host of the service.
    Local(Box<dyn PartSink>),
    /// A process on the host of a worker, and the worker's number of the request.
    Worker(WorkerId, u64),
}

impl fmt::Debug for PartCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let call = (&self.user, &self.request);
        f.debug_tuple("PartCall").field(&call).finish()
    }
}

impl PartCall {
    /// Creates a request of a process on the host of the service.
    pub fn local(user: String, request: PartRequest, sink: Box<dyn PartSink>) -> Self {
        Self {
            user,
            request,
            origin: PartOrigin::Local(sink),
        }
    }

    fn host(&self) -> WorkerId {
        match &self.origin {
            PartOrigin::Local(_) => LOCAL_WORKER,
            PartOrigin::Worker(worker, _) => *worker,
        }
    }
}

/// An attempt that runs, as far as its parts need to know it.
#[derive(Clone, Debug)]
pub struct PartAttempt {
    /// The job's owner: a user id of the host of the service.
    pub owner: u32,
    /// The account that the owner's tasks run as on the host of the service; None for its own user.
    pub user: Option<tollgate_engine::LaunchUser>,
    /// The nodes of the attempt as the gate numbers them.
    pub nodes: Vec<NodeId>,
    /// Permission bits that new files do not get.
    pub umask: u32,
    /// The limits of the whole attempt.
    pub limits: LaunchLimits,
    /// The attempt's share on its nodes.
    pub share: f64,
}

/// Requests that are not decided, and the origins of running parts.
#[derive(Default)]
pub(crate) struct PartCalls {
    undecided: Vec<PartCall>,
    origins: BTreeMap<AttemptId, PartOrigin>,
    last_number: u16,
    /// Ends of attempts whose parts have not all ended.
    held_ends: Vec<AttemptReport>,
    /// How the host of the service starts parts.
    access: Option<SpreadAccess>,
}

/// A request for a part that cannot be fulfilled.
#[derive(Debug, thiserror::Error)]
enum PartError {
    #[error("job {0} does not run on this host as an attempt of this user")]
    NotRunning(AttemptId),
    #[error("the job has no processors on a host `{0}`")]
    NoSuchHost(String),
    #[error("host {0} is not connected to the service")]
    Disconnected(String),
    #[error("the attempt has {MAX_PARTS} parts already")]
    TooMany,
    #[error("{0}")]
    Launch(LaunchFailure),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl<E: Engine> WorkerPool<E> {
    /// Lets attempts on this host reach their other hosts, and starts parts here.
    pub fn set_spread_access(&mut self, access: SpreadAccess) {
        self.parts.access = Some(access);
    }

    /// Adds to a launch on this host what it needs to reach its other hosts.
    pub(crate) fn with_access(&self, mut launch: LaunchSpec) -> LaunchSpec {
        if let Some(access) = &self.parts.access {
            access.add_to(&mut launch);
        }
        launch
    }

    /// Takes a request for a part. The controller decides about it.
    pub fn request_part(&mut self, call: PartCall) {
        self.parts.undecided.push(call);
    }

    /// Returns the requests that are not decided.
    pub fn take_part_calls(&mut self) -> Vec<PartCall> {
        std::mem::take(&mut self.parts.undecided)
    }

    /// Starts the requested part of an attempt, without an `attempt` if the gate does not know it as running.
    /// The requesting process receives the reason if the part cannot be started.
    pub fn start_part(&mut self, call: PartCall, attempt: Option<PartAttempt>) {
        match self.try_start_part(&call, attempt) {
            Ok(part) => drop(self.parts.origins.insert(part, call.origin)),
            Err(error) => self.report_to(call.origin, PartEvent::Refused(error.to_string())),
        }
    }

    fn try_start_part(
        &mut self,
        call: &PartCall,
        attempt: Option<PartAttempt>,
    ) -> Result<AttemptId, PartError> {
        let request = &call.request;
        let unknown = || PartError::NotRunning(request.attempt);
        let attempt = attempt.ok_or_else(unknown)?;
        if !self.runs_on(request.attempt, call.host()) || !self.is_owner(&attempt, &call.user) {
            return Err(unknown());
        }
        let (worker, nodes) = self
            .host_named(&request.host, &attempt.nodes)
            .ok_or_else(|| PartError::NoSuchHost(request.host.clone()))?;
        let part = self.new_part(request.attempt)?;
        let launch = part_launch(part, request, &attempt, nodes);
        match worker {
            LOCAL_WORKER => {
                let launch = self.with_access(launch);
                self.assign(part.id(), worker);
                let started = self.local.start(&[launch]);
                if started.is_err() {
                    self.locations.remove(&part.id());
                }
                started?;
            }
            _ => {
                let is_connected = |entry: &crate::entry::WorkerEntry| entry.connection.is_some();
                if !self.workers.get(&worker).is_some_and(is_connected) {
                    return Err(PartError::Disconnected(request.host.clone()));
                }
                let launch = self
                    .worker_launch(attempt.owner, launch)
                    .map_err(|LaunchError { failure, .. }| PartError::Launch(failure))?;
                self.assign(part.id(), worker);
                self.send(worker, ServerMessage::Start(vec![launch]));
            }
        }
        Ok(part.id())
    }

    /// Returns whether an attempt or a part of it runs on a worker's host.
    fn runs_on(&self, attempt: AttemptId, worker: WorkerId) -> bool {
        let locations = self.locations_of_task(attempt);
        let mut its = locations.filter(|(id, _)| whole_attempt(*id) == attempt);
        its.any(|(_, location)| location.worker == worker && !location.ended)
    }

    fn is_owner(&self, attempt: &PartAttempt, user: &str) -> bool {
        let name_of = self.pool_config.as_ref().map(|config| &config.name_of);
        name_of.is_some_and(|name_of| name_of(attempt.owner).is_ok_and(|name| name == user))
    }

    /// Returns the worker of this name that has some of the nodes, with its nodes as it numbers them.
    fn host_named(&self, name: &str, nodes: &[NodeId]) -> Option<(WorkerId, Vec<NodeId>)> {
        let mut parts = self
            .node_parts(nodes)
            .filter(|(_, nodes)| !nodes.is_empty());
        parts.find(|(worker, _)| match *worker {
            LOCAL_WORKER => self.local_name == name,
            worker => self.name_of(worker) == name,
        })
    }

    /// Returns a part of an attempt with a number that no other part has. A number is used again only
    /// after all others.
    fn new_part(&mut self, attempt: AttemptId) -> Result<AttemptPart, PartError> {
        let parts = self.locations_of_task(attempt);
        let taken = parts.filter(|(id, _)| AttemptPart::of(*id).is_some());
        if taken.count() >= MAX_PARTS {
            return Err(PartError::TooMany);
        }
        loop {
            self.parts.last_number = self.parts.last_number.wrapping_add(1).max(1);
            let part = AttemptPart::new(attempt, self.parts.last_number);
            let part = part.ok_or(PartError::NotRunning(attempt))?;
            if !self.locations.contains_key(&part.id()) {
                return Ok(part);
            }
        }
    }

    /// Returns the locations of all attempts of a task, and of their parts.
    pub(crate) fn locations_of_task(
        &self,
        attempt: AttemptId,
    ) -> impl Iterator<Item = (AttemptId, &AttemptLocation)> {
        let first = AttemptId {
            attempt: 0,
            ..attempt
        };
        let last = AttemptId {
            attempt: u32::MAX,
            ..attempt
        };
        let range = self.locations.range(first..=last);
        range.map(|(id, location)| (*id, location))
    }

    /// Returns attempts together with those of their parts that have not ended.
    pub(crate) fn with_parts(&self, attempts: &[AttemptId]) -> Vec<AttemptId> {
        let mut all = attempts.to_vec();
        for &attempt in attempts {
            let running = self.locations_of_task(attempt).filter(|(id, location)| {
                AttemptPart::of(*id).is_some_and(|part| part.whole() == attempt) && !location.ended
            });
            all.extend(running.map(|(id, _)| id));
        }
        all
    }

    /// Ends the parts of attempts that are over.
    pub(crate) fn end_parts(&mut self, attempts: &[AttemptId]) -> Result<(), EngineError> {
        let parts = self.with_parts(attempts).split_off(attempts.len());
        self.kill_at_workers(&parts, KillReason::Cancelled)
    }

    /// Takes the reports of parts out of `reports`: they go to the processes that asked for the parts, and
    /// the ends need not be durable. Ends the parts of attempts that have ended, and holds the ends of these
    /// attempts back until no part runs, because the nodes are not free before.
    pub(crate) fn take_part_reports(
        &mut self,
        reports: &mut Vec<AttemptReport>,
    ) -> Result<(), EngineError> {
        let is_part = |report: &mut AttemptReport| AttemptPart::of(report.attempt).is_some();
        let of_parts: Vec<AttemptReport> = reports.extract_if(.., is_part).collect();
        let mut over = Vec::new();
        for report in of_parts {
            let event = match &report.event {
                AttemptEvent::Started(_) => PartEvent::Started,
                AttemptEvent::Ended(outcome) => PartEvent::Ended(outcome.status.to_string()),
                AttemptEvent::Lost { .. } => PartEvent::Ended("it was lost".to_owned()),
            };
            if report.event.is_end() {
                over.push(report.attempt);
            }
            self.report_to_origin(report.attempt, event);
        }
        let acknowledged = match over.is_empty() {
            true => Ok(()),
            false => self.acknowledge(&over),
        };
        let ends = reports.iter().filter(|report| report.event.is_end());
        let ended: Vec<AttemptId> = ends.map(|report| report.attempt).collect();
        let killed = self.end_parts(&ended);
        let held = std::mem::take(&mut self.parts.held_ends);
        // An engine may report an end again that is held.
        reports.extend(
            held.into_iter()
                .filter(|held| !ended.contains(&held.attempt)),
        );
        let is_early = |report: &mut AttemptReport| {
            report.event.is_end() && self.with_parts(&[report.attempt]).len() > 1
        };
        self.parts.held_ends = reports.extract_if(.., is_early).collect();
        killed.and(acknowledged)
    }

    /// Returns whether an end is deferred and no part of its attempt runs any more.
    pub(crate) fn has_due_end(&self) -> bool {
        let mut held = self.parts.held_ends.iter();
        held.any(|report| self.with_parts(&[report.attempt]).len() == 1)
    }

    /// Tells the process that asked for a part what became of it.
    pub(crate) fn report_to_origin(&mut self, part: AttemptId, event: PartEvent) {
        match event.is_last() {
            true => {
                if let Some(origin) = self.parts.origins.remove(&part) {
                    self.report_to(origin, event);
                }
            }
            false => match self.parts.origins.get_mut(&part) {
                Some(PartOrigin::Local(sink)) => sink.send(event),
                Some(PartOrigin::Worker(worker, call)) => {
                    let (worker, call) = (*worker, *call);
                    self.send(worker, ServerMessage::Part { call, event });
                }
                None => {}
            },
        }
    }

    fn report_to(&mut self, origin: PartOrigin, event: PartEvent) {
        match origin {
            PartOrigin::Local(mut sink) => sink.send(event),
            PartOrigin::Worker(worker, call) => {
                self.send(worker, ServerMessage::Part { call, event });
            }
        }
    }
}

/// Returns the launch of a part, without the program, which differs from host to host. The limits of
/// memory and processors are in proportion to the nodes; the time limit is that of the attempt.
fn part_launch(
    part: AttemptPart,
    request: &PartRequest,
    attempt: &PartAttempt,
    nodes: Vec<NodeId>,
) -> LaunchSpec {
    let (here, all) = (nodes.len() as u64, attempt.nodes.len().max(1) as u64);
    let mut launch = LaunchSpec::new(part.id(), nodes, ["tollgate"], "/");
    launch.env = request
        .env
        .iter()
        .map(|(name, value)| (name.into(), value.into()))
        .chain([(HOST_VARIABLE.into(), request.host.clone().into())])
        .collect();
    launch.user = attempt.user.clone();
    launch.umask = attempt.umask;
    launch.limits = LaunchLimits {
        wall: None,
        output: None,
        memory: attempt
            .limits
            .memory
            .map(|bytes| (bytes / all).saturating_mul(here).max(1)),
        ..attempt.limits
    };
    launch.share = attempt.share;
    launch
}
