//! Begin and end of a worker's incarnations: the commands to the gate, and their consequences.

use std::collections::BTreeSet;
use std::time::Duration;

use tollgate_engine::Engine;
use tollgate_gate::{Gate, WorkerId};
use tollgate_model::AttemptId;
use tollgate_service::{LOCAL_WORKER, ServiceCommand};

use crate::entry::{LiveIncarnation, WorkerEntry, WorkerInfo, WorkerSnapshot, WorkerState};
use crate::pool::WorkerPool;
use crate::protocol::ServerMessage;

impl<E: Engine> WorkerPool<E> {
    /// Returns the commands for the gate: for workers past the grace period, and for offered
    /// incarnations. The same commands come again until the gate has applied them.
    pub fn membership_changes(&mut self, gate: &Gate) -> Vec<ServiceCommand> {
        let now = (self.ticks)();
        let grace = self.grace_period();
        let mut commands = Vec::new();
        for (&worker, post) in &self.workers {
            let overdue = now.saturating_sub(post.last_contact) >= grace;
            if let Some(life) = post.incarnation
                && (overdue || post.offer.is_some() || post.has_left)
            {
                let epoch = life.number;
                commands.push(ServiceCommand::WorkerLost {
                    worker,
                    incarnation: epoch,
                });
            }
            if post.offer.is_some()
                && let Some(capacity) = &post.capacity
            {
                commands.push(ServiceCommand::WorkerUp {
                    worker,
                    incarnation: gate.worker(worker).map_or(1, |life| life.number + 1),
                    nodes: capacity.nodes,
                    memory: capacity.node_memory(),
                });
            }
        }
        commands
    }

    /// Adopts the gate's incarnations. Returns the workers to bring up to date, with the attempts
    /// that each of them runs.
    pub fn sync_with_gate(&mut self, gate: &Gate) -> Vec<(WorkerId, BTreeSet<AttemptId>)> {
        let now = (self.ticks)();
        for (worker, life) in gate.workers() {
            let life = life.up.then_some(LiveIncarnation {
                number: life.number,
                nodes: life.nodes,
            });
            if worker == LOCAL_WORKER {
                self.local_nodes = life.map_or(self.local_nodes, |life| life.nodes);
                continue;
            }
            let post = self
                .workers
                .entry(worker)
                .or_insert_with(|| WorkerEntry::new(now));
            let epoch = life.map_or(0, |life| life.number);
            if post.incarnation_number() != epoch {
                let offer = post.offer.filter(|_| life.is_some());
                self.set_incarnation(worker, life, offer, now);
            }
        }
        let posts = self.workers.iter_mut();
        let told =
            posts.filter_map(|(&worker, post)| Some((worker, post.reported_running.take()?)));
        told.collect()
    }

    /// Records which attempts a worker runs, and doubts those that it did not report.
    pub fn reconcile_running(&mut self, worker: WorkerId, running: &BTreeSet<AttemptId>) {
        for (attempt, seat) in &mut self.locations {
            seat.is_unconfirmed |= seat.worker == worker && !running.contains(attempt);
        }
        for &attempt in running {
            self.assign(attempt, worker);
        }
        if let Some(post) = self.workers.get_mut(&worker) {
            post.has_reported_running = true;
        }
    }

    /// Forgets where the worker's unreported attempts run, except those that `is_wanted`: these are
    /// sent again. For the others the start message was lost, or the end is already reported.
    pub fn drop_unconfirmed(&mut self, worker: WorkerId, is_wanted: impl Fn(AttemptId) -> bool) {
        self.locations.retain(|&attempt, seat| {
            let is_gone = seat.worker == worker && seat.is_unconfirmed && !seat.ended;
            !is_gone || is_wanted(attempt)
        });
    }

    fn set_incarnation(
        &mut self,
        worker: WorkerId,
        life: Option<LiveIncarnation>,
        offer: Option<u64>,
        now: Duration,
    ) {
        // A connection of the previous incarnation ends its tasks.
        self.send(worker, ServerMessage::Over);
        self.locations.retain(|_, seat| seat.worker != worker);
        let Some(post) = self.workers.get_mut(&worker) else {
            return;
        };
        let before = std::mem::replace(&mut post.connection, offer);
        post.incarnation = life;
        post.has_left = false;
        post.last_contact = now;
        post.has_reported_running = offer.is_some();
        if offer.is_some() {
            post.offer = None;
            post.reported_running = Some(BTreeSet::new());
        }
        before.into_iter().for_each(|line| self.disconnect(line));
        if offer.is_some() {
            self.send(worker, ServerMessage::Taken);
        }
    }

    /// Returns the time until the next action on workers if no message arrives.
    pub fn max_idle(&mut self) -> Option<Duration> {
        let now = (self.ticks)();
        let grace = self.grace_period();
        let lives = self
            .workers
            .values()
            .filter(|post| post.incarnation.is_some());
        let left = lives.map(|post| (post.last_contact + grace).saturating_sub(now));
        let unread = (!self.inbox.is_empty()).then_some(Duration::ZERO);
        left.chain(unread).min()
    }

    fn grace_period(&self) -> Duration {
        let house = self.house.as_ref();
        house.map_or(Duration::ZERO, |house| house.lease.grace)
    }

    /// Returns all workers that ever registered.
    pub fn worker_infos(&self, gate: &Gate) -> Vec<WorkerInfo> {
        let workers = gate.workers().filter(|(worker, _)| *worker != LOCAL_WORKER);
        let site = |(worker, life): (WorkerId, tollgate_gate::WorkerIncarnation)| WorkerInfo {
            name: self.name_of(worker),
            incarnation: life.number,
            state: self.state_of(worker, life),
            nodes: life.nodes,
            capacity: self
                .workers
                .get(&worker)
                .and_then(|post| post.capacity.clone()),
        };
        workers.map(site).collect()
    }

    fn state_of(&self, worker: WorkerId, life: tollgate_gate::WorkerIncarnation) -> WorkerState {
        match self.workers.get(&worker) {
            _ if !life.up => WorkerState::Lost,
            Some(post) if post.connection.is_some() => WorkerState::Connected,
            Some(_) | None => WorkerState::Disconnected,
        }
    }

    /// Returns the state of all workers that ever registered.
    pub fn snapshots(&self, gate: &Gate) -> impl Iterator<Item = (WorkerId, WorkerSnapshot)> {
        let workers = gate.workers().filter(|(worker, _)| *worker != LOCAL_WORKER);
        workers.map(|(worker, life)| {
            let standing = WorkerSnapshot {
                state: self.state_of(worker, life),
                incarnation: life.number,
                nodes: life.nodes.len,
            };
            (worker, standing)
        })
    }

    /// Returns the name of a worker.
    pub fn name_of(&self, worker: WorkerId) -> String {
        let entry = self.registry.get(worker);
        entry.map_or_else(|| format!("worker {}", worker.0), |it| it.name.clone())
    }

    /// Returns the worker that an attempt was sent to; None if the attempt is not known.
    pub fn worker_of(&self, attempt: AttemptId) -> Option<WorkerId> {
        self.locations.get(&attempt).map(|seat| seat.worker)
    }
}
