//! The worker's side of the protocol: messages received and sent, and the commands to its engine.
//!
//! [`WorkerAgent`] reads no clock and no socket. Its driver passes in messages and the time, sends
//! the messages of [`WorkerAgent::drain_outgoing`], and calls [`WorkerAgent::tick`] when asked to.
//! Times are spans since the boot of the host, as the engine reads them
//! ([`tollgate_engine::BootTime`]).

mod config;
mod departure;
mod desktop;
mod handle;
mod outputs;
mod parts;
mod pending;
mod slowdown;
mod stage;
mod suspicion;

pub use self::config::{
    AgentConfig, AgentPersistentState, AttemptEnvironment, DisconnectReason, EngineOpener,
    EngineProbe, OwnerResolver, StateWriter,
};
pub use self::desktop::{DesktopSettings, HostPresence};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use pending::EngineCommand;
use tollgate_engine::{BootTime, Engine, EngineCapacity, EngineError, PartEvent};
use tollgate_model::{AttemptId, AttemptReport, Instant, KillReason};

use self::desktop::DesktopState;
use self::stage::{AgentStage, has_ended, is_retryable};
use crate::departure::{DeparturePhase, OUTPUT_TIME};
use crate::lease::LeaseTimings;
use crate::protocol::{
    DesktopOffer, SequenceCounter, VERSION, WorkerFrame, WorkerHello, WorkerMessage,
};
use crate::slowdown::SlowdownMeter;

/// Wait before an engine that failed to answer is asked again.
const ENGINE_RETRY_DELAY: Duration = Duration::from_secs(1);
/// Minimum wait for a turn.
const MIN_IDLE: Duration = Duration::from_millis(5);
/// The number by which a worker says that no incarnation of it goes on.
const NO_INCARNATION: u32 = 0;
/// Maximum number of reports in one message.
const MAX_REPORTS_PER_FRAME: usize = 500;

/// The state machine on the worker's side.
pub struct WorkerAgent<E> {
    config: AgentConfig<E>,
    state: AgentPersistentState,
    lease: LeaseTimings,
    engine: Option<E>,
    stage: AgentStage,
    sent: SequenceCounter,
    received: SequenceCounter,
    outgoing: Vec<WorkerFrame<WorkerMessage>>,
    /// Events of parts that processes on this host asked for, by the number of the request.
    part_events: Vec<(u64, PartEvent)>,
    /// Reads of outputs without an answer, by their numbers at the engine.
    reads: BTreeMap<u64, outputs::ForwardedRead>,
    last_read: u64,
    /// Unacknowledged reports, oldest first.
    reports: BTreeMap<AttemptId, Vec<AttemptReport>>,
    /// Ends by a signal with which a batch system ends its jobs, with the times at which they were seen. They
    /// are not reported before it is known whether this worker ends too.
    suspicious: BTreeMap<AttemptId, (Duration, AttemptReport)>,
    /// When the worker began to look for the service; None before the first turn.
    began: Option<Duration>,
    /// Whether this worker was registered since it began.
    was_registered: bool,
    /// Commands waiting for the engine.
    pending: VecDeque<EngineCommand>,
    /// When to ask an engine again that failed to answer.
    retry: Option<Duration>,
    /// Send time of the newest message that the service has acknowledged; the lease counts from
    /// here.
    lease_start: Duration,
    /// Unanswered hellos and heartbeats, with their send times.
    unanswered: VecDeque<(u64, Duration)>,
    heartbeats: u64,
    /// Send time of the last offer.
    offered_at: Duration,
    last_heartbeat: Duration,
    last_contact: Duration,
    departure: DeparturePhase,
    /// The reason for the departure, once the worker has decided to leave.
    departure_reason: Option<String>,
    /// When the leaving worker, which runs nothing any more, had sent all reports on this connection.
    reported_at: Option<Duration>,
    /// When an attempt last started or ended, or was seen running; None before the first turn.
    last_busy: Option<Duration>,
    /// The use of the worker's host, if people work at it.
    desktop: Option<DesktopState>,
    /// The slowdown of the worker's host; None if the service does not ask for it.
    meter: Option<SlowdownMeter>,
}

