//! Handling of the service's messages.

use std::time::Duration;

use tollgate_engine::{Engine, EngineError};
use tollgate_model::AttemptId;

use super::pending::EngineCommand;
use super::{AgentStage, DisconnectReason, NO_INCARNATION, WorkerAgent, has_ended};
use crate::lease::LeaseTimings;
use crate::protocol::{SequenceCheck, ServerMessage, WorkerFrame, WorkerLaunch};

impl<E: Engine> WorkerAgent<E> {
    /// Handles a message of the service.
    ///
    /// # Errors
    /// If the connection is to be given up.
    pub fn on_frame(
        &mut self,
        frame: WorkerFrame<ServerMessage>,
        now: Duration,
    ) -> Result<(), DisconnectReason> {
        if self.stage == AgentStage::Disconnected {
            return Ok(());
        }
        match self.received.check(frame.seq) {
            SequenceCheck::Next => {}
            SequenceCheck::Duplicate => return Ok(()),
            SequenceCheck::Gap => return Err(reconnect("a word of the service is missing")),
        }
        self.last_contact = now;
        match (self.stage, frame.message) {
            (_, ServerMessage::Beat(number)) => self.extend_lease(number),
            (_, ServerMessage::Over) => {
                return Err(reconnect("the service has given this worker up"));
            }
            (_, ServerMessage::Refused(why)) => return Err(DisconnectReason::Refused(why)),
            (
                AgentStage::AwaitingWelcome,
                ServerMessage::Welcome {
                    service,
                    grace_ms,
                    goes_on,
                    load_interval_ms,
                },
            ) => {
                self.set_load_interval(load_interval_ms);
                let grace = Duration::from_millis(grace_ms);
                return self.on_welcome(service, LeaseTimings { grace }, goes_on);
            }
            (AgentStage::AwaitingRegistration, ServerMessage::Taken) => {
                return self.start_incarnation(frame.incarnation);
            }
            (AgentStage::Registered, message) => {
                return self.on_command(frame.incarnation, message, now);
            }
            (_, _) => return Err(reconnect("the service says what makes no sense here")),
        }
        Ok(())
    }

    /// Records that the service has acknowledged the message with this number.
    fn extend_lease(&mut self, number: u64) {
        while let Some(&(sent, at)) = self.unanswered.front() {
            if sent > number {
                return;
            }
            self.unanswered.pop_front();
            if sent == number && self.stage == AgentStage::Registered && at > self.lease_start {
                self.lease_start = at;
                self.renew_lease();
            }
        }
    }

    fn on_welcome(
        &mut self,
        service: String,
        timings: LeaseTimings,
        goes_on: bool,
    ) -> Result<(), DisconnectReason> {
        if self.state.service.as_ref() != Some(&service) {
            self.state.service = Some(service);
            self.write_state()?;
        }
        self.lease = timings;
        if self.engine.is_none() {
            let engine = (self.config.open_engine)(&timings);
            self.engine = Some(engine.map_err(|error| engine_failed(&error))?);
        }
        if !goes_on {
            return self.end_incarnation();
        }
        self.resume_earlier();
        self.stage = AgentStage::Registered;
        self.was_registered = true;
        // The welcome acknowledges the hello.
        self.extend_lease(0);
        let running = self.running().map_err(|error| engine_failed(&error))?;
        let capacity = self.engine.as_mut().map(Engine::capacity);
        let Some(capacity) = capacity
            .transpose()
            .map_err(|error| engine_failed(&error))?
        else {
            return Err(reconnect("there is no engine"));
        };
        self.send_offer(capacity, running);
        self.send_slowdown();
        self.repeat_notice();
        if self.departure.starts_attempts() {
            let reports: Vec<_> = self.reports.values().flatten().cloned().collect();
            self.send_reports(&reports);
        }
        Ok(())
    }

    pub(super) fn write_state(&mut self) -> Result<(), DisconnectReason> {
        let kept = (self.config.write_state)(&self.state);
        kept.map_err(|error| reconnect(&format!("what has to be remembered cannot be: {error}")))
    }

