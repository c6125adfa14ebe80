//! Workers that are about to leave, at the service: their nodes are drained first.

use tollgate_engine::Engine;
use tollgate_gate::{Gate, WorkerId};
use tollgate_model::Instant;
use tollgate_service::{LOCAL_WORKER, ServiceCommand};

use crate::departure::{LeaveAnswer, LeaveNotice};
use crate::pool::WorkerPool;
use crate::protocol::ServerMessage;

/// The reason that a released worker gets.
const RELEASED: &str = "it runs nothing, and no work needs it";

impl<E: Engine> WorkerPool<E> {
    /// Asks the pilots of this name to leave that are connected and on whose nodes no job is. A job that comes there
    /// before the pilot has drained its nodes is still run. Returns whether a pilot was asked.
    pub fn release(&mut self, gate: &Gate, now: Instant, name: &str) -> bool {
        let view = gate.view(now);
        let idle = self.workers.iter().filter(|(worker, entry)| {
            let is_staying =
                entry.connection.is_some() && entry.notice.is_none() && !entry.is_leaving;
            let is_named = self
                .registry
                .get(**worker)
                .is_some_and(|known| known.name == name && known.pilot_of.is_some());
            let live = gate
                .worker(**worker)
                .filter(|live| live.up && !live.drained);
            let is_idle = live.is_some_and(|live| view.n_idle_in(live.nodes) == live.nodes.len);
            is_staying && is_named && is_idle
        });
        let idle: Vec<WorkerId> = idle.map(|(&worker, _)| worker).collect();
        for &worker in &idle {
            self.send(worker, ServerMessage::Retire(RELEASED.to_owned()));
        }
        !idle.is_empty()
    }

    pub(crate) fn on_notice(&mut self, worker: WorkerId, notice: LeaveNotice) {
        if let Some(entry) = self.workers.get_mut(&worker) {
            entry.notice = Some(notice);
        }
    }

    /// Returns the commands that drain the nodes of leaving workers, and that let jobs start again
    /// on the nodes of those that have left, for when they come again. An idle worker stays if a
    /// job waits.
    pub(crate) fn departure_changes(
        &mut self,
        gate: &Gate,
        do_jobs_wait: impl Fn() -> bool,
    ) -> Vec<ServiceCommand> {
        let mut commands = Vec::new();
        let notices = self.workers.iter();
        let notices: Vec<(WorkerId, LeaveNotice)> = notices
            .filter(|(_, entry)| !entry.has_left)
            .filter_map(|(&worker, entry)| Some((worker, entry.notice?)))
            .collect();
        for (worker, notice) in notices {
            let is_drained = gate.worker(worker).is_some_and(|live| live.drained);
            if notice == LeaveNotice::Idle && !is_drained && do_jobs_wait() {
                if let Some(entry) = self.workers.get_mut(&worker) {
                    entry.notice = None;
                }
                self.send(worker, ServerMessage::Leaving(LeaveAnswer::Stay));
                continue;
            }
            // The reason is on disk first: an operator's drain outlasts the worker, this one not.
            if !is_drained && self.registry.set_leaving(worker, true).is_ok() {
                commands.push(drain(worker, true));
            }
        }
        commands.extend(self.returned(gate));
        let others = gate.workers().filter(|(worker, _)| *worker != LOCAL_WORKER);
        let gone = others.filter(|(_, live)| !live.up && live.drained);
        commands.extend(gone.filter_map(|(worker, _)| self.resume_after_departure(worker)));
        commands
    }

    /// Returns the commands for workers that were about to leave, and stay after all: each was killed
    /// meanwhile, and started again in time.
    fn returned(&self, gate: &Gate) -> Vec<ServiceCommand> {
        let staying = self.workers.iter().filter(|(_, entry)| {
            entry.connection.is_some() && entry.notice.is_none() && !entry.is_leaving
        });
        let drained = staying.filter(|(worker, _)| {
            let live = gate.worker(**worker);
            live.is_some_and(|live| live.up && live.drained)
        });
        drained
            .filter_map(|(&worker, _)| self.resume_after_departure(worker))
            .collect()
    }

    /// Returns the command that lets jobs start again on the nodes of a worker that is gone, if they
    /// were drained because it left.
    pub(crate) fn resume_after_departure(&self, worker: WorkerId) -> Option<ServiceCommand> {
        let is_its_own = self.registry.get(worker).is_some_and(|entry| entry.leaving);
        is_its_own.then(|| drain(worker, false))
    }

    /// Answers the workers whose nodes are drained by now, and forgets those that have left.
    pub(crate) fn sync_departures(&mut self, gate: &Gate) {
        for (worker, live) in gate.workers() {
            let entry = self.workers.get_mut(&worker);
            let Some(entry) = entry.filter(|_| worker != LOCAL_WORKER) else {
                continue;
            };
            if live.up && live.drained && entry.notice.take().is_some() {
                entry.is_leaving = true;
                self.send(worker, ServerMessage::Leaving(LeaveAnswer::Drained));
            }
            if !live.drained && self.registry.get(worker).is_some_and(|it| it.leaving) {
                // A failure is tried again in the next step.
                let _ = self.registry.set_leaving(worker, false);
            }
        }
    }

    pub(crate) fn is_leaving(&self, worker: WorkerId) -> bool {
        let entry = self.workers.get(&worker);
        entry.is_some_and(|entry| entry.is_leaving || entry.departed)
    }
}

fn drain(worker: WorkerId, drained: bool) -> ServiceCommand {
    ServiceCommand::Drain { worker, drained }
}