impl<E: Engine> WorkerAgent<E> {
    /// Creates a worker that is not connected yet. Attempts of an earlier worker process stay
    /// untouched until the service has answered whether its incarnation goes on; until then only
    /// the runner knows how long they may go on.
    pub fn new(kit: AgentConfig<E>, memory: AgentPersistentState) -> Self {
        let desktop = kit.desktop.clone().map(DesktopState::new);
        Self {
            desktop,
            config: kit,
            state: memory,
            lease: LeaseTimings::default(),
            engine: None,
            stage: AgentStage::Disconnected,
            sent: SequenceCounter::default(),
            received: SequenceCounter::default(),
            outgoing: Vec::new(),
            part_events: Vec::new(),
            reads: BTreeMap::new(),
            last_read: 0,
            reports: BTreeMap::new(),
            suspicious: BTreeMap::new(),
            began: None,
            was_registered: false,
            pending: VecDeque::new(),
            retry: None,
            lease_start: Duration::ZERO,
            unanswered: VecDeque::new(),
            heartbeats: 0,
            offered_at: Duration::ZERO,
            last_heartbeat: Duration::ZERO,
            last_contact: Duration::ZERO,
            departure: DeparturePhase::Staying,
            departure_reason: None,
            reported_at: None,
            last_busy: None,
            meter: None,
        }
    }

    /// Starts the handshake on a new connection.
    pub fn connected(&mut self, now: Duration) {
        self.disconnected();
        self.stage = AgentStage::AwaitingWelcome;
        self.last_contact = now;
        self.last_heartbeat = now;
        self.unanswered.push_back((0, now));
        let hello = WorkerHello {
            version: VERSION,
            identity: self.config.identity.clone(),
            name: self.config.name.clone(),
            user: self.config.user.clone(),
            all_users: self.config.all_users,
            root_jobs: self.config.root_jobs,
            is_pilot: self.config.is_pilot,
            site: self.config.site.clone(),
            service: self.state.service.clone(),
            incarnation: match self.state.until == self.own_end() {
                true => self.state.incarnation,
                false => NO_INCARNATION,
            },
        };
        self.send(WorkerMessage::Hello(hello));
    }

    /// Resets the agent after a connection is lost. The service repeats the orders that were not
    /// carried out, but for acknowledgements: their reports are not sent again.
    pub fn disconnected(&mut self) {
        self.stage = AgentStage::Disconnected;
        self.sent = SequenceCounter::default();
        self.received = SequenceCounter::default();
        self.outgoing.clear();
        self.pending.retain(EngineCommand::is_acknowledgement);
        self.unanswered.clear();
        self.reads.clear();
        self.reported_at = None;
        self.forget_question();
    }

    /// Returns the messages to send, in this order.
    pub fn drain_outgoing(&mut self) -> Vec<WorkerFrame<WorkerMessage>> {
        std::mem::take(&mut self.outgoing)
    }

    /// Returns whether the worker is registered, with an incarnation that goes on.
    pub fn is_registered(&self) -> bool {
        self.stage == AgentStage::Registered
    }

    /// Returns whether the worker was registered at any time since it began.
    pub fn was_registered(&self) -> bool {
        self.was_registered
    }

    /// Returns the current lease timings.
    pub fn lease_timings(&self) -> LeaseTimings {
        self.lease
    }

    /// Returns the engine, once it was opened.
    pub fn engine(&mut self) -> Option<&mut E> {
        self.engine.as_mut()
    }

    /// Returns the persistent state: the service and the last incarnation.
    pub fn persistent_state(&self) -> &AgentPersistentState {
        &self.state
    }