    /// Begins to end the tasks of an incarnation that does not go on. It is stored first that the incarnation
    /// is over. The engine forgets its attempts, and the service, which may still count on it, would have
    /// them started again by a worker process that continues it.
    fn end_incarnation(&mut self) -> Result<(), DisconnectReason> {
        if self.state.incarnation != NO_INCARNATION {
            self.state.incarnation = NO_INCARNATION;
            self.state.until = None;
            self.write_state()?;
        }
        self.stage = AgentStage::EndingTasks;
        Ok(())
    }

    /// Begins a new incarnation with nothing running, after the service took the offer. It is
    /// stored before anything is started in it.
    fn start_incarnation(&mut self, epoch: u32) -> Result<(), DisconnectReason> {
        self.state.incarnation = epoch;
        self.state.until = self.own_end();
        self.write_state()?;
        self.stage = AgentStage::Registered;
        self.was_registered = true;
        // The service counts from when it took the offer. Earlier heartbeats were not about this
        // incarnation.
        self.lease_start = self.offered_at;
        self.renew_lease();
        self.unanswered.clear();
        self.send_use();
        self.send_slowdown();
        Ok(())
    }

    fn on_command(
        &mut self,
        epoch: u32,
        message: ServerMessage,
        now: Duration,
    ) -> Result<(), DisconnectReason> {
        if epoch != self.state.incarnation {
            return Err(reconnect(
                "the service addressed another incarnation of this worker",
            ));
        }
        if self.is_out_of_lease(now) {
            // The message may be old, and the service may have given this worker up since.
            return Err(reconnect("the service was silent for too long"));
        }
        match message {
            // An attempt that is not started ends with the incarnation.
            ServerMessage::Start(_) if !self.departure.starts_attempts() => {}
            ServerMessage::Start(charges) => {
                self.last_busy = Some(now);
                self.queue_launches(charges);
            }
            ServerMessage::Leaving(answer) => self.on_leave_answer(answer, now),
            ServerMessage::Retire(reason) => self.on_retire(&reason),
            ServerMessage::Until(until) => self.move_end(until)?,
            ServerMessage::SetShares(shares) => {
                self.pending.push_back(EngineCommand::SetShares(shares))
            }
            ServerMessage::Kill(attempts, why) => {
                self.pending.push_back(EngineCommand::Kill(attempts, why))
            }
            ServerMessage::Signal(attempts, signal) => {
                let command = EngineCommand::Signal(attempts, signal);
                self.pending.push_back(command);
            }
            ServerMessage::Acknowledge(attempts) => self.drop_reports(attempts),
            ServerMessage::ReadOutputs(reads) => self.read_outputs(&reads, now),
            ServerMessage::Part { call, event } => self.part_events.push((call, event)),
            ServerMessage::Taken => {}
            ServerMessage::Welcome { .. }
            | ServerMessage::Refused(_)
            | ServerMessage::Over
            | ServerMessage::Beat(_) => {
                return Err(reconnect("the service says what makes no sense here"));
            }
        }
        Ok(())
    }

    fn queue_launches(&mut self, charges: Vec<WorkerLaunch>) {
        let (reports, suspicious) = (&self.reports, &self.suspicious);
        let is_new = |charge: &WorkerLaunch| {
            let attempt = &charge.launch.attempt;
            let known = reports.get(attempt);
            !known.is_some_and(|reports| has_ended(reports)) && !suspicious.contains_key(attempt)
        };
        let new: Vec<WorkerLaunch> = charges.into_iter().filter(is_new).collect();
        if !new.is_empty() {
            self.pending.push_back(EngineCommand::Start(new));
        }
    }

    fn drop_reports(&mut self, attempts: Vec<AttemptId>) {
        for attempt in &attempts {
            self.reports.remove(attempt);
        }
        self.pending.push_back(EngineCommand::Acknowledge(attempts));
    }
}

fn reconnect(why: &str) -> DisconnectReason {
    DisconnectReason::Reconnect(why.to_owned())
}

fn engine_failed(error: &EngineError) -> DisconnectReason {
    DisconnectReason::Reconnect(error.to_string())
}
