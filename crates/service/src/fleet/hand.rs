//! The worker's own end: what it hears and says, and what it has its engine do.
//!
//! It reads no clock and no socket: who drives a [`WorkerAgent`] tells it what came and what time it is, sends
//! what it has to say ([`WorkerAgent::take_words`]), and gives it a turn when it asks for one. Times are spans
//! since the boot of the host, as its engine reads them ([`tollgate_engine::BootTime`]).

mod hear;
mod todo;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tollgate_engine::{
    AttemptEvent, AttemptKey, AttemptReport, BootTime, Engine, EngineError, KillReason, LaunchUser,
    Retryability,
};
use tollgate_model::Instant;

use super::terms::LeaseTimings;
use super::words::{SequenceCounter, VERSION, WorkerFrame, WorkerHello, WorkerMessage};
use crate::engine_words;
use todo::EngineCommand;

/// How long to wait before the engine is asked again that could not be.
const BACK_OFF: Duration = Duration::from_secs(1);
/// The shortest wait for a turn.
const LEAST_WAIT: Duration = Duration::from_millis(5);
/// The most reports of one word.
const MOST_AT_ONCE: usize = 500;

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
    pub open: EngineOpener<E>,
    /// As whom a job runs whose owner is called so; none is as whom the engine runs.
    pub run_as: OwnerResolver,
    /// Keeps what the worker has to remember; on disk when it returns.
    pub remember: StateWriter,
}

/// What a worker remembers when it is started again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentPersistentState {
    /// The service that it works for.
    pub service: Option<String>,
    /// The worker's last incarnation; 0 if none.
    #[serde(rename = "incarnation")]
    pub epoch: u32,
}

/// Why a connection is of no use any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DisconnectReason {
    /// Another one may be.
    Again(String),
    /// The service does not want this worker.
    Refused(String),
}

/// A worker.
pub struct WorkerAgent<E> {
    kit: AgentConfig<E>,
    memory: AgentPersistentState,
    terms: LeaseTimings,
    engine: Option<E>,
    stage: AgentStage,
    said: SequenceCounter,
    heard: SequenceCounter,
    words: Vec<WorkerFrame<WorkerMessage>>,
    /// What was reported and not acknowledged, oldest first.
    reports: BTreeMap<AttemptKey, Vec<AttemptReport>>,
    /// What the engine is to be told.
    todo: VecDeque<EngineCommand>,
    /// When the engine is asked again that could not be.
    retry: Option<Duration>,
    /// When what was said that the service has certainly heard: what runs may run for a lease from then.
    assured: Duration,
    /// Hellos and beats that were not answered, and when they were said.
    unanswered: VecDeque<(u64, Duration)>,
    beats: u64,
    /// When the last offer was said.
    offered: Duration,
    last_beat: Duration,
    last_heard: Duration,
    leaving: DeparturePhase,
}

/// Whether the worker goes for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeparturePhase {
    /// It does not.
    No,
    /// It was asked to, and ends what it runs.
    Asked,
    /// It has told the service that it runs nothing any more.
    Told,
}

/// How far the present connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AgentStage {
    /// There is none.
    Off,
    /// The worker has said who it is.
    Hailing,
    /// It ends what it runs: that belongs to a life that is over.
    Clearing,
    /// It has offered what it has for a new life.
    Offering,
    /// It works.
    Working,
}

impl<E: Engine> WorkerAgent<E> {
    /// A worker that is not connected yet. Nothing of an earlier one is touched before the service
    /// says whether its life goes on: until then the runner alone knows how long it may go on.
    pub fn new(kit: AgentConfig<E>, memory: AgentPersistentState) -> Self {
        Self {
            kit,
            memory,
            terms: LeaseTimings::default(),
            engine: None,
            stage: AgentStage::Off,
            said: SequenceCounter::default(),
            heard: SequenceCounter::default(),
            words: Vec::new(),
            reports: BTreeMap::new(),
            todo: VecDeque::new(),
            retry: None,
            assured: Duration::ZERO,
            unanswered: VecDeque::new(),
            beats: 0,
            offered: Duration::ZERO,
            last_beat: Duration::ZERO,
            last_heard: Duration::ZERO,
            leaving: DeparturePhase::No,
        }
    }

