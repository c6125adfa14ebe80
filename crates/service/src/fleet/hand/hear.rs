//! What the service says.

use std::time::Duration;

use tollgate_engine::{AttemptKey, Engine, EngineError};

use super::todo::EngineCommand;
use super::{AgentStage, DeparturePhase, DisconnectReason, WorkerAgent, has_ended};
use crate::fleet::terms::LeaseTimings;
use crate::fleet::words::{SequenceCheck, ServerMessage, WorkerFrame, WorkerLaunch, WorkerMessage};

impl<E: Engine> WorkerAgent<E> {
    /// Takes a word of the service.
    ///
    /// # Errors
    /// If the connection is of no use any more.
    pub fn hear(
        &mut self,
        frame: WorkerFrame<ServerMessage>,
        now: Duration,
    ) -> Result<(), DisconnectReason> {
        if self.stage == AgentStage::Off {
            return Ok(());
        }
        match self.heard.hear(frame.seq) {
            SequenceCheck::Next => {}
            SequenceCheck::Known => return Ok(()),
            SequenceCheck::Gap => return Err(again("a word of the service is missing")),
        }
        self.last_heard = now;
        match (self.stage, frame.word) {
            (_, ServerMessage::Beat(number)) => self.assure(number),
            (_, ServerMessage::Over) => return Err(again("the service has given this worker up")),
            (_, ServerMessage::Refused(why)) => return Err(DisconnectReason::Refused(why)),
            (
                AgentStage::Hailing,
                ServerMessage::Welcome {
                    service,
                    grace_ms,
                    goes_on,
                },
            ) => {
                let grace = Duration::from_millis(grace_ms);
                return self.begin(service, LeaseTimings { grace }, goes_on);
            }
            (AgentStage::Offering, ServerMessage::Taken) => return self.live(frame.epoch),
            (AgentStage::Working, word) => return self.obey(frame.epoch, word, now),
            (_, _) => return Err(again("the service says what makes no sense here")),
        }
        Ok(())
    }

    /// The service has heard what was said with this number.
    fn assure(&mut self, number: u64) {
        while let Some(&(said, at)) = self.unanswered.front() {
            if said > number {
                return;
            }
            self.unanswered.pop_front();
            if said == number && self.stage == AgentStage::Working && at > self.assured {
                self.assured = at;
                self.renew_lease();
            }
        }
    }

    fn begin(
        &mut self,
        service: String,
        terms: LeaseTimings,
        goes_on: bool,
    ) -> Result<(), DisconnectReason> {
        if self.memory.service.as_ref() != Some(&service) {
            self.memory.service = Some(service);
            self.remember()?;
        }
        self.terms = terms;
        if self.engine.is_none() {
            let engine = (self.kit.open)(&terms);
            self.engine = Some(engine.map_err(|error| failed(&error))?);
        }
        if !goes_on {
            self.stage = AgentStage::Clearing;
            return Ok(());
        }
        self.stage = AgentStage::Working;
        // The hello was heard.
        self.assure(0);
        let running = self.running().map_err(|error| failed(&error))?;
        let capacity = self.engine.as_mut().map(Engine::capacity);
        let Some(capacity) = capacity.transpose().map_err(|error| failed(&error))? else {
            return Err(again("there is no engine"));
        };
        self.say(WorkerMessage::Offer { capacity, running });
        if self.leaving == DeparturePhase::No {
            let reports: Vec<_> = self.reports.values().flatten().cloned().collect();
            self.report(&reports);
        }
        Ok(())
    }

    fn remember(&mut self) -> Result<(), DisconnectReason> {
        let kept = (self.kit.remember)(&self.memory);
        kept.map_err(|error| again(&format!("what has to be remembered cannot be: {error}")))
    }

    /// The offer was taken: a new life begins, with nothing running. It is remembered before anything
    /// is started in it.
    fn live(&mut self, epoch: u32) -> Result<(), DisconnectReason> {
        self.memory.epoch = epoch;
        self.remember()?;
        self.stage = AgentStage::Working;
        // The service counts from when it took the offer. Beats before that were not about this life.
        self.assured = self.offered;
        self.renew_lease();
        self.unanswered.clear();
        Ok(())
    }

    fn obey(
        &mut self,
        epoch: u32,
        word: ServerMessage,
        now: Duration,
    ) -> Result<(), DisconnectReason> {
        if epoch != self.memory.epoch {
            return Err(again(
                "the service addressed another incarnation of this worker",
            ));
        }
        if self.is_out_of_lease(now) {
            // It may be old, and its sender may have given this worker up since.
            return Err(again("the service was silent for too long"));
        }
        match word {
            // What is not started ends with the life.
            ServerMessage::Start(_) if self.leaving != DeparturePhase::No => {}
            ServerMessage::Start(charges) => self.take_charges(charges),
            ServerMessage::SetShares(shares) => {
                self.todo.push_back(EngineCommand::SetShares(shares))
            }
            ServerMessage::Kill(attempts, why) => {
                self.todo.push_back(EngineCommand::Kill(attempts, why))
            }
            ServerMessage::Acknowledge(attempts) => self.forget(attempts),
            ServerMessage::Taken => {}
            ServerMessage::Welcome { .. }
            | ServerMessage::Refused(_)
            | ServerMessage::Over
            | ServerMessage::Beat(_) => {
                return Err(again("the service says what makes no sense here"));
            }
        }
        Ok(())
    }

    fn take_charges(&mut self, charges: Vec<WorkerLaunch>) {
        let reports = &self.reports;
        let is_new = |charge: &WorkerLaunch| {
            let known = reports.get(&charge.launch.attempt);
            !known.is_some_and(|reports| has_ended(reports))
        };
        let new: Vec<WorkerLaunch> = charges.into_iter().filter(is_new).collect();
        if !new.is_empty() {
            self.todo.push_back(EngineCommand::Start(new));
        }
    }

    fn forget(&mut self, attempts: Vec<AttemptKey>) {
        for attempt in &attempts {
            self.reports.remove(attempt);
        }
        self.todo.push_back(EngineCommand::Acknowledge(attempts));
    }
}

fn again(why: &str) -> DisconnectReason {
    DisconnectReason::Again(why.to_owned())
}

fn failed(error: &EngineError) -> DisconnectReason {
    DisconnectReason::Again(error.to_string())
}