    /// Returns the longest wait until the next turn if nothing happens.
    pub fn max_idle(&self, now: Duration) -> Duration {
        let until = |at: Duration| at.saturating_sub(now);
        let next = match self.stage {
            AgentStage::Disconnected => ENGINE_RETRY_DELAY,
            AgentStage::AwaitingWelcome => {
                until(self.last_contact + self.lease.keepalive_timeout())
            }
            AgentStage::EndingTasks | AgentStage::AwaitingRegistration | AgentStage::Registered => {
                until(self.last_heartbeat + self.lease.heartbeat_interval())
            }
        };
        let retry = self.retry.map(until);
        let clearing = (self.stage == AgentStage::EndingTasks).then_some(ENGINE_RETRY_DELAY);
        let lease = self.engine.is_some() && !self.is_out_of_lease(now);
        let lease = lease.then(|| until(self.lease_start + self.lease.lease()));
        let departure = self.departure_due().map(until);
        let suspicion = self.suspicion_ends().map(until);
        let goodbye = self.reported_at.map(|at| until(at + OUTPUT_TIME));
        let waits = retry.into_iter().chain(clearing).chain(lease);
        let eviction = self.eviction_due().map(until);
        let waits = waits.chain(departure).chain(goodbye).chain(suspicion);
        let warning = self.warning_due().map(until);
        let look = self.next_look().map(until);
        let waits = waits.chain(eviction).chain(warning).chain(look);
        // Never zero: an action that is due and failed is due again in a moment.
        waits.fold(next, Duration::min).max(MIN_IDLE)
    }

    /// Does what is due; `at` is the wall-clock time for reports.
    ///
    /// # Errors
    /// If the connection is to be given up.
    pub fn tick(&mut self, now: Duration, at: Instant) -> Result<(), DisconnectReason> {
        self.depart_if_due(now);
        self.judge_suspicious(now);
        if self.is_out_of_lease(now) || !self.departure.starts_attempts() {
            self.kill_all();
        }
        self.give_way(now);
        self.warn_before_close(now, at);
        self.measure_load(now);
        self.poll(now);
        if self.stage == AgentStage::EndingTasks {
            self.finish_previous_incarnation(now)?;
        }
        self.run_pending(now, at);
        self.send_outputs(now);
        self.announce_departure(now);
        if self.stage == AgentStage::Disconnected {
            return Ok(());
        }
        if now.saturating_sub(self.last_contact) >= self.lease.keepalive_timeout() {
            return Err(DisconnectReason::Reconnect(
                "the service is silent".to_owned(),
            ));
        }
        if now.saturating_sub(self.last_heartbeat) >= self.lease.heartbeat_interval()
            && self.stage != AgentStage::AwaitingWelcome
        {
            self.heartbeats += 1;
            self.last_heartbeat = now;
            self.unanswered.push_back((self.heartbeats, now));
            self.send(WorkerMessage::Beat(self.heartbeats));
        }
        Ok(())
    }

    /// Returns whether the lease is over: the service may assume that the running tasks have ended.
    fn is_out_of_lease(&self, now: Duration) -> bool {
        now.saturating_sub(self.lease_start) >= self.lease.lease()
    }

    fn send(&mut self, message: WorkerMessage) {
        let epoch = match self.stage {
            AgentStage::Disconnected
            | AgentStage::AwaitingWelcome
            | AgentStage::EndingTasks
            | AgentStage::AwaitingRegistration => 0,
            AgentStage::Registered => self.state.incarnation,
        };
        let seq = self.sent.next_number();
        self.outgoing.push(WorkerFrame {
            incarnation: epoch,
            seq,
            message,
        });
    }

    /// Forwards the engine's new reports.
    fn poll(&mut self, now: Duration) {
        let Some(engine) = &mut self.engine else {
            return;
        };
        // An engine that cannot be asked now keeps its reports for later.
        let reports = engine.poll(Duration::ZERO).unwrap_or_default();
        if !reports.is_empty() {
            self.last_busy = Some(now);
        }
        let reports = self.set_suspicious_aside(reports, now);
        self.record_reports(reports);
    }

