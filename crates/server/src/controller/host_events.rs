//! Events of workers and of their nodes.

use tollgate_engine::Engine;
use tollgate_gate::WorkerId;
use tollgate_model::{ForeignLoad, HostSlowdown, Instant};
use tollgate_service::LOCAL_WORKER;
use tollgate_workers::{WorkerSnapshot, WorkerState};

use super::state::Controller;
use crate::events::{EventSubject, NodeStep, WorkerStep};

impl<E: Engine> Controller<E> {
    /// Notes an event of a worker whose connection has changed.
    pub(super) fn note_worker(
        &mut self,
        worker: WorkerId,
        before: Option<WorkerSnapshot>,
        now: WorkerSnapshot,
    ) {
        let key = |known: WorkerSnapshot| (known.state, known.incarnation, known.is_leaving);
        // Those that were given up before the service started are no news.
        let is_old = before.is_none() && now.state == WorkerState::Lost;
        if is_old || before.map(key) == Some(key(now)) {
            return;
        }
        let Some(incarnation) = self.core.gate().worker(worker) else {
            return;
        };
        self.host_events.push(EventSubject::Worker(WorkerStep {
            name: self.workers.name_of(worker),
            state: now.state,
            is_leaving: now.is_leaving,
            incarnation: now.incarnation,
            nodes: incarnation.nodes,
        }));
    }

    /// Publishes the events of workers, and those of nodes that are up, drained or down since the last call.
    pub(super) fn publish_hosts(&mut self, at: Instant) {
        let gate = self.core.gate();
        let hosts = gate
            .workers()
            .map(|(worker, live)| (worker, (live, gate.foreign_load(worker))));
        let changed: Vec<_> = hosts
            .filter(|(worker, now)| self.described_nodes.get(worker) != Some(now))
            .collect();
        // The nodes with which the service begins are no news.
        let is_begin = self.described_nodes.is_empty();
        for (worker, now) in changed {
            let before = self.described_nodes.insert(worker, now);
            let (now, load) = now;
            self.log_load(worker, before.and_then(|(_, load)| load), load);
            if is_begin {
                continue;
            }
            let slowdown = load.map_or(HostSlowdown::NONE, |load| load.slowdown);
            let before = before.map(|(live, _)| live);
            let name = (worker != LOCAL_WORKER).then(|| self.workers.name_of(worker));
            let step = |known: tollgate_gate::WorkerIncarnation, is_up| {
                EventSubject::Nodes(NodeStep {
                    worker: name.clone(),
                    nodes: known.nodes,
                    is_up,
                    is_drained: known.drained,
                    is_in_use: known.in_use.is_some(),
                    slowdown,
                })
            };
            let gone = before.filter(|before| before.up && before.nodes != now.nodes);
            self.host_events
                .extend(gone.map(|before| step(before, false)));
            if now.up || before.is_some_and(|before| before.up && before.nodes == now.nodes) {
                self.host_events.push(step(now, now.up));
            }
        }
        let events = std::mem::take(&mut self.host_events);
        self.log.publish_others(self.store.batch(), at, events);
    }

    /// Logs that load which is not of jobs slows a host, or slows it no longer.
    fn log_load(&self, worker: WorkerId, before: Option<ForeignLoad>, now: Option<ForeignLoad>) {
        if before == now {
            return;
        }
        let host = self.host_name(worker);
        match now {
            Some(load) => {
                let slowdown = load.slowdown.as_f64();
                tracing::warn!(host, slowdown, "other load slows a host");
            }
            None => tracing::info!(host, "other load slows a host no longer"),
        }
    }
}
