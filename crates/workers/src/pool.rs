//! This host's engine and all workers, combined for the controller like one engine.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tollgate_engine::output::AttemptStream;
use tollgate_engine::{Engine, EngineCapacity, EngineError, LaunchSpec, WakeCallback};
use tollgate_gate::WorkerId;
use tollgate_host::StateFileError;
use tollgate_model::{
    AttemptId, AttemptReport, HostSlowdown, Instant, KillReason, NodeId, NodeRange,
};
use tollgate_service::LOCAL_WORKER;

use crate::entry::{WorkerConnection, WorkerEntry};
use crate::lease::LeaseTimings;
use crate::outputs::OutputReads;
use crate::parts::PartCalls;
use crate::protocol::ServerMessage;
use crate::registry::WorkerRegistry;
use crate::session::lost_if_evicted;
use crate::slowdown::SlowdownMeter;

/// A clock that returns the time since a fixed moment. It never goes back, whatever happens to the
/// wall clock.
pub type MonotonicClock = Box<dyn FnMut() -> Duration + Send>;

/// Looks up the name of a user of this host. Other hosts know users by name, because user ids may
/// differ between hosts. The error says in words why there is none.
pub type UserNameLookup = Arc<dyn Fn(u32) -> Result<String, String> + Send + Sync>;

/// Configuration of a service that accepts workers.
pub struct WorkerPoolConfig {
    /// The service's unique identity.
    pub service: String,
    /// The users whose jobs run here.
    pub owners: JobOwners,
    /// The lease timings.
    pub lease: LeaseTimings,
    /// Path of the worker registry.
    pub registry: PathBuf,
    /// Looks up the name of a user.
    pub name_of: UserNameLookup,
}

/// The users whose jobs a service runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobOwners {
    /// The service's own user, by name.
    Own(String),
    /// Every user.
    All,
}

/// The engine of this host, and the workers on other hosts.
///
/// An attempt runs on the worker that holds most of its nodes. Its nodes on other workers are only
/// reserved, as for a batch job that is started on the first of its hosts.
pub struct WorkerPool<E> {
    pub(crate) local: E,
    pub(crate) local_nodes: NodeRange,
    pub(crate) pool_config: Option<WorkerPoolConfig>,
    pub(crate) registry: WorkerRegistry,
    pub(crate) workers: BTreeMap<WorkerId, WorkerEntry>,
    pub(crate) connections: BTreeMap<u64, WorkerConnection>,
    /// The locations of attempts whose ends are not yet durable.
    pub(crate) locations: BTreeMap<AttemptId, AttemptLocation>,
    /// Attempts whose predecessor may still run.
    pub(crate) delayed: Vec<LaunchRequest>,
    /// Reports that the controller has not yet taken.
    pub(crate) inbox: Vec<AttemptReport>,
    pub(crate) ticks: MonotonicClock,
    pub(crate) parts: PartCalls,
    pub(crate) outputs: OutputReads,
    /// The slowdown of this host; None if slowdowns are not measured.
    pub(crate) local_meter: Option<SlowdownMeter>,
    /// Name of this host, as attempts know it.
    pub(crate) local_name: String,
    /// By name of the host: the slowdown that its exporter shows.
    pub(crate) exported: BTreeMap<String, HostSlowdown>,
}

/// An attempt to start, on nodes as the gate numbers them.
#[derive(Clone, Debug)]
pub struct LaunchRequest {
    /// The job's owner: a user id of this host.
    pub owner: u32,
    /// The launch specification.
    pub launch: LaunchSpec,
}

/// The location of an attempt.
pub(crate) struct AttemptLocation {
    pub(crate) worker: WorkerId,
    /// Whether the attempt has ended.
    pub(crate) ended: bool,
    /// Whether the worker's list of running attempts lacked this attempt. Either it has ended, with
    /// a report to follow, or the start message was lost.
    pub(crate) is_unconfirmed: bool,
    /// The streams that the attempt may write to files of their own.
    pub(crate) streams: Vec<AttemptStream>,
}

