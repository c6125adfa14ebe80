//! The worker's own end: what it hears and says, and what it has its engine do.
//!
//! It reads no clock and no socket: who drives a [`WorkerAgent`] tells it what came and what time it is, sends
//! what it has to say ([`WorkerAgent::take_words`]), and gives it a turn when it asks for one. Times are spans
//! since the boot of the host, as its engine reads them ([`tollgate_engine::BootTime`]).

mod handle;
mod pending;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tollgate_engine::{
    AttemptEvent, AttemptKey, AttemptReport, BootTime, Engine, EngineError, KillReason, LaunchUser,
    Retryability,
};
use tollgate_model::Instant;

use super::lease::LeaseTimings;
use super::protocol::{SequenceCounter, VERSION, WorkerFrame, WorkerHello, WorkerMessage};
use crate::engine_convert;
use pending::EngineCommand;

/// How long to wait before the engine is asked again that could not be.
const ENGINE_RETRY_DELAY: Duration = Duration::from_secs(1);
/// The shortest wait for a turn.
const MIN_IDLE: Duration = Duration::from_millis(5);
/// The most reports of one word.
const MAX_REPORTS_PER_FRAME: usize = 500;

/// Opens the engine on some terms.
pub type EngineOpener<E> = Box<dyn FnMut(&LeaseTimings) -> Result<E, EngineError> + Send>;
/// From an owner's name to whom a job runs as, or why it does not.
pub type OwnerResolver = Box<dyn Fn(&str) -> Result<Option<LaunchUser>, String> + Send>;
/// Writes down what has to be remembered.
pub type StateWriter = Box<dyn FnMut(&AgentPersistentState) -> io::Result<()> + Send>;

/// What a worker works with.
pub struct AgentConfig<E> {
    /// What tells it from every other.
    pub identity: String,
    /// What it is called, to be shown.
    pub name: String,
    /// The user that it runs as, by name.
    pub user: String,
    /// Whether it runs jobs of every user.
    pub all_users: bool,
    /// Whether it runs jobs of root.
    pub root_jobs: bool,
    /// Opens the engine, on these terms: under a lease that the worker renews.
    pub open_engine: EngineOpener<E>,
    /// As whom a job runs whose owner is called so; none is as whom the engine runs.
    pub resolve_owner: OwnerResolver,
    /// Keeps what the worker has to remember; on disk when it returns.
    pub write_state: StateWriter,
}

/// What a worker remembers when it is started again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentPersistentState {
    /// The service that it works for.
    pub service: Option<String>,
    /// The worker's last incarnation; 0 if none.
    #[serde(rename = "incarnation")]
    pub incarnation: u32,
}

/// Why a connection is of no use any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DisconnectReason {
    /// Another one may be.
    Reconnect(String),
    /// The service does not want this worker.
    Refused(String),
}

/// A worker.
pub struct WorkerAgent<E> {
    config: AgentConfig<E>,
    state: AgentPersistentState,
    lease: LeaseTimings,
    engine: Option<E>,
    stage: AgentStage,
    sent: SequenceCounter,
    received: SequenceCounter,
    outgoing: Vec<WorkerFrame<WorkerMessage>>,
    /// What was reported and not acknowledged, oldest first.
    reports: BTreeMap<AttemptKey, Vec<AttemptReport>>,
    /// What the engine is to be told.
    pending: VecDeque<EngineCommand>,
    /// When the engine is asked again that could not be.
    retry: Option<Duration>,
    /// When what was said that the service has certainly heard: what runs may run for a lease from then.
    lease_start: Duration,
    /// Hellos and beats that were not answered, and when they were said.
    unanswered: VecDeque<(u64, Duration)>,
    heartbeats: u64,
    /// When the last offer was said.
    offered_at: Duration,
    last_heartbeat: Duration,
    last_contact: Duration,
    departure: DeparturePhase,
}

/// Whether the worker goes for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeparturePhase {
    /// It does not.
    Staying,
    /// It was asked to, and ends what it runs.
    Draining,
    /// It has told the service that it runs nothing any more.
    Announced,
}

/// How far the present connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AgentStage {
    /// There is none.
    Disconnected,
    /// The worker has said who it is.
    AwaitingWelcome,
    /// It ends what it runs: that belongs to a life that is over.
    EndingTasks,
    /// It has offered what it has for a new life.
    AwaitingRegistration,
    /// It works.
    Registered,
}

