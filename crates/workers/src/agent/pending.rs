//! Commands to the engine, in the order of the service's messages.

use std::time::Duration;

use tollgate_engine::{Engine, EngineError, LaunchSpec};
use tollgate_model::{AttemptId, AttemptReport, Instant, KillReason, LaunchFailure, WarningSignal};

use super::{ENGINE_RETRY_DELAY, WorkerAgent, is_retryable};
use crate::protocol::WorkerLaunch;

/// A command to the engine.
#[derive(Clone, Debug)]
pub(super) enum EngineCommand {
    Start(Vec<WorkerLaunch>),
    SetShares(Vec<(AttemptId, f64)>),
    Kill(Vec<AttemptId>, KillReason),
    Signal(Vec<AttemptId>, WarningSignal),
    Acknowledge(Vec<AttemptId>),
}

impl EngineCommand {
    /// Returns whether the command lets the engine forget attempts.
    pub(super) const fn is_acknowledgement(&self) -> bool {
        match self {
            Self::Acknowledge(_) => true,
            Self::Start(_) | Self::SetShares(_) | Self::Kill(..) | Self::Signal(..) => false,
        }
    }
}

impl<E: Engine> WorkerAgent<E> {
    /// Carries out the commands until the engine cannot be asked. A failed command is tried again
    /// later.
    pub(super) fn run_pending(&mut self, now: Duration, at: Instant) {
        if self.retry.is_some_and(|retry| now < retry) {
            return;
        }
        self.retry = None;
        while let Some(todo) = self.pending.pop_front() {
            let again = todo.clone();
            if let Err(error) = self.run_command(todo, at)
                && is_retryable(&error)
            {
                self.pending.push_front(again);
                self.retry = Some(now + ENGINE_RETRY_DELAY);
                return;
            }
        }
    }

    fn run_command(&mut self, todo: EngineCommand, at: Instant) -> Result<(), EngineError> {
        match todo {
            EngineCommand::Start(charges) if self.no_starts().is_some() => {
                self.withdraw(&charges, at);
                Ok(())
            }
            EngineCommand::Start(charges) => self.start(charges, at),
            EngineCommand::SetShares(shares) => {
                self.try_engine(|engine| engine.set_shares(&shares))
            }
            EngineCommand::Kill(attempts, why) => {
                self.try_engine(|engine| engine.kill(&attempts, why))
            }
            EngineCommand::Signal(attempts, signal) => {
                // A second try could send the signal twice.
                let _ = self.try_engine(|engine| engine.signal(&attempts, signal));
                Ok(())
            }
            EngineCommand::Acknowledge(attempts) => {
                self.try_engine(|engine| engine.acknowledge(&attempts))
            }
        }
    }

    fn try_engine(
        &mut self,
        call: impl FnOnce(&mut E) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        self.engine.as_mut().map_or(Ok(()), call)
    }

    /// Starts attempts. An attempt that no engine could start has ended without having run.
    fn start(&mut self, charges: Vec<WorkerLaunch>, at: Instant) -> Result<(), EngineError> {
        let mut launches = Vec::new();
        let mut unfit = Vec::new();
        for charge in charges {
            let attempt = charge.launch.attempt;
            match self.launch(charge) {
                Ok(launch) => launches.push(launch),
                Err(failure) => unfit.push(AttemptReport::not_started(attempt, failure, at)),
            }
        }
        let started = match launches.is_empty() {
            true => Ok(()),
            false => self.try_engine(|engine| engine.start(&launches)),
        };
        match started {
            Err(error) if is_retryable(&error) => return Err(error),
            // One of the launches is at fault, and none was started.
            Err(_) => {
                for launch in launches {
                    match self.try_engine(|engine| engine.start(std::slice::from_ref(&launch))) {
                        Ok(()) => {}
                        Err(error) if is_retryable(&error) => return Err(error),
                        Err(error) => {
                            let failure = LaunchFailure::of_host("launch", error.to_string());
                            unfit.push(AttemptReport::not_started(launch.attempt, failure, at));
                        }
                    }
                }
            }
            Ok(()) => {}
        }
        self.record_reports(unfit);
        Ok(())
    }

    /// Returns the launch specification with a user of this host.
    fn launch(&self, charge: WorkerLaunch) -> Result<LaunchSpec, LaunchFailure> {
        let unknown = |why| LaunchFailure::of_job("user", why);
        let user = (self.config.resolve_owner)(&charge.owner).map_err(unknown)?;
        let mut launch = charge.launch;
        launch.user = user;
        launch
            .env
            .extend((self.config.environment)(self.end_time()));
        self.config.access.add_to(&mut launch);
        Ok(launch)
    }
}