impl<E: Engine> WorkerPool<E> {
    /// Creates a pool of this host alone, which attempts know by `name`.
    pub fn new(local: E, name: String) -> Self {
        let began = std::time::Instant::now();
        Self {
            local,
            local_nodes: NodeRange { first: 0, len: 0 },
            pool_config: None,
            registry: WorkerRegistry::default(),
            workers: BTreeMap::new(),
            connections: BTreeMap::new(),
            locations: BTreeMap::new(),
            delayed: Vec::new(),
            inbox: Vec::new(),
            ticks: Box::new(move || began.elapsed()),
            parts: PartCalls::default(),
            outputs: OutputReads::default(),
            local_meter: None,
            local_name: name,
            exported: BTreeMap::new(),
        }
    }

    /// Accepts workers from now on.
    ///
    /// # Errors
    /// If the registry of workers cannot be read.
    pub fn accept_workers(
        &mut self,
        pool_config: WorkerPoolConfig,
        ticks: MonotonicClock,
    ) -> Result<(), StateFileError> {
        self.registry = WorkerRegistry::read(&pool_config.registry)?;
        self.pool_config = Some(pool_config);
        self.ticks = ticks;
        Ok(())
    }

    /// Returns this host's capacity.
    pub fn capacity(&mut self) -> Result<EngineCapacity, EngineError> {
        self.local.capacity()
    }

    /// Calls `wake` whenever a report of this host's engine may have arrived.
    pub fn on_report(&mut self, wake: WakeCallback) {
        self.local.on_report(wake);
    }

    /// Returns the attempts that run on this host.
    pub fn running_locally(&mut self) -> Result<BTreeSet<AttemptId>, EngineError> {
        let running = self.local.running()?;
        Ok(running.into_iter().map(|running| running.attempt).collect())
    }

    /// Returns the worker that an attempt on these nodes runs on, and its nodes there in the
    /// worker's own numbering.
    pub fn locate(&self, nodes: &[NodeId]) -> (WorkerId, Vec<NodeId>) {
        let parts = self.node_parts(nodes);
        let most = parts.reduce(|most, next| match next.1.len() > most.1.len() {
            true => next,
            false => most,
        });
        most.unwrap_or((LOCAL_WORKER, Vec::new()))
    }

    /// Returns this host and the workers, each with those of the nodes that it has, as it numbers them.
    pub(crate) fn node_parts(
        &self,
        nodes: &[NodeId],
    ) -> impl Iterator<Item = (WorkerId, Vec<NodeId>)> {
        let lives = self.workers.iter();
        let lives = lives
            .filter_map(|(&worker, worker_entry)| Some((worker, worker_entry.incarnation?.nodes)));
        let homes = std::iter::once((LOCAL_WORKER, self.local_nodes)).chain(lives);
        homes.map(|(worker, range)| {
            let part = nodes.iter().filter_map(|node| local_node(range, *node));
            (worker, part.collect::<Vec<NodeId>>())
        })
    }

    /// Records that an attempt may be running on this worker.
    pub fn assign(&mut self, attempt: AttemptId, worker: WorkerId) {
        self.locations.entry(attempt).or_insert(AttemptLocation {
            worker,
            ended: false,
            is_unconfirmed: false,
            streams: vec![AttemptStream::Output],
        });
    }

    /// Sets the streams that an attempt writes to files of their own. Without this call it is the output alone.
    pub fn set_streams(&mut self, attempt: AttemptId, streams: Vec<AttemptStream>) {
        if let Some(location) = self.locations.get_mut(&attempt) {
            location.streams = streams;
        }
    }

    /// Sets the shares of running attempts, and of their parts.
    ///
    /// # Errors
    /// If this host's engine fails.
    pub fn set_shares(&mut self, shares: &[(AttemptId, f64)]) -> Result<(), EngineError> {
        let of_parts = shares.iter().flat_map(|&(attempt, share)| {
            let all = self.with_parts(&[attempt]);
            all.into_iter().map(move |id| (id, share))
        });
        let shares: Vec<_> = of_parts.collect();
        let parted = self.partition_by_worker(&shares, |share| share.0);
        for (worker, shares) in parted {
            match worker {
                LOCAL_WORKER => self.local.set_shares(&shares)?,
                _ => self.send(worker, ServerMessage::SetShares(shares)),
            }
        }
        Ok(())
    }