    /// There is a connection: the worker says who it is.
    pub fn connected(&mut self, now: Duration) {
        self.disconnected();
        self.stage = AgentStage::Hailing;
        self.last_heard = now;
        self.last_beat = now;
        self.unanswered.push_back((0, now));
        let hello = WorkerHello {
            version: VERSION,
            identity: self.kit.identity.clone(),
            name: self.kit.name.clone(),
            user: self.kit.user.clone(),
            all_users: self.kit.all_users,
            root_jobs: self.kit.root_jobs,
            service: self.memory.service.clone(),
            epoch: self.memory.epoch,
        };
        self.say(WorkerMessage::Hello(hello));
    }

    /// There is none any more. Orders that were not carried out are given again by the service.
    pub fn disconnected(&mut self) {
        self.stage = AgentStage::Off;
        self.said = SequenceCounter::default();
        self.heard = SequenceCounter::default();
        self.words.clear();
        self.todo.clear();
        self.unanswered.clear();
    }

    /// What there is to say, in this order.
    pub fn take_words(&mut self) -> Vec<WorkerFrame<WorkerMessage>> {
        std::mem::take(&mut self.words)
    }

    /// Whether it works, for a life that goes on.
    pub fn works(&self) -> bool {
        self.stage == AgentStage::Working
    }

    /// On which terms it works.
    pub fn terms(&self) -> LeaseTimings {
        self.terms
    }

    /// Asks the worker to go for good: it ends what it runs, and then tells the service that it goes, which
    /// waits for it no longer.
    pub fn leave(&mut self) {
        if self.leaving == DeparturePhase::No {
            self.leaving = DeparturePhase::Asked;
        }
    }

    /// Whether a worker that was asked to go need not stay: it runs nothing, and the service has
    /// answered that its life is over, or cannot be told.
    pub fn has_left(&mut self) -> bool {
        let is_done = match self.leaving {
            DeparturePhase::No => false,
            DeparturePhase::Asked => self.runs_nothing(),
            DeparturePhase::Told => true,
        };
        is_done && self.stage != AgentStage::Working
    }

    /// The engine, once it was opened.
    pub fn engine(&mut self) -> Option<&mut E> {
        self.engine.as_mut()
    }

    /// The life that it has or had last, and the service.
    pub fn memory(&self) -> &AgentPersistentState {
        &self.memory
    }

    /// After how long it wants a turn although nothing happens.
    pub fn patience(&self, now: Duration) -> Duration {
        let until = |at: Duration| at.saturating_sub(now);
        let next = match self.stage {
            AgentStage::Off => BACK_OFF,
            AgentStage::Hailing => until(self.last_heard + self.terms.silence()),
            AgentStage::Clearing | AgentStage::Offering | AgentStage::Working => {
                until(self.last_beat + self.terms.beat())
            }
        };
        let retry = self.retry.map(until);
        let clearing = (self.stage == AgentStage::Clearing).then_some(BACK_OFF);
        let lease = self.engine.is_some() && !self.is_out_of_lease(now);
        let lease = lease.then(|| until(self.assured + self.terms.lease()));
        let waits = retry.into_iter().chain(clearing).chain(lease);
        // Never at once: what is due and was not done is due again in a moment.
        waits.fold(next, Duration::min).max(LEAST_WAIT)
    }

    /// Does what is due; `at` is the time on the wall, for what is reported.
    ///
    /// # Errors
    /// If the connection is of no use any more.
    pub fn turn(&mut self, now: Duration, at: Instant) -> Result<(), DisconnectReason> {
        if self.is_out_of_lease(now) || self.leaving != DeparturePhase::No {
            self.end_everything();
        }
        self.poll();
        if self.stage == AgentStage::Clearing {
            self.clear(now);
        }
        self.carry_out(now, at);
        self.tell_that_it_goes();
        if self.stage == AgentStage::Off {
            return Ok(());
        }
        if now.saturating_sub(self.last_heard) >= self.terms.silence() {
            return Err(DisconnectReason::Again("the service is silent".to_owned()));
        }
        if now.saturating_sub(self.last_beat) >= self.terms.beat()
            && self.stage != AgentStage::Hailing
        {
            self.beats += 1;
            self.last_beat = now;
            self.unanswered.push_back((self.beats, now));
            self.say(WorkerMessage::Beat(self.beats));
        }
        Ok(())
    }

