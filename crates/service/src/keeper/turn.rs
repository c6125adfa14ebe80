//! One turn of the keeper: everything that came in meanwhile.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tollgate_engine::{Engine, EngineError, KillReason, Launch, Limits, Report, Wake};
use tollgate_gate::WorkerId;
use tollgate_model::{Instant, NodeId, Span};
use tollgate_policy::Phase;

use super::ask::{Ask, Census, Failed, Reply, Site, Story, Verdict};
use super::crowd::Crowd;
use crate::accounts::{self, RunAs};
use crate::core::{Answer, AttemptKey, Change, Command, Core, Order, Reply as Said, Rules, Step};
use crate::engine_words;
use crate::fault::{self, Moment, Saboteur};
use crate::store::{Batch, Program, Store, StoreError};

/// The engine of this machine, as the gate knows it.
const LOCAL: WorkerId = WorkerId(0);
/// How many batches a recovery handles again at most, more or less.
const BATCHES_A_SNAPSHOT: u32 = 2_000;
/// How long to wait before something is tried again that failed.
const BACK_OFF: Span = Span::from_secs(1);

/// Programs, by the place of the command that each came with.
type Programs = BTreeMap<usize, Program>;

/// Tells the time; it may go back, and is then taken to stand still.
pub type Clock = Box<dyn FnMut() -> Instant + Send>;

/// What owns gate, store and engine.
pub struct Keeper<E> {
    core: Core,
    store: Store,
    engine: E,
    clock: Clock,
    /// Who waits for a job to be over, or to be decided about.
    waiting: BTreeMap<u64, Vec<Waiter>>,
    /// What the engine said and the store does not know yet.
    reports: Vec<Report>,
    /// Attempts that cannot run as their user, and end without the engine.
    unstartable: Vec<Report>,
    run_as: RunAs,
    /// How many jobs of one user may be not over.
    most_jobs: u32,
    /// What the engine has not been told yet: it could not be reached.
    orders: Vec<Order>,
    /// When to try again what failed.
    retry: Option<Instant>,
    /// Until when the engine is left alone: it could not be reached.
    engine_off: Option<Instant>,
    /// The disk is full: nothing new is taken in, until there is room for a reserve again.
    full: bool,
    saboteur: Saboteur,
}

#[derive(Debug)]
struct Waiter {
    reply: Reply<()>,
    decided: bool,
}

/// Why the keeper cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The engine cannot be used.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// There is no thread to be had.
    #[error("no thread can be started: {0}")]
    Thread(io::Error),
}

/// Who is answered once a step is committed.
enum Asker {
    Submitted(Reply<Verdict>),
    Held(Reply<(Option<u64>, Answer)>),
    Acted(Reply<()>),
    Nobody,
}