    fn record_reports(&mut self, reports: Vec<AttemptReport>) {
        let mut new = Vec::new();
        for report in reports {
            let known = self.reports.entry(report.attempt).or_default();
            if !known.contains(&report) {
                known.push(report.clone());
                new.push(report);
            }
        }
        // A leaving worker reports everything at once: after partial reports the service would send
        // more work.
        if self.stage == AgentStage::Registered && self.departure.starts_attempts() {
            self.send_reports(&new);
        }
    }

    fn end_time(&self) -> Option<Instant> {
        let closes = self.desktop.as_ref().and_then(DesktopState::closes);
        closes.or(self.config.end.map(|end| end.until))
    }

    /// Returns the end for which an incarnation goes on. A desktop closes again and again.
    fn own_end(&self) -> Option<Instant> {
        self.config.end.map(|end| end.until)
    }

    fn send_offer(&mut self, capacity: EngineCapacity, running: Vec<AttemptId>) {
        let until = self.end_time();
        let desktop = self.desktop.as_ref().map(|desktop| DesktopOffer {
            in_use: desktop.no_starts(),
            facts: desktop.facts().to_vec(),
        });
        self.send(WorkerMessage::Offer {
            capacity,
            running,
            until,
            desktop,
        });
    }

    fn send_reports(&mut self, reports: &[AttemptReport]) {
        for some in reports.chunks(MAX_REPORTS_PER_FRAME) {
            self.send(WorkerMessage::Reports(some.to_vec()));
        }
    }

    /// Extends the engine's lease to the runner's lease after the newest acknowledged message. If
    /// the engine cannot be asked, the next answer of the service tries again.
    fn renew_lease(&mut self) {
        let until = BootTime::after_boot(self.lease_start + self.lease.runner_lease());
        if let Some(engine) = &mut self.engine {
            let _ = engine.renew_lease(until);
        }
    }

    fn is_idle(&mut self) -> bool {
        self.running().is_ok_and(|running| running.is_empty())
    }

    /// Asks all running tasks to end. Tasks that were asked before are not asked in another way.
    fn kill_all(&mut self) {
        self.pending.retain(EngineCommand::is_acknowledgement);
        let running = self.running().unwrap_or_default();
        if let Some(engine) = self.engine.as_mut().filter(|_| !running.is_empty()) {
            // The next turn tries again if the engine cannot be asked.
            let _ = engine.kill(&running, KillReason::Evicted);
        }
    }

    fn running(&mut self) -> Result<Vec<AttemptId>, EngineError> {
        let Some(engine) = &mut self.engine else {
            return Ok(Vec::new());
        };
        let running = engine.running()?;
        Ok(running.into_iter().map(|running| running.attempt).collect())
    }

    /// Forgets an earlier incarnation once none of its tasks runs, and offers the capacity.
    fn finish_previous_incarnation(&mut self, now: Duration) -> Result<(), DisconnectReason> {
        self.kill_all();
        let ended = self.reports.values().flatten();
        let ended = ended.filter(|report| report.event.is_end());
        let ended = ended.map(|report| report.attempt);
        // The engine forgets the ends that were kept back, too.
        let ended: Vec<AttemptId> = ended.chain(self.suspicious.keys().copied()).collect();
        // A leaving worker has nothing to offer.
        let is_clear = !self.departure.is_leaving() && self.is_idle();
        let Some(engine) = self.engine.as_mut().filter(|_| is_clear) else {
            return Ok(());
        };
        let forgotten = match ended.is_empty() {
            true => Ok(()),
            false => engine.acknowledge(&ended),
        };
        if let (Ok(()), Ok(capacity)) = (forgotten, engine.capacity()) {
            if let Some(probe) = &mut self.config.probe {
                // Nothing runs, so a lease from now on prolongs no task of an earlier incarnation.
                let lease = BootTime::after_boot(now + self.lease.runner_lease());
                let _ = engine.renew_lease(lease);
                probe(engine).map_err(DisconnectReason::Unfit)?;
            }
            self.reports.clear();
            self.suspicious.clear();
            self.stage = AgentStage::AwaitingRegistration;
            self.offered_at = now;
            let running = Vec::new();
            self.send_offer(capacity, running);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
