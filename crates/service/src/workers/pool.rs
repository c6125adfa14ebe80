//! This host's engine and all workers, as the keeper sees them: something like one engine.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use tollgate_engine::{
    AttemptKey, AttemptReport, Engine, EngineCapacity, EngineError, KillReason, LaunchSpec,
    WakeCallback,
};
use tollgate_gate::WorkerId;
use tollgate_model::{Instant, NodeId, NodeRange};

use super::entry::{WorkerConnection, WorkerEntry};
use super::lease::LeaseTimings;
use super::protocol::ServerMessage;
use super::registry::WorkerRegistry;
use super::session::lost_if_evicted;
use crate::engine_convert;
use crate::os_users::UserNameLookup;

/// This host's own engine, as the gate knows it.
pub(crate) const LOCAL: WorkerId = WorkerId(0);

/// Tells how much time has passed since some moment; never goes back, whatever is done to the clock on
/// the wall.
pub type MonotonicClock = Box<dyn FnMut() -> Duration + Send>;

/// What workers are told about the service, and held to.
pub struct WorkerPoolConfig {
    /// What tells this service from every other.
    pub service: String,
    /// Whose jobs are run here.
    pub owners: JobOwners,
    /// Who waits how long for whom.
    pub lease: LeaseTimings,
    /// The file that says who has ever offered nodes.
    pub registry: PathBuf,
    /// What a user is called.
    pub name_of: UserNameLookup,
}

/// Whose jobs a service runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobOwners {
    /// Those of its own user, who is called so.
    Own(String),
    /// Everybody's.
    All,
}

/// The engine of this host, and workers elsewhere.
///
/// An attempt runs on one of them: where most of its nodes are. It holds those that it has elsewhere
/// too, as a batch job that is started on the first of its hosts.
pub struct WorkerPool<E> {
    pub(super) local: E,
    pub(super) local_nodes: NodeRange,
    pub(super) house: Option<WorkerPoolConfig>,
    pub(super) registry: WorkerRegistry,
    pub(super) workers: BTreeMap<WorkerId, WorkerEntry>,
    pub(super) connections: BTreeMap<u64, WorkerConnection>,
    /// Where attempts were sent whose ends are not yet safe.
    pub(super) locations: BTreeMap<AttemptKey, AttemptLocation>,
    /// Attempts whose predecessor may still run.
    pub(super) delayed: Vec<LaunchRequest>,
    /// What was reported and not yet taken.
    pub(super) inbox: Vec<AttemptReport>,
    pub(super) ticks: MonotonicClock,
}

/// An attempt to be started, on nodes as the gate numbers them.
#[derive(Clone, Debug)]
pub(crate) struct LaunchRequest {
    /// Whose job it is: a user id here.
    pub(crate) owner: u32,
    /// What is to be run.
    pub(crate) launch: LaunchSpec,
}

/// Where an attempt is.
pub(super) struct AttemptLocation {
    pub(super) worker: WorkerId,
    /// Whether it has ended.
    pub(super) ended: bool,
    /// Whether the worker did not name it when it said what it runs: it has ended, and that is to be
    /// reported, or the order to start it was lost.
    pub(super) is_unconfirmed: bool,
}

impl<E: Engine> WorkerPool<E> {
    /// This host alone.
    pub(crate) fn new(local: E) -> Self {
        let began = std::time::Instant::now();
        Self {
            local,
            local_nodes: NodeRange { first: 0, len: 0 },
            house: None,
            registry: WorkerRegistry::default(),
            workers: BTreeMap::new(),
            connections: BTreeMap::new(),
            locations: BTreeMap::new(),
            delayed: Vec::new(),
            inbox: Vec::new(),
            ticks: Box::new(move || began.elapsed()),
        }
    }

    /// Lets workers come from now on.
    ///
    /// # Errors
    /// If it cannot be read who came before.
    pub(crate) fn accept_workers(
        &mut self,
        house: WorkerPoolConfig,
        ticks: MonotonicClock,
    ) -> std::io::Result<()> {
        self.registry = WorkerRegistry::read(&house.registry)?;
        self.house = Some(house);
        self.ticks = ticks;
        Ok(())
    }

    /// What this host has.
    pub(crate) fn capacity(&mut self) -> Result<EngineCapacity, EngineError> {
        self.local.capacity()
    }

    pub(crate) fn on_report(&mut self, wake: WakeCallback) {
        self.local.on_report(wake);
    }

    /// What this host runs.
    pub(crate) fn running_locally(&mut self) -> Result<BTreeSet<AttemptKey>, EngineError> {
        let running = self.local.running()?;
        Ok(running.into_iter().map(|running| running.attempt).collect())
    }