impl<E: Engine> WorkerAgent<E> {
    /// A worker that is not connected yet. Nothing of an earlier one is touched before the service
    /// says whether its life goes on: until then the runner alone knows how long it may go on.
    pub fn new(kit: AgentConfig<E>, memory: AgentPersistentState) -> Self {
        Self {
            config: kit,
            state: memory,
            lease: LeaseTimings::default(),
            engine: None,
            stage: AgentStage::Disconnected,
            sent: SequenceCounter::default(),
            received: SequenceCounter::default(),
            outgoing: Vec::new(),
            reports: BTreeMap::new(),
            pending: VecDeque::new(),
            retry: None,
            lease_start: Duration::ZERO,
            unanswered: VecDeque::new(),
            heartbeats: 0,
            offered_at: Duration::ZERO,
            last_heartbeat: Duration::ZERO,
            last_contact: Duration::ZERO,
            departure: DeparturePhase::Staying,
        }
    }

    /// There is a connection: the worker says who it is.
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
            service: self.state.service.clone(),
            incarnation: self.state.incarnation,
        };
        self.send(WorkerMessage::Hello(hello));
    }

    /// There is none any more. Orders that were not carried out are given again by the service.
    pub fn disconnected(&mut self) {
        self.stage = AgentStage::Disconnected;
        self.sent = SequenceCounter::default();
        self.received = SequenceCounter::default();
        self.outgoing.clear();
        self.pending.clear();
        self.unanswered.clear();
    }

    /// What there is to say, in this order.
    pub fn drain_outgoing(&mut self) -> Vec<WorkerFrame<WorkerMessage>> {
        std::mem::take(&mut self.outgoing)
    }

    /// Whether it works, for a life that goes on.
    pub fn is_registered(&self) -> bool {
        self.stage == AgentStage::Registered
    }

    /// On which terms it works.
    pub fn lease_timings(&self) -> LeaseTimings {
        self.lease
    }

    /// Asks the worker to go for good: it ends what it runs, and then tells the service that it goes, which
    /// waits for it no longer.
    pub fn request_departure(&mut self) {
        if self.departure == DeparturePhase::Staying {
            self.departure = DeparturePhase::Draining;
        }
    }

    /// Whether a worker that was asked to go need not stay: it runs nothing, and the service has
    /// answered that its life is over, or cannot be told.
    pub fn has_left(&mut self) -> bool {
        let is_done = match self.departure {
            DeparturePhase::Staying => false,
            DeparturePhase::Draining => self.is_idle(),
            DeparturePhase::Announced => true,
        };
        is_done && self.stage != AgentStage::Registered
    }

    /// The engine, once it was opened.
    pub fn engine(&mut self) -> Option<&mut E> {
        self.engine.as_mut()
    }

    /// The life that it has or had last, and the service.
    pub fn persistent_state(&self) -> &AgentPersistentState {
        &self.state
    }

    /// After how long it wants a turn although nothing happens.
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
        let waits = retry.into_iter().chain(clearing).chain(lease);
        // Never at once: what is due and was not done is due again in a moment.
        waits.fold(next, Duration::min).max(MIN_IDLE)
    }

    /// Does what is due; `at` is the time on the wall, for what is reported.
    ///
    /// # Errors
    /// If the connection is of no use any more.
    pub fn tick(&mut self, now: Duration, at: Instant) -> Result<(), DisconnectReason> {
        if self.is_out_of_lease(now) || self.departure != DeparturePhase::Staying {
            self.kill_all();
        }
        self.poll();
        if self.stage == AgentStage::EndingTasks {
            self.finish_previous_incarnation(now);
        }
        self.run_pending(now, at);
        self.announce_departure();
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

    /// Whether what it runs may not go on: the service may think that it has ended.
    fn is_out_of_lease(&self, now: Duration) -> bool {
        now.saturating_sub(self.lease_start) >= self.lease.lease()
    }

    fn send(&mut self, word: WorkerMessage) {
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
            word,
        });
    }

    /// Takes what the engine reports, and passes it on.
    fn poll(&mut self) {
        let Some(engine) = &mut self.engine else {
            return;
        };
        // If it cannot be asked, it can be later; what it has to say stays.
        let reports = engine.poll(Duration::ZERO).unwrap_or_default();
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
        // Of a worker that goes the service hears all at once: it would give it more to run meanwhile.
        if self.stage == AgentStage::Registered && self.departure == DeparturePhase::Staying {
            self.send_reports(&new);
        }
    }

    fn send_reports(&mut self, reports: &[AttemptReport]) {
        for some in reports.chunks(MAX_REPORTS_PER_FRAME) {
            self.send(WorkerMessage::Reports(some.to_vec()));
        }
    }

    /// Lets the engine's tasks go on for the runner's lease from what was said last and answered. An
    /// engine that cannot be asked is asked again with the next answer of the service.
    fn renew_lease(&mut self) {
        let until = BootTime::after_boot(self.lease_start + self.lease.runner_lease());
        if let Some(engine) = &mut self.engine {
            let _ = engine.renew_lease(until);
        }
    }

    /// The last words of a worker that was asked to go, once nothing runs: what ended by itself, and that
    /// it goes. What was ended for this is lost with its incarnation.
    fn announce_departure(&mut self) {
        let is_asked =
            self.departure == DeparturePhase::Draining && self.stage == AgentStage::Registered;
        if !is_asked || !self.is_idle() || !self.reports.values().all(|all| has_ended(all)) {
            return;
        }
        let by_itself = |reports: &&Vec<AttemptReport>| !reports.iter().any(was_evicted);
        let reports = self.reports.values().filter(by_itself);
        let reports: Vec<AttemptReport> = reports.flatten().cloned().collect();
        self.send_reports(&reports);
        self.send(WorkerMessage::Leave);
        self.departure = DeparturePhase::Announced;
    }

    fn is_idle(&mut self) -> bool {
        self.running().is_ok_and(|running| running.is_empty())
    }

    /// Asks all that runs to end. Whoever was asked before is not asked differently.
    fn kill_all(&mut self) {
        let is_harmless = |todo: &EngineCommand| matches!(todo, EngineCommand::Acknowledge(_));
        self.pending.retain(is_harmless);
        let running = self.running().unwrap_or_default();
        if let Some(engine) = self.engine.as_mut().filter(|_| !running.is_empty()) {
            // Tried again at the next turn, if it cannot be asked.
            let _ = engine.kill(&running, KillReason::Evicted);
        }
    }

    fn running(&mut self) -> Result<Vec<AttemptKey>, EngineError> {
        let Some(engine) = &mut self.engine else {
            return Ok(Vec::new());
        };
        let running = engine.running()?;
        Ok(running.into_iter().map(|running| running.attempt).collect())
    }

    /// Once nothing of an earlier life runs, it is forgotten, and what there is, is offered.
    fn finish_previous_incarnation(&mut self, now: Duration) {
        self.kill_all();
        let ended = self.reports.values().flatten();
        let ended = ended.filter(|report| engine_convert::is_end(report));
        let ended: Vec<AttemptKey> = ended.map(|report| report.attempt).collect();
        // A worker that goes has nothing to offer.
        let is_clear = self.departure == DeparturePhase::Staying && self.is_idle();
        let Some(engine) = self.engine.as_mut().filter(|_| is_clear) else {
            return;
        };
        let forgotten = match ended.is_empty() {
            true => Ok(()),
            false => engine.acknowledge(&ended),
        };
        if let (Ok(()), Ok(capacity)) = (forgotten, engine.capacity()) {
            self.reports.clear();
            self.stage = AgentStage::AwaitingRegistration;
            self.offered_at = now;
            let running = Vec::new();
            self.send(WorkerMessage::Offer { capacity, running });
        }
    }
}

/// Whether an attempt needs not be started, since its end is told already.
fn has_ended(reports: &[AttemptReport]) -> bool {
    let ends = |report: &AttemptReport| !matches!(report.event, AttemptEvent::Started(_));
    reports.iter().any(ends)
}

fn was_evicted(report: &AttemptReport) -> bool {
    matches!(&report.event, AttemptEvent::Ended(ended) if ended.killed == Some(KillReason::Evicted))
}

/// Whether trying again can help.
fn is_retryable(error: &EngineError) -> bool {
    error.retryability() != Retryability::Never
}