    /// Whether what it runs may not go on: the service may think that it has ended.
    fn is_out_of_lease(&self, now: Duration) -> bool {
        now.saturating_sub(self.assured) >= self.terms.lease()
    }

    fn say(&mut self, word: WorkerMessage) {
        let epoch = match self.stage {
            AgentStage::Off | AgentStage::Hailing | AgentStage::Clearing | AgentStage::Offering => {
                0
            }
            AgentStage::Working => self.memory.epoch,
        };
        let seq = self.said.say();
        self.words.push(WorkerFrame { epoch, seq, word });
    }

    /// Takes what the engine reports, and passes it on.
    fn poll(&mut self) {
        let Some(engine) = &mut self.engine else {
            return;
        };
        // If it cannot be asked, it can be later; what it has to say stays.
        let reports = engine.poll(Duration::ZERO).unwrap_or_default();
        self.note(reports);
    }

    fn note(&mut self, reports: Vec<AttemptReport>) {
        let mut new = Vec::new();
        for report in reports {
            let known = self.reports.entry(report.attempt).or_default();
            if !known.contains(&report) {
                known.push(report.clone());
                new.push(report);
            }
        }
        // Of a worker that goes the service hears all at once: it would give it more to run meanwhile.
        if self.stage == AgentStage::Working && self.leaving == DeparturePhase::No {
            self.report(&new);
        }
    }

    fn report(&mut self, reports: &[AttemptReport]) {
        for some in reports.chunks(MOST_AT_ONCE) {
            self.say(WorkerMessage::Reports(some.to_vec()));
        }
    }

    /// Lets the engine's tasks go on for the runner's lease from what was said last and answered. An
    /// engine that cannot be asked is asked again with the next answer of the service.
    fn renew_lease(&mut self) {
        let until = BootTime::after_boot(self.assured + self.terms.runner_lease());
        if let Some(engine) = &mut self.engine {
            let _ = engine.renew_lease(until);
        }
    }

    /// The last words of a worker that was asked to go, once nothing runs: what ended by itself, and that
    /// it goes. What was ended for this is lost with its incarnation.
    fn tell_that_it_goes(&mut self) {
        let is_asked = self.leaving == DeparturePhase::Asked && self.stage == AgentStage::Working;
        if !is_asked || !self.runs_nothing() || !self.reports.values().all(|all| has_ended(all)) {
            return;
        }
        let by_itself = |reports: &&Vec<AttemptReport>| !reports.iter().any(was_evicted);
        let reports = self.reports.values().filter(by_itself);
        let reports: Vec<AttemptReport> = reports.flatten().cloned().collect();
        self.report(&reports);
        self.say(WorkerMessage::Leave);
        self.leaving = DeparturePhase::Told;
    }

    fn runs_nothing(&mut self) -> bool {
        self.running().is_ok_and(|running| running.is_empty())
    }

    /// Asks all that runs to end. Whoever was asked before is not asked differently.
    fn end_everything(&mut self) {
        let is_harmless = |todo: &EngineCommand| matches!(todo, EngineCommand::Acknowledge(_));
        self.todo.retain(is_harmless);
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
    fn clear(&mut self, now: Duration) {
        self.end_everything();
        let ended = self.reports.values().flatten();
        let ended = ended.filter(|report| engine_words::is_end(report));
        let ended: Vec<AttemptKey> = ended.map(|report| report.attempt).collect();
        // A worker that goes has nothing to offer.
        let is_clear = self.leaving == DeparturePhase::No && self.runs_nothing();
        let Some(engine) = self.engine.as_mut().filter(|_| is_clear) else {
            return;
        };
        let forgotten = match ended.is_empty() {
            true => Ok(()),
            false => engine.acknowledge(&ended),
        };
        if let (Ok(()), Ok(capacity)) = (forgotten, engine.capacity()) {
            self.reports.clear();
            self.stage = AgentStage::Offering;
            self.offered = now;
            let running = Vec::new();
            self.say(WorkerMessage::Offer { capacity, running });
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
fn can_be_tried_again(error: &EngineError) -> bool {
    error.retry() != Retryability::Never
}
