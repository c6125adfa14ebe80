//! Begin and end of a worker's incarnations: the commands to the gate, and their consequences.

use std::collections::BTreeSet;
use std::time::Duration;

use tollgate_engine::{Engine, PartEvent};
use tollgate_gate::{Gate, WorkerId};
use tollgate_model::{AttemptId, Span};
use tollgate_service::{HostOffer, LOCAL_WORKER, ServiceCommand};

use crate::entry::{LiveIncarnation, WorkerEntry, WorkerInfo, WorkerSnapshot, WorkerState};
use crate::lease::LeaseTimings;
use crate::pool::WorkerPool;
use crate::protocol::ServerMessage;

impl<E: Engine> WorkerPool<E> {
    /// Returns the commands for the gate: for workers past the grace period, and for offered
    /// incarnations, and for workers that are about to leave. Those that are idle stay if
    /// `do_jobs_wait`. The same commands come again until the gate has applied them. Ends of hosts are known by
    /// the host's clock, which the service's is `clock_ahead` of.
    pub fn membership_changes(
        &mut self,
        gate: &Gate,
        clock_ahead: Span,
        do_jobs_wait: impl Fn() -> bool,
    ) -> Vec<ServiceCommand> {
        let now = (self.ticks)();
        let grace = self.grace_period();
        let lease = LeaseTimings { grace };
        let mut commands = Vec::new();
        for (&worker, worker_entry) in &self.workers {
            let overdue = now.saturating_sub(worker_entry.last_contact) >= grace;
            if let Some(live) = worker_entry.incarnation
                && (overdue || worker_entry.offer.is_some() || worker_entry.has_left)
            {
                let epoch = live.number;
                commands.push(ServiceCommand::WorkerLost {
                    worker,
                    incarnation: epoch,
                });
                commands.extend(self.resume_after_departure(worker));
            }
            if worker_entry.offer.is_some()
                && let Some(capacity) = &worker_entry.capacity
            {
                commands.push(ServiceCommand::WorkerUp {
                    worker,
                    incarnation: gate.worker(worker).map_or(1, |live| live.number + 1),
                    nodes: capacity.nodes,
                    memory: capacity.node_memory(),
                    offer: HostOffer {
                        name: self.name_of(worker),
                        closes: worker_entry
                            .until
                            .map(|until| lease.closes(until) + clock_ahead),
                        devices: capacity.devices.clone(),
                        is_desktop: worker_entry.desktop.is_some(),
                        in_use: worker_entry.in_use,
                    },
                });
            }
        }
        commands.extend(self.host_uses(gate));
        commands.extend(self.slowed_hosts(gate));
        commands.extend(self.moved_ends(gate, clock_ahead));
        commands.extend(self.retirements(gate));
        commands.extend(self.departure_changes(gate, do_jobs_wait));
        commands
    }

    /// Adopts the gate's incarnations. Returns the workers to bring up to date, with the attempts
    /// that each of them runs.
    pub fn sync_with_gate(&mut self, gate: &Gate) -> Vec<(WorkerId, BTreeSet<AttemptId>)> {
        let now = (self.ticks)();
        for (worker, live) in gate.workers() {
            let is_drained = live.drained;
            let live = live.up.then_some(LiveIncarnation {
                number: live.number,
                nodes: live.nodes,
            });
            if worker == LOCAL_WORKER {
                self.local_nodes = live.map_or(self.local_nodes, |live| live.nodes);
                continue;
            }
            let worker_entry = self
                .workers
                .entry(worker)
                .or_insert_with(|| WorkerEntry::new(now));
            worker_entry.is_drained = is_drained;
            let epoch = live.map_or(0, |live| live.number);
            if worker_entry.incarnation_number() != epoch {
                let offer = worker_entry.offer.filter(|_| live.is_some());
                self.set_incarnation(worker, live, offer, now);
            }
        }
        self.sync_retirements(gate);
        self.sync_departures(gate);
        let entries = self.workers.iter_mut();
        let reported = entries.filter_map(|(&worker, worker_entry)| {
            Some((worker, worker_entry.reported_running.take()?))
        });
        reported.collect()
    }

    /// Records which attempts a worker runs, and doubts those that it did not report.
    pub fn reconcile_running(&mut self, worker: WorkerId, running: &BTreeSet<AttemptId>) {
        for (attempt, location) in &mut self.locations {
            location.is_unconfirmed |= location.worker == worker && !running.contains(attempt);
        }
        for &attempt in running {
            self.assign(attempt, worker);
        }
        if let Some(worker_entry) = self.workers.get_mut(&worker) {
            worker_entry.has_reported_running = true;
        }
    }

    /// Forgets where the worker's unreported attempts run, except those that `is_needed`: these are
    /// sent again. For the others the start message was lost, or the end is already reported.
    pub fn drop_unconfirmed(&mut self, worker: WorkerId, is_needed: impl Fn(AttemptId) -> bool) {
        let gone = self.locations.extract_if(.., |&attempt, location| {
            let is_gone = location.worker == worker && location.is_unconfirmed && !location.ended;
            is_gone && !is_needed(attempt)
        });
        let gone: Vec<AttemptId> = gone.map(|(attempt, _)| attempt).collect();
        for attempt in gone {
            self.report_to_origin(attempt, PartEvent::Ended("its start was lost".to_owned()));
        }
    }