impl<E: Engine> Keeper<E> {
    /// Takes up where the store left off.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn new(
        mut store: Store,
        engine: E,
        rules: &Rules,
        clock: Clock,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            core: store.recover(rules)?,
            store,
            engine,
            clock,
            waiting: BTreeMap::new(),
            reports: Vec::new(),
            unstartable: Vec::new(),
            run_as: accounts::own,
            most_jobs: u32::MAX,
            orders: Vec::new(),
            retry: None,
            engine_off: None,
            full: false,
            saboteur: fault::from_environment(),
        })
    }

    /// Has jobs run as whom `run_as` says from now on; without, only those of the service's own user
    /// run.
    pub fn run_as(&mut self, run_as: RunAs) {
        self.run_as = run_as;
    }

    /// Lets each user have so many jobs that are not over; without, as many as they like.
    pub fn limit_jobs(&mut self, most: u32) {
        self.most_jobs = most;
    }

    /// Has `saboteur` told of each moment of a turn from now on.
    pub fn sabotage(&mut self, saboteur: Saboteur) {
        self.saboteur = saboteur;
    }

    /// The state, to look into.
    pub fn core(&self) -> &Core {
        &self.core
    }

    /// The present instant: never before what was handled last.
    pub fn now(&mut self) -> Instant {
        (self.clock)().max(self.core.now())
    }

    /// When to turn at the latest although nobody asks.
    pub fn next_wake(&self) -> Option<Instant> {
        self.core.next_wake().into_iter().chain(self.retry).min()
    }

    pub(super) fn on_report(&mut self, wake: Wake) {
        self.engine.on_report(wake);
    }

    /// Brings gate and engine together: the machine's nodes are offered, what is to run and the
    /// engine does not know is handed in again, and what it runs and nobody wants is ended.
    ///
    /// # Errors
    /// If the engine cannot be asked, or the store cannot be written.
    pub fn begin(&mut self) -> Result<(), StartError> {
        let nodes = self.engine.capacity()?.nodes;
        let known = self.core.gate().worker(LOCAL);
        let mut commands = Vec::new();
        if let Some(life) = known.filter(|life| life.up && life.nodes.len != nodes) {
            let epoch = life.epoch;
            commands.push(Command::WorkerGone {
                worker: LOCAL,
                epoch,
            });
        }
        if known.is_none_or(|life| !life.up || life.nodes.len != nodes) {
            commands.push(Command::WorkerUp {
                worker: LOCAL,
                epoch: known.map_or(1, |life| life.epoch + 1),
                nodes,
            });
        }
        if !commands.is_empty() {
            let step = self.commit(&commands, Programs::new())?;
            self.orders.extend(step.orders);
        }
        self.full = !self.store.keep_reserve();
        self.reconcile()?;
        Ok(())
    }

    fn reconcile(&mut self) -> Result<(), EngineError> {
        let wanted = self.core.running();
        let is_wanted = |attempt: AttemptKey| {
            wanted.iter().any(|order| match order {
                Order::Start { attempt: key, .. } => *key == attempt,
                Order::SetShare { .. } | Order::Kill { .. } => false,
            })
        };
        let running = self.engine.running()?.into_iter();
        let known: Vec<_> = running
            .map(|running| engine_words::key_of(running.attempt))
            .collect();
        let strays: Vec<Order> = known
            .iter()
            .filter(|&&attempt| !is_wanted(attempt))
            .map(|&attempt| Order::Kill { attempt })
            .collect();
        // What runs goes on, also if its user has no account any more.
        let missing = wanted.into_iter().filter(|order| match order {
            Order::Start { attempt, .. } => !known.contains(attempt),
            Order::SetShare { .. } | Order::Kill { .. } => true,
        });
        self.orders.extend(missing);
        self.orders.extend(strays);
        self.carry_out();
        Ok(())
    }

    /// Handles what came in, commits what follows, and then answers and acts.
    pub fn turn(&mut self, asks: Vec<Ask>) {
        let now = self.now();
        self.retry = self.retry.filter(|&at| at > now);
        self.engine_off = self.engine_off.filter(|&at| at > now);
        self.poll();
        self.full = self.full && !self.store.keep_reserve();
        let mut commands = Vec::new();
        let mut askers = Vec::new();
        // By the place of the command that it came with.
        let mut programs = BTreeMap::new();
        for report in &self.reports {
            commands.push(engine_words::command(report));
            askers.push(Asker::Nobody);
        }
        if self.core.next_wake().is_some_and(|at| at <= now) {
            commands.push(Command::Tick);
            askers.push(Asker::Nobody);
        }
        let mut later = Vec::new();
        let mut crowd = self.crowd(&asks);
        for ask in asks {
            match ask {
                Ask::Submit { .. } | Ask::Hold { .. } | Ask::Claim { .. } if self.full => {
                    ask.fail(Failed::Full);
                }
                Ask::Submit { ref submission, .. } | Ask::Hold { ref submission, .. }
                    if !crowd.enters(submission.user) =>
                {
                    ask.fail(Failed::TooMany(self.most_jobs));
                }
                Ask::Submit {
                    submission,
                    program,
                    reply,
                } => {
                    programs.insert(commands.len(), *program);
                    commands.push(Command::Submit(submission));
                    askers.push(Asker::Submitted(reply));
                }
                Ask::Hold { submission, reply } => {
                    commands.push(Command::Submit(submission));
                    askers.push(Asker::Held(reply));
                }
                Ask::Claim {
                    user,
                    job,
                    program,
                    reply,
                } => {
                    let command = Command::Claim { job };
                    match self.may(Some(user), &command) {
                        Ok(()) => {
                            programs.insert(commands.len(), *program);
                            commands.push(command);
                            askers.push(Asker::Acted(reply));
                        }
                        Err(failed) => drop(reply.send(Err(failed))),
                    }
                }
                Ask::Act {
                    user,
                    command,
                    reply,
                } => match self.may(user, &command) {
                    Ok(()) => {
                        commands.push(command);
                        askers.push(Asker::Acted(reply));
                    }
                    Err(failed) => drop(reply.send(Err(failed))),
                },
                Ask::Quote { .. }
                | Ask::Census { .. }
                | Ask::Nodes { .. }
                | Ask::Explain { .. }
                | Ask::Wait { .. }
                | Ask::Wake
                | Ask::Stop => later.push(ask),
            }
        }
        if !commands.is_empty() {
            self.act(&commands, programs, askers);
        }
        if self.engine_off.is_none() {
            self.carry_out();
            self.moment(Moment::Ordered);
        }
        for ask in later {
            self.look(ask);
        }
        if self.store.since_snapshot() >= BATCHES_A_SNAPSHOT {
            self.rest();
        }
    }

    fn crowd(&self, asks: &[Ask]) -> Crowd {
        let live = || self.core.jobs().map(|(_, live)| live.user);
        Crowd::new(self.most_jobs, asks.len(), live)
    }

    /// Writes down the state, so that the next start need not handle again what led to it. If that
    /// fails nothing is lost: the start takes longer.
    pub fn rest(&mut self) {
        // The moment comes before the core is asked to save itself: that changes its index.
        let room = self.allowed(Moment::Resting);
        match room.and_then(|()| self.store.save(&mut self.core)) {
            Ok(()) => self.moment(Moment::Rested),
            Err(error) => self.complain(&error),
        }
    }

    /// A job of somebody else is answered as one that is not there.
    fn may(&self, user: Option<u32>, command: &Command) -> Result<(), Failed> {
        let (Command::Cancel { job }
        | Command::Hold { job }
        | Command::Release { job }
        | Command::Claim { job }) = command
        else {
            return Ok(());
        };
        let live = self.core.job(*job);
        let own = live.is_some_and(|live| user.is_none_or(|user| live.user == user));
        if own {
            Ok(())
        } else {
            Err(Failed::Ignored(crate::core::Ignored::UnknownJob))
        }
    }

    fn poll(&mut self) {
        match self.engine.poll(Duration::ZERO) {
            Ok(reports) => self.reports.extend(reports),
            Err(error) => self.complain(&error),
        }
        // Last, so that what the engine says of the same attempt counts.
        self.reports.append(&mut self.unstartable);
    }

    fn act(&mut self, commands: &[Command], programs: Programs, askers: Vec<Asker>) {
        match self.commit(commands, programs) {
            Ok(step) => {
                self.moment(Moment::Committed);
                self.answer(&step, askers);
                self.moment(Moment::Answered);
                self.tell_waiting(&step.changes);
                self.orders.extend(step.orders);
                self.acknowledge();
                self.moment(Moment::Acknowledged);
            }
            Err(error) => {
                self.complain(&error);
                self.refuse(&error, askers);
                if error.is_full() && self.store.give_up_reserve() {
                    self.record_ends();
                }
            }
        }
    }

    /// The disk is full, and what was kept for this is given up: what has ended is written down, and
    /// nothing new is taken in until there is room again.
    fn record_ends(&mut self) {
        self.full = true;
        let reports: Vec<Command> = self.reports.iter().map(engine_words::command).collect();
        if reports.is_empty() {
            return;
        }
        match self.commit(&reports, Programs::new()) {
            Ok(step) => {
                self.tell_waiting(&step.changes);
                self.orders.extend(step.orders);
                self.acknowledge();
            }
            Err(error) => self.complain(&error),
        }
    }

    /// What was decided and not written was not decided: the state is what the store says.
    fn commit(&mut self, commands: &[Command], programs: Programs) -> Result<Step, StoreError> {
        let at = self.now();
        let step = self.core.step(at, commands);
        let batch = Batch {
            at,
            commands,
            changes: &step.changes,
            programs: &by_job(commands, &step.replies, programs),
        };
        let room = self.allowed(Moment::Decided);
        if let Err(error) = room.and_then(|()| self.store.commit(&batch)) {
            let rules = self.core.rules().clone();
            self.core = self.store.recover(&rules)?;
            return Err(error);
        }
        Ok(step)
    }

    fn moment(&mut self, moment: Moment) {
        // Nothing is written at these moments, so that the disk cannot fail.
        let _ = (self.saboteur)(moment);
    }

    fn allowed(&mut self, moment: Moment) -> Result<(), StoreError> {
        (self.saboteur)(moment).map_err(|error| self.store.failed(error))
    }

    fn answer(&mut self, step: &Step, askers: Vec<Asker>) {
        for (asker, reply) in askers.into_iter().zip(&step.replies) {
            match (asker, reply) {
                (Asker::Submitted(to), Said::Submitted { job, answer }) => {
                    let (job, answer) = (*job, answer.clone());
                    let _ = to.send(Ok(Verdict { job, answer }));
                }
                (Asker::Held(to), Said::Submitted { job, answer }) => {
                    let job = answer.held_until.map(|_| *job);
                    let _ = to.send(Ok((job, answer.clone())));
                }
                (Asker::Held(to), Said::NotHeld { answer }) => {
                    let _ = to.send(Ok((None, answer.clone())));
                }
                (Asker::Acted(to), Said::Done) => drop(to.send(Ok(()))),
                (Asker::Acted(to), Said::Ignored(ignored)) => {
                    let _ = to.send(Err(Failed::Ignored(*ignored)));
                }
                (Asker::Nobody, _) => {}
                (Asker::Submitted(_), Said::Done | Said::Ignored(_) | Said::NotHeld { .. })
                | (Asker::Held(_), Said::Done | Said::Ignored(_))
                | (Asker::Acted(_), Said::Submitted { .. } | Said::NotHeld { .. }) => {
                    unreachable!("a reply that does not fit its command: {reply:?}")
                }
            }
        }
    }

    fn refuse(&mut self, error: &StoreError, askers: Vec<Asker>) {
        for asker in askers {
            let failed = Failed::from(error);
            match asker {
                Asker::Submitted(to) => drop(to.send(Err(failed))),
                Asker::Held(to) => drop(to.send(Err(failed))),
                Asker::Acted(to) => drop(to.send(Err(failed))),
                Asker::Nobody => {}
            }
        }
    }

    fn tell_waiting(&mut self, changes: &[Change]) {
        for change in changes {
            let (job, over) = match change {
                Change::Over { job, .. }
                | Change::Rejected { job, .. }
                | Change::Lapsed { job } => (*job, true),
                Change::Accepted { job, .. } => (*job, false),
                Change::Submitted { .. }
                | Change::Claimed { .. }
                | Change::Queued { .. }
                | Change::Held { .. }
                | Change::Started { .. }
                | Change::Fate { .. }
                | Change::Booked { .. } => continue,
            };
            let waiting = self.waiting.remove(&job).unwrap_or_default();
            let (told, still): (Vec<_>, Vec<_>) = waiting
                .into_iter()
                .partition(|waiter| over || waiter.decided);
            for waiter in told {
                let _ = waiter.reply.send(Ok(()));
            }
            if !still.is_empty() {
                self.waiting.insert(job, still);
            }
        }
    }

    /// The ends of attempts are on disk: the engine may forget them.
    fn acknowledge(&mut self) {
        let ended: Vec<_> = std::mem::take(&mut self.reports)
            .into_iter()
            .filter(engine_words::is_end)
            .map(|report| report.attempt)
            .collect();
        if !ended.is_empty()
            && let Err(error) = self.engine.acknowledge(&ended)
        {
            self.complain(&error);
        }
    }

    /// Tells the engine what is to be done. What it cannot be told now, it is told later; what no
    /// engine could start has ended.
    fn carry_out(&mut self) {
        let orders = std::mem::take(&mut self.orders);
        if orders.is_empty() {
            return;
        }
        let mut launches = Vec::new();
        let mut shares = BTreeMap::new();
        let mut kills = Vec::new();
        for order in &orders {
            match order {
                Order::Start { attempt, nodes, .. } => match self.launch(*attempt, nodes) {
                    Ok(launch) => launches.extend(launch),
                    Err(error) => {
                        // None of these orders is lost, and engines take one twice.
                        self.complain(&error);
                        self.orders = orders;
                        return;
                    }
                },
                Order::SetShare { attempt, rate } => {
                    shares.insert(engine_words::key(*attempt), rate.max(f64::MIN_POSITIVE));
                }
                Order::Kill { attempt } => kills.push(engine_words::key(*attempt)),
            }
        }
        for launch in &mut launches {
            if let Some(share) = shares.remove(&launch.attempt) {
                launch.share = share;
            }
        }
        let shares: Vec<_> = shares.into_iter().collect();
        let done = start_all(&mut self.engine, &launches)
            .and_then(|()| when(!shares.is_empty(), || self.engine.set_shares(&shares)))
            .and_then(|()| {
                when(!kills.is_empty(), || {
                    self.engine.kill(&kills, KillReason::Cancelled)
                })
            });
        if let Err(error) = done {
            self.complain(&error);
            self.engine_off = self.retry;
            self.orders = orders;
        }
    }

    /// None if that attempt is over meanwhile: an order that the engine could not be told at once may
    /// have been carried out all the same.
    fn launch(
        &mut self,
        attempt: AttemptKey,
        nodes: &[NodeId],
    ) -> Result<Option<Launch>, StoreError> {
        let program = self.store.program(attempt.job)?;
        let live = self.core.job(attempt.job);
        let live = live.filter(|live| live.runs() && live.attempt == attempt.attempt);
        let (Some(program), Some(live)) = (program, live) else {
            return Ok(None);
        };
        let user = match (self.run_as)(live.user) {
            Ok(user) => user,
            Err(error) => {
                let why = error.to_string();
                let now = self.now();
                let ended = engine_words::not_started(attempt, why, now);
                self.unstartable.push(ended);
                self.retry = Some(now);
                return Ok(None);
            }
        };
        Ok(Some(Launch {
            attempt: engine_words::key(attempt),
            nodes: nodes.to_vec(),
            argv: program.argv.into_iter().map(OsString::from).collect(),
            env: pairs(program.env),
            dir: PathBuf::from(program.dir),
            output: program.output.map(|name| output(&name, attempt)),
            user,
            umask: program.umask,
            limits: Limits {
                wall: None,
                memory: program.memory,
            },
            share: 1.0,
        }))
    }

    fn look(&mut self, ask: Ask) {
        match ask {
            Ask::Quote { submission, reply } => {
                let at = self.now();
                let _ = reply.send(Ok(self.core.quote(at, &submission)));
            }
            Ask::Census { reply } => {
                let census = self.census();
                let _ = reply.send(Ok(census));
            }
            Ask::Nodes { reply } => {
                let site = self.site();
                let _ = reply.send(site);
            }
            Ask::Explain { job, reply } => {
                let story = self.story(job);
                let _ = reply.send(Ok(story));
            }
            Ask::Wait {
                job,
                reply,
                decided,
            } => self.wait(job, reply, decided),
            Ask::Submit { .. }
            | Ask::Hold { .. }
            | Ask::Claim { .. }
            | Ask::Act { .. }
            | Ask::Wake
            | Ask::Stop => {}
        }
    }

    fn wait(&mut self, job: u64, reply: Reply<()>, decided: bool) {
        let live = self.core.job(job);
        let view = self.core.gate().view(self.core.now());
        let known = live.map(|live| view.job(live.slot).accepted.is_some());
        match known {
            None => drop(reply.send(Ok(()))),
            Some(true) if decided => drop(reply.send(Ok(()))),
            Some(_) => {
                let waiting = self.waiting.entry(job).or_default();
                waiting.retain(|waiter| !waiter.reply.is_closed());
                waiting.push(Waiter { reply, decided });
            }
        }
    }

    fn census(&mut self) -> Census {
        let now = self.now();
        let shadow = self.core.comparison(now);
        let view = self.core.gate().view(now);
        let count = |phase| view.jobs().filter(|(_, job)| job.phase == phase).count() as u32;
        let nodes = (0..view.n_nodes()).filter(|&node| view.is_up(NodeId(node)));
        Census {
            now,
            nodes: nodes.count() as u32,
            idle: view.n_idle(),
            queued: count(Phase::Queued),
            held: count(Phase::Held),
            running: count(Phase::Running),
            shadow,
        }
    }

    fn site(&mut self) -> Result<Site, Failed> {
        let capacity = self.engine.capacity();
        let capacity = capacity.map_err(|error| Failed::Engine(error.to_string()))?;
        let view = self.core.gate().view(self.core.now());
        let tasks = |node: NodeId| view.node(node).tasks().len() as u32;
        let nodes = (0..view.n_nodes()).map(NodeId);
        let nodes = nodes.map(|node| view.is_up(node).then(|| tasks(node)));
        Ok(Site {
            capacity,
            nodes: nodes.collect(),
        })
    }

    fn story(&mut self, job: u64) -> Option<Story> {
        let now = self.now();
        let live = self.core.job(job)?;
        let view = self.core.gate().view(now);
        let this = view.job(live.slot);
        let ahead = view
            .jobs()
            .filter(|(_, other)| other.phase == Phase::Queued && other.sequence < this.sequence);
        Some(Story {
            now,
            ahead: ahead.count() as u32,
            idle: view.n_idle(),
            reserved: this.planned.filter(|_| this.phase == Phase::Queued),
            prospect: self.core.outlook(now, job),
        })
    }

    fn complain(&mut self, error: &dyn std::fmt::Display) {
        eprintln!("tollgate: {error}");
        self.retry = Some(self.now() + BACK_OFF);
    }
}

