//! Hosts that come into use by others, as the service sees them: no attempt is sent there meanwhile.

use tollgate_engine::Engine;
use tollgate_gate::{Gate, WorkerId};
use tollgate_model::EvictionCause;
use tollgate_service::ServiceCommand;

use crate::pool::WorkerPool;

impl<E: Engine> WorkerPool<E> {
    /// Notes that a worker's host came into use, or is free again. Only a desktop is ever in use.
    pub(crate) fn on_use(&mut self, worker: WorkerId, cause: Option<EvictionCause>) {
        if let Some(entry) = self.workers.get_mut(&worker) {
            entry.in_use = cause.filter(|_| entry.desktop.is_some());
        }
    }

    /// Returns the commands that bring the gate up to date about hosts in use.
    pub(crate) fn host_uses(&self, gate: &Gate) -> Vec<ServiceCommand> {
        let live = self
            .workers
            .iter()
            .filter_map(|(&worker, entry)| Some((worker, entry, entry.incarnation?)));
        let is_new = |worker, cause| {
            let known = gate.worker(worker).filter(|known| known.up);
            known.is_some_and(|known| known.in_use != cause)
        };
        let changed = live.filter(|(worker, entry, _)| is_new(*worker, entry.in_use));
        changed
            .map(|(worker, entry, live)| ServiceCommand::WorkerInUse {
                worker,
                incarnation: live.number,
                cause: entry.in_use,
            })
            .collect()
    }
}
