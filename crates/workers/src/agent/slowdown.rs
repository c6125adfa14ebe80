//! The worker's reports of how much other load slows its host.

use std::time::Duration;

use tollgate_engine::Engine;

use super::{AgentStage, WorkerAgent};
use crate::protocol::WorkerMessage;
use crate::slowdown::SlowdownMeter;

impl<E: Engine> WorkerAgent<E> {
    /// Takes note of whether the service asks for the slowdown of this host, and how often the worker is to look.
    pub(super) fn set_load_interval(&mut self, interval_ms: Option<u64>) {
        let interval = interval_ms.map(|millis| Duration::from_millis(millis.max(1)));
        let known = self.meter.take();
        let known = known.filter(|meter| Some(meter.interval()) == interval);
        self.meter = known.or(interval.map(SlowdownMeter::new));
    }

    /// Returns when the next look at the load is due.
    pub(super) fn next_look(&self) -> Option<Duration> {
        let meter = self.meter.as_ref();
        let meter = meter.filter(|_| self.stage == AgentStage::Registered)?;
        Some(meter.next_look())
    }

    /// Looks at the load of the host if it is time to, and reports the slowdown if it has changed.
    pub(super) fn measure_load(&mut self, now: Duration) {
        if self.stage != AgentStage::Registered {
            return;
        }
        let (Some(meter), Some(engine)) = (&mut self.meter, &mut self.engine) else {
            return;
        };
        if !meter.is_due(now) {
            return;
        }
        // An engine that cannot be asked now, or measures nothing, is asked again.
        let (Ok(Some(load)), Ok(capacity)) = (engine.host_load(), engine.capacity()) else {
            return;
        };
        if let Some(slowdown) = meter.look(now, &load, capacity.nodes) {
            self.send(WorkerMessage::Slowed(slowdown));
        }
    }

    /// Sends the slowdown once an incarnation has begun or goes on, if it is known.
    pub(super) fn send_slowdown(&mut self) {
        let meter = self.meter.as_ref();
        if let Some(slowdown) = meter.and_then(SlowdownMeter::reported) {
            self.send(WorkerMessage::Slowed(slowdown));
        }
    }
}