/// What jobs run, by the numbers that they were given.
fn by_job(
    commands: &[Command],
    replies: &[Said],
    mut programs: Programs,
) -> BTreeMap<u64, Program> {
    let answered = commands.iter().zip(replies).enumerate();
    let taken = answered.filter_map(|(place, (command, reply))| {
        let job = match (command, reply) {
            (Command::Submit(_), Said::Submitted { job, .. }) => *job,
            (Command::Claim { job }, Said::Done) => *job,
            (_, _) => return None,
        };
        Some((job, programs.remove(&place)?))
    });
    taken.collect()
}

fn start_all<E: Engine>(engine: &mut E, launches: &[Launch]) -> Result<(), EngineError> {
    when(!launches.is_empty(), || engine.start(launches))
}

fn when(wanted: bool, act: impl FnOnce() -> Result<(), EngineError>) -> Result<(), EngineError> {
    if wanted { act() } else { Ok(()) }
}

fn pairs(env: Vec<(String, String)>) -> Vec<(OsString, OsString)> {
    env.into_iter()
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}

/// The name of a file with `%j` for the job's number and `%a` for the task's place in it.
fn output(name: &str, attempt: AttemptKey) -> PathBuf {
    let name = name.replace("%j", &attempt.job.to_string());
    PathBuf::from(name.replace("%a", &attempt.task.to_string()))
}