    fn set_incarnation(
        &mut self,
        worker: WorkerId,
        live: Option<LiveIncarnation>,
        offer: Option<u64>,
        now: Duration,
    ) {
        // A connection of the previous incarnation ends its tasks.
        self.send(worker, ServerMessage::Over);
        let gone = self
            .locations
            .extract_if(.., |_, location| location.worker == worker);
        let gone: Vec<AttemptId> = gone.map(|(attempt, _)| attempt).collect();
        for &attempt in &gone {
            self.report_to_origin(attempt, PartEvent::Ended("its host was lost".to_owned()));
        }
        // The attempts have parts elsewhere. A part here that cannot be asked to end is found when the
        // engine can be asked again, because its attempt does not run.
        let _ = self.end_parts(&gone);
        self.give_up_outputs(worker);
        let Some(worker_entry) = self.workers.get_mut(&worker) else {
            return;
        };
        let before = std::mem::replace(&mut worker_entry.connection, offer);
        worker_entry.incarnation = live;
        worker_entry.departed = worker_entry.has_left && live.is_none();
        worker_entry.has_left = false;
        worker_entry.notice = None;
        worker_entry.is_leaving = false;
        worker_entry.last_contact = now;
        worker_entry.has_reported_running = offer.is_some();
        if offer.is_some() {
            worker_entry.offer = None;
            worker_entry.reported_running = Some(BTreeSet::new());
        }
        before.into_iter().for_each(|line| self.disconnect(line));
        if offer.is_some() {
            self.send(worker, ServerMessage::Taken);
            self.repeat_retirement(worker);
        }
    }

    /// Returns the time until the next action on workers if no message arrives.
    pub fn max_idle(&mut self) -> Option<Duration> {
        let now = (self.ticks)();
        let grace = self.grace_period();
        let lives = self
            .workers
            .values()
            .filter(|worker_entry| worker_entry.incarnation.is_some());
        let left =
            lives.map(|worker_entry| (worker_entry.last_contact + grace).saturating_sub(now));
        let is_unread = !self.inbox.is_empty() || self.has_due_end() || self.has_new_outputs();
        let unread = is_unread.then_some(Duration::ZERO);
        let look = self.local_meter.as_ref();
        let look = look.map(|meter| meter.next_look().saturating_sub(now));
        left.chain(unread).chain(look).min()
    }

    pub(crate) fn grace_period(&self) -> Duration {
        let pool_config = self.pool_config.as_ref();
        pool_config.map_or(Duration::ZERO, |pool_config| pool_config.lease.grace)
    }

    /// Returns all workers that ever registered.
    pub fn worker_infos(&self, gate: &Gate) -> Vec<WorkerInfo> {
        let workers = gate.workers().filter(|(worker, _)| *worker != LOCAL_WORKER);
        let site = |(worker, live): (WorkerId, tollgate_gate::WorkerIncarnation)| {
            let entry = self.workers.get(&worker);
            WorkerInfo {
                name: self.name_of(worker),
                incarnation: live.number,
                state: self.state_of(worker, live),
                nodes: live.nodes,
                until: entry.and_then(|entry| entry.until),
                desktop: entry.and_then(|entry| entry.desktop.clone()),
                in_use: live.in_use.filter(|_| live.up),
                site: entry.and_then(|entry| entry.site.clone()),
                is_leaving: entry.is_some_and(|entry| entry.is_leaving),
                retired: entry.and_then(|entry| entry.retired.clone()),
                capacity: entry.and_then(|entry| entry.capacity.clone()),
            }
        };
        workers.map(site).collect()
    }

    /// Returns the workers on other hosts with this name.
    pub fn named(&self, name: &str, gate: &Gate) -> Vec<WorkerId> {
        let others = gate.workers().filter(|(worker, _)| *worker != LOCAL_WORKER);
        let workers = others.map(|(worker, _)| worker);
        workers
            .filter(|&worker| self.name_of(worker) == name)
            .collect()
    }

    fn state_of(&self, worker: WorkerId, live: tollgate_gate::WorkerIncarnation) -> WorkerState {
        match self.workers.get(&worker) {
            _ if !live.up => WorkerState::Lost,
            Some(worker_entry) if worker_entry.connection.is_some() => WorkerState::Connected,
            Some(_) | None => WorkerState::Disconnected,
        }
    }

    /// Returns the state of all workers that ever registered.
    pub fn snapshots(&self, gate: &Gate) -> impl Iterator<Item = (WorkerId, WorkerSnapshot)> {
        let workers = gate.workers().filter(|(worker, _)| *worker != LOCAL_WORKER);
        workers.map(|(worker, live)| {
            let snapshot = WorkerSnapshot {
                state: self.state_of(worker, live),
                incarnation: live.number,
                nodes: live.nodes.len,
                is_leaving: self.is_leaving(worker),
                is_retired: self
                    .workers
                    .get(&worker)
                    .is_some_and(|entry| entry.retired.is_some()),
            };
            (worker, snapshot)
        })
    }

    /// Returns the name of a worker.
    pub fn name_of(&self, worker: WorkerId) -> String {
        let entry = self.registry.get(worker);
        entry.map_or_else(|| format!("worker {}", worker.0), |it| it.name.clone())
    }

    /// Returns the worker that an attempt was sent to; None if the attempt is not known.
    pub fn worker_of(&self, attempt: AttemptId) -> Option<WorkerId> {
        self.locations.get(&attempt).map(|location| location.worker)
    }
}