    /// Kills attempts and their parts, wherever they run, or cancels their delayed starts.
    ///
    /// # Errors
    /// If this host's engine fails.
    pub fn kill(
        &mut self,
        attempts: &[AttemptId],
        why: KillReason,
        now: Instant,
    ) -> Result<(), EngineError> {
        self.cancel_delayed(attempts, now);
        self.kill_at_workers(&self.with_parts(attempts), why)
    }

    /// Kills attempts and parts where they run.
    pub(crate) fn kill_at_workers(
        &mut self,
        attempts: &[AttemptId],
        why: KillReason,
    ) -> Result<(), EngineError> {
        for (worker, attempts) in self.partition_by_worker(attempts, |attempt| *attempt) {
            match worker {
                LOCAL_WORKER => self.local.kill(&attempts, why)?,
                _ => self.send(worker, ServerMessage::Kill(attempts, why)),
            }
        }
        Ok(())
    }

    /// Acknowledges these attempts, whose ends are durable. A worker gets the acknowledgement once the
    /// output of the attempt is collected.
    pub fn acknowledge(&mut self, attempts: &[AttemptId]) -> Result<(), EngineError> {
        let free = self.without_collected(attempts);
        let parted = self.partition_by_worker(&free, |attempt| *attempt);
        for attempt in attempts {
            self.locations.remove(attempt);
        }
        for (worker, attempts) in parted {
            match worker {
                LOCAL_WORKER => self.local.acknowledge(&attempts)?,
                _ => self.send(worker, ServerMessage::Acknowledge(attempts)),
            }
        }
        Ok(())
    }

    /// Returns the reports since the last call and the first error, and starts the attempts that
    /// waited for these reports.
    pub fn poll(&mut self, now: Instant) -> (Vec<AttemptReport>, Option<EngineError>) {
        let mut reports = std::mem::take(&mut self.inbox);
        let here = self.local.poll(Duration::ZERO);
        let here = here.map(|here| {
            here.into_iter()
                .map(|report| lost_if_evicted(report, false))
        });
        let failed = here.map(|here| reports.extend(here)).err();
        for report in reports.iter().filter(|report| report.event.is_end()) {
            if let Some(location) = self.locations.get_mut(&report.attempt) {
                location.ended = true;
            }
            // The attempt was sent again before this report was known.
            self.delayed
                .retain(|request| request.launch.attempt != report.attempt);
        }
        let failed = failed.or(self.take_part_reports(&mut reports).err());
        let failed = failed.or(self.start_delayed(now).err());
        (reports, failed)
    }

    /// Sends a message to a connected worker. A disconnected worker is brought up to date when it
    /// connects.
    pub fn send(&mut self, worker: WorkerId, message: ServerMessage) {
        let Some(worker_entry) = self.workers.get(&worker) else {
            return;
        };
        let (epoch, line) = (worker_entry.incarnation_number(), worker_entry.connection);
        let Some(line) = line else {
            return;
        };
        let connection = self.connections.get_mut(&line);
        if connection.is_none_or(|connection| !connection.send(epoch, message)) {
            self.disconnect(line);
        }
    }

    /// Splits `things` by the location of their attempts; unknown attempts belong to this host.
    pub(crate) fn partition_by_worker<T: Clone>(
        &self,
        things: &[T],
        attempt: impl Fn(&T) -> AttemptId,
    ) -> BTreeMap<WorkerId, Vec<T>> {
        let mut parted: BTreeMap<WorkerId, Vec<T>> = BTreeMap::new();
        for thing in things {
            let location = self.locations.get(&attempt(thing));
            let worker = location.map_or(LOCAL_WORKER, |location| location.worker);
            parted.entry(worker).or_default().push(thing.clone());
        }
        parted
    }
}

/// Returns the number of a node within its worker's range.
fn local_node(range: NodeRange, node: NodeId) -> Option<NodeId> {
    let number = node.0.checked_sub(range.first)?;
    (number < range.len).then_some(NodeId(number))
}
