//! Whose life begins and whose ends: what the gate has to be told, and what follows once it was.

use std::collections::BTreeSet;
use std::time::Duration;

use tollgate_engine::{AttemptKey, Engine};
use tollgate_gate::{Gate, WorkerId};

use super::muster::{LOCAL, WorkerPool};
use super::post::{LiveIncarnation, WorkerEntry, WorkerInfo, WorkerSnapshot, WorkerState};
use super::words::ServerMessage;
use crate::core::ServiceCommand;

impl<E: Engine> WorkerPool<E> {
    /// What the gate is to be told: of workers that were not heard for too long, and of lives that
    /// are offered. Said until it is so.
    pub(crate) fn news(&mut self, gate: &Gate) -> Vec<ServiceCommand> {
        let now = (self.ticks)();
        let grace = self.grace();
        let mut commands = Vec::new();
        for (&worker, post) in &self.posts {
            let overdue = now.saturating_sub(post.heard) >= grace;
            if let Some(life) = post.life
                && (overdue || post.offer.is_some() || post.has_left)
            {
                let epoch = life.epoch;
                commands.push(ServiceCommand::WorkerGone { worker, epoch });
            }
            if post.offer.is_some()
                && let Some(capacity) = &post.capacity
            {
                commands.push(ServiceCommand::WorkerUp {
                    worker,
                    epoch: gate.worker(worker).map_or(1, |life| life.epoch + 1),
                    nodes: capacity.nodes,
                    memory: capacity.node_memory(),
                });
            }
        }
        commands
    }

    /// Takes over from the gate who lives. Whoever has to be brought up to date, and what he runs.
    pub(crate) fn settle(&mut self, gate: &Gate) -> Vec<(WorkerId, BTreeSet<AttemptKey>)> {
        let now = (self.ticks)();
        for (worker, life) in gate.workers() {
            let life = life.up.then_some(LiveIncarnation {
                epoch: life.epoch,
                nodes: life.nodes,
            });
            if worker == LOCAL {
                self.local_nodes = life.map_or(self.local_nodes, |life| life.nodes);
                continue;
            }
            let post = self
                .posts
                .entry(worker)
                .or_insert_with(|| WorkerEntry::new(now));
            let epoch = life.map_or(0, |life| life.epoch);
            if post.epoch() != epoch {
                let offer = post.offer.filter(|_| life.is_some());
                self.change_life(worker, life, offer, now);
            }
        }
        let posts = self.posts.iter_mut();
        let told = posts.filter_map(|(&worker, post)| Some((worker, post.running.take()?)));
        told.collect()
    }

    /// Notes what a worker runs, and what it does not.
    pub(crate) fn seat_all(&mut self, worker: WorkerId, running: &BTreeSet<AttemptKey>) {
        for (attempt, seat) in &mut self.seats {
            seat.is_doubtful |= seat.worker == worker && !running.contains(attempt);
        }
        for &attempt in running {
            self.seat(attempt, worker);
        }
        if let Some(post) = self.posts.get_mut(&worker) {
            post.is_known = true;
        }
    }

    /// Of what the worker did not name, only what `is_wanted` is still thought to be there: it is handed
    /// in again. The order to start the rest was lost on its way, or its end was told already.
    pub(crate) fn settle_doubts(
        &mut self,
        worker: WorkerId,
        is_wanted: impl Fn(AttemptKey) -> bool,
    ) {
        self.seats.retain(|&attempt, seat| {
            let is_gone = seat.worker == worker && seat.is_doubtful && !seat.over;
            !is_gone || is_wanted(attempt)
        });
    }

    fn change_life(
        &mut self,
        worker: WorkerId,
        life: Option<LiveIncarnation>,
        offer: Option<u64>,
        now: Duration,
    ) {
        // Whoever is still spoken to of the life before ends what he runs.
        self.tell(worker, ServerMessage::Over);
        self.seats.retain(|_, seat| seat.worker != worker);
        let Some(post) = self.posts.get_mut(&worker) else {
            return;
        };
        let before = std::mem::replace(&mut post.line, offer);
        post.life = life;
        post.has_left = false;
        post.heard = now;
        post.is_known = offer.is_some();
        if offer.is_some() {
            post.offer = None;
            post.running = Some(BTreeSet::new());
        }
        before.into_iter().for_each(|line| self.hang_up(line));
        if offer.is_some() {
            self.tell(worker, ServerMessage::Taken);
        }
    }

    /// How long nothing has to be done about workers unless something is heard.
    pub(crate) fn patience(&mut self) -> Option<Duration> {
        let now = (self.ticks)();
        let grace = self.grace();
        let lives = self.posts.values().filter(|post| post.life.is_some());
        let left = lives.map(|post| (post.heard + grace).saturating_sub(now));
        let unread = (!self.inbox.is_empty()).then_some(Duration::ZERO);
        left.chain(unread).min()
    }

    fn grace(&self) -> Duration {
        let house = self.house.as_ref();
        house.map_or(Duration::ZERO, |house| house.terms.grace)
    }

    /// All workers that there ever were.
    pub(crate) fn sites(&self, gate: &Gate) -> Vec<WorkerInfo> {
        let workers = gate.workers().filter(|(worker, _)| *worker != LOCAL);
        let site = |(worker, life): (WorkerId, tollgate_gate::WorkerIncarnation)| WorkerInfo {
            name: self.name_of(worker),
            epoch: life.epoch,
            standing: self.standing(worker, life),
            nodes: life.nodes,
            capacity: self
                .posts
                .get(&worker)
                .and_then(|post| post.capacity.clone()),
        };
        workers.map(site).collect()
    }

    fn standing(&self, worker: WorkerId, life: tollgate_gate::WorkerIncarnation) -> WorkerState {
        match self.posts.get(&worker) {
            _ if !life.up => WorkerState::Gone,
            Some(post) if post.line.is_some() => WorkerState::Here,
            Some(_) | None => WorkerState::Away,
        }
    }

    /// Returns how all workers stand that there ever were.
    pub(crate) fn standings(
        &self,
        gate: &Gate,
    ) -> impl Iterator<Item = (WorkerId, WorkerSnapshot)> {
        let workers = gate.workers().filter(|(worker, _)| *worker != LOCAL);
        workers.map(|(worker, life)| {
            let standing = WorkerSnapshot {
                standing: self.standing(worker, life),
                incarnation: life.epoch,
                nodes: life.nodes.len,
            };
            (worker, standing)
        })
    }

    /// Returns the name of a worker.
    pub(crate) fn name_of(&self, worker: WorkerId) -> String {
        let entry = self.roster.get(worker);
        entry.map_or_else(|| format!("worker {}", worker.0), |it| it.name.clone())
    }

    /// Returns the worker that an attempt was sent to; None if the attempt is not known.
    pub(crate) fn worker_of(&self, attempt: AttemptKey) -> Option<WorkerId> {
        self.seats.get(&attempt).map(|seat| seat.worker)
    }
}
