//! Hosts that load which is not of tasks slows, as the service sees them.

use std::time::Duration;

use tollgate_engine::Engine;
use tollgate_gate::{Gate, WorkerId};
use tollgate_model::HostSlowdown;
use tollgate_service::{LOCAL_WORKER, ServiceCommand};

use crate::pool::WorkerPool;
use crate::slowdown::SlowdownMeter;

impl<E: Engine> WorkerPool<E> {
    /// Measures how much load that is not of tasks slows this host and those of workers, from now on, with a look in
    /// each interval, which is positive. Without this call none counts as slowed.
    pub fn measure_load(&mut self, interval: Duration) {
        self.local_meter = Some(SlowdownMeter::new(interval));
    }

    /// Notes how much longer work takes on a worker's host. Nothing is reported unless it is asked for.
    pub(crate) fn on_slowdown(&mut self, worker: WorkerId, slowdown: HostSlowdown) {
        let measures = self.local_meter.is_some();
        if let Some(entry) = self.workers.get_mut(&worker).filter(|_| measures) {
            entry.slowdown = Some(slowdown);
        }
    }

    /// Sets the slowdown of a host that its exporter shows. It counts in place of what the runner there measures. None if
    /// nothing is known of it.
    pub fn set_exported(&mut self, host: String, slowdown: Option<HostSlowdown>) {
        match slowdown {
            Some(slowdown) => self.exported.insert(host, slowdown),
            None => self.exported.remove(&host),
        };
    }

    /// Returns the commands that bring the gate up to date about hosts that other load slows.
    pub(crate) fn slowed_hosts(&mut self, gate: &Gate) -> Vec<ServiceCommand> {
        let local = self.local_slowdown();
        // Where nothing is measured any more, nothing is slowed. A slowdown that is not known yet stays.
        let unmeasured = self.local_meter.is_none().then_some(HostSlowdown::NONE);
        let exported = |name: &str| self.exported.get(name).copied();
        let live = self.workers.iter().map(|(&worker, entry)| {
            let exported = exported(&self.name_of(worker));
            (worker, exported.or(entry.slowdown))
        });
        let local = (LOCAL_WORKER, exported(&self.local_name).or(local));
        let all = std::iter::once(local).chain(live);
        let changed = all.filter_map(|(worker, slowdown)| {
            let slowdown = unmeasured.or(slowdown)?;
            let known = gate.worker(worker).filter(|known| known.up)?;
            let before = gate.foreign_load(worker).map(|load| load.slowdown);
            let is_new = before.unwrap_or_default() != slowdown;
            is_new.then_some(ServiceCommand::WorkerSlowed {
                worker,
                incarnation: known.number,
                slowdown,
            })
        });
        changed.collect()
    }

    /// Looks at the load of this host if it is time to. Returns how much it slows work, if that is known.
    fn local_slowdown(&mut self) -> Option<HostSlowdown> {
        let now = (self.ticks)();
        let meter = self.local_meter.as_mut()?;
        // An engine that cannot be asked now is asked again at the next look.
        if meter.is_due(now)
            && let Ok(Some(load)) = self.local.host_load()
        {
            meter.look(now, &load, self.local_nodes.len);
        }
        meter.reported()
    }
}
