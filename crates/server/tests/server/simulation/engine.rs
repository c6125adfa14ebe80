//! An engine that fails the test if an acknowledged attempt is started again.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tollgate_engine::{
    BootTime, Engine, EngineCapacity, EngineError, LaunchSpec, OutputAnswer, OutputRead,
    RunningAttempt, SimEngine, SimHost, SuspendedAttempt, WakeCallback,
};
use tollgate_model::{AttemptId, AttemptReport, KillReason, WarningSignal};

use super::lies::ReportFalsifier;

/// Attempts that were acknowledged to any engine of a host: starting one again would run it twice.
pub(crate) type AcknowledgedAttempts = Arc<Mutex<BTreeSet<AttemptId>>>;

pub(crate) struct AckTrackingEngine {
    engine: SimEngine,
    acknowledged: AcknowledgedAttempts,
    falsifier: ReportFalsifier,
}

impl AckTrackingEngine {
    pub(crate) fn open(world: &SimHost, acknowledged: &AcknowledgedAttempts) -> Self {
        Self {
            engine: SimEngine::open(world),
            acknowledged: Arc::clone(acknowledged),
            falsifier: ReportFalsifier::default(),
        }
    }

    /// Lets the host of the engine report what `falsifier` says.
    pub(crate) fn lying(self, falsifier: &ReportFalsifier) -> Self {
        Self {
            falsifier: falsifier.clone(),
            ..self
        }
    }
}

impl Engine for AckTrackingEngine {
    fn capacity(&mut self) -> Result<EngineCapacity, EngineError> {
        self.engine.capacity()
    }

    fn start(&mut self, launches: &[LaunchSpec]) -> Result<(), EngineError> {
        for launch in launches {
            let forgotten = self.acknowledged.lock().unwrap().contains(&launch.attempt);
            assert!(!forgotten, "{} would run twice", launch.attempt);
        }
        self.engine.start(launches)
    }

    fn set_shares(&mut self, shares: &[(AttemptId, f64)]) -> Result<(), EngineError> {
        self.engine.set_shares(shares)
    }

    fn kill(&mut self, attempts: &[AttemptId], why: KillReason) -> Result<(), EngineError> {
        self.engine.kill(attempts, why)
    }

    fn signal(&mut self, attempts: &[AttemptId], signal: WarningSignal) -> Result<(), EngineError> {
        self.engine.signal(attempts, signal)
    }

    fn suspend(&mut self, attempts: &[AttemptId]) -> Result<Vec<SuspendedAttempt>, EngineError> {
        self.engine.suspend(attempts)
    }

    fn resume(&mut self, attempts: &[AttemptId]) -> Result<(), EngineError> {
        self.engine.resume(attempts)
    }

    fn poll(&mut self, timeout: Duration) -> Result<Vec<AttemptReport>, EngineError> {
        let reports = self.engine.poll(timeout)?;
        Ok(reports
            .into_iter()
            .map(|it| self.falsifier.distort(it))
            .collect())
    }

    fn acknowledge(&mut self, attempts: &[AttemptId]) -> Result<(), EngineError> {
        // Recorded even if the call fails, because the call may have been carried out.
        self.acknowledged.lock().unwrap().extend(attempts);
        self.engine.acknowledge(attempts)
    }

    fn renew_lease(&mut self, until: BootTime) -> Result<(), EngineError> {
        self.engine.renew_lease(until)
    }

    fn running(&mut self) -> Result<Vec<RunningAttempt>, EngineError> {
        self.engine.running()
    }

    fn request_outputs(&mut self, reads: &[OutputRead]) -> Result<(), EngineError> {
        self.engine.request_outputs(reads)
    }

    fn take_outputs(&mut self) -> Vec<OutputAnswer> {
        self.engine.take_outputs()
    }

    fn on_report(&mut self, wake: WakeCallback) {
        self.engine.on_report(wake);
    }
}