    /// Where an attempt on these nodes runs, and which of them are there, as they are numbered there.
    pub(crate) fn locate(&self, nodes: &[NodeId]) -> (WorkerId, Vec<NodeId>) {
        let lives = self.workers.iter();
        let lives = lives.filter_map(|(&worker, post)| Some((worker, post.incarnation?.nodes)));
        let homes = std::iter::once((LOCAL, self.local_nodes)).chain(lives);
        let parts = homes.map(|(worker, range)| {
            let part = nodes.iter().filter_map(|node| local_node(range, *node));
            (worker, part.collect::<Vec<NodeId>>())
        });
        let most = parts.reduce(|most, next| match next.1.len() > most.1.len() {
            true => next,
            false => most,
        });
        most.unwrap_or((LOCAL, Vec::new()))
    }

    /// Notes that an attempt may be under way there.
    pub(crate) fn assign(&mut self, attempt: AttemptKey, worker: WorkerId) {
        self.locations.entry(attempt).or_insert(AttemptLocation {
            worker,
            ended: false,
            is_unconfirmed: false,
        });
    }

    pub(crate) fn set_shares(&mut self, shares: &[(AttemptKey, f64)]) -> Result<(), EngineError> {
        let parted = self.partition_by_worker(shares, |share| share.0);
        for (worker, shares) in parted {
            match worker {
                LOCAL => self.local.set_shares(&shares)?,
                _ => self.send(worker, ServerMessage::SetShares(shares)),
            }
        }
        Ok(())
    }

    pub(crate) fn kill(
        &mut self,
        attempts: &[AttemptKey],
        why: KillReason,
        now: Instant,
    ) -> Result<(), EngineError> {
        self.cancel_delayed(attempts, now);
        for (worker, attempts) in self.partition_by_worker(attempts, |attempt| *attempt) {
            match worker {
                LOCAL => self.local.kill(&attempts, why)?,
                _ => self.send(worker, ServerMessage::Kill(attempts, why)),
            }
        }
        Ok(())
    }

    /// The ends of these attempts are safe.
    pub(crate) fn acknowledge(&mut self, attempts: &[AttemptKey]) -> Result<(), EngineError> {
        let parted = self.partition_by_worker(attempts, |attempt| *attempt);
        for attempt in attempts {
            self.locations.remove(attempt);
        }
        for (worker, attempts) in parted {
            match worker {
                LOCAL => self.local.acknowledge(&attempts)?,
                _ => self.send(worker, ServerMessage::Acknowledge(attempts)),
            }
        }
        Ok(())
    }

    /// What was reported since the last call, and starts what waited for that; and what went wrong.
    pub(crate) fn poll(&mut self, now: Instant) -> (Vec<AttemptReport>, Option<EngineError>) {
        let mut reports = std::mem::take(&mut self.inbox);
        let here = self.local.poll(Duration::ZERO);
        let here = here.map(|here| here.into_iter().map(lost_if_evicted));
        let failed = here.map(|here| reports.extend(here)).err();
        for report in reports
            .iter()
            .filter(|report| engine_convert::is_end(report))
        {
            if let Some(seat) = self.locations.get_mut(&report.attempt) {
                seat.ended = true;
            }
            // It was handed in again before this was known.
            self.delayed
                .retain(|duty| duty.launch.attempt != report.attempt);
        }
        let failed = failed.or(self.start_delayed(now).err());
        (reports, failed)
    }

    /// Says something to a worker, if it is there; if not, it is brought up to date when it comes.
    pub(super) fn send(&mut self, worker: WorkerId, word: ServerMessage) {
        let Some(post) = self.workers.get(&worker) else {
            return;
        };
        let (epoch, line) = (post.incarnation_number(), post.connection);
        let Some(line) = line else {
            return;
        };
        let connection = self.connections.get_mut(&line);
        if connection.is_none_or(|connection| !connection.send(epoch, word)) {
            self.disconnect(line);
        }
    }

    /// `things` by where the attempts are that they are about; unknown ones are here.
    fn partition_by_worker<T: Clone>(
        &self,
        things: &[T],
        attempt: impl Fn(&T) -> AttemptKey,
    ) -> BTreeMap<WorkerId, Vec<T>> {
        let mut parted: BTreeMap<WorkerId, Vec<T>> = BTreeMap::new();
        for thing in things {
            let seat = self.locations.get(&attempt(thing));
            let worker = seat.map_or(LOCAL, |seat| seat.worker);
            parted.entry(worker).or_default().push(thing.clone());
        }
        parted
    }
}

/// The number of a node where its range is offered.
fn local_node(range: NodeRange, node: NodeId) -> Option<NodeId> {
    let number = node.0.checked_sub(range.first)?;
    (number < range.len).then_some(NodeId(number))
}
