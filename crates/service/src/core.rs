//! The whole service but for its input and output: commands in, and out comes what to store, what
//! to answer and what to have done.
//!
//! [`Core::step`] is all there is. It reads no clock, file or socket, so the same commands at the
//! same instants lead to the same state and the same answers: a crash is survived by handling again
//! what was stored, and the whole service can be simulated.

mod answer;
mod command;
mod expected;
mod hold;
mod jobs;
mod offer;
mod outcome;
mod prospect;
mod rules;
mod shadow;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_forecast::{ClassId, Forecaster};
use tollgate_gate::{Effect, Ending, Gate, Input, Said, Scratch};
use tollgate_model::{Instant, JobId, NodeId, Span};
use tollgate_policy::{Discipline, Phase};

use answer::Candidate;
pub use command::{AttemptKey, Command, ExitStatus, Fate, Killed, Submission};
pub use expected::Basis;
use jobs::Jobs;
pub use jobs::Live;
pub use outcome::{
    Answer, Axis, Change, Floor, Ignored, Offer, Order, Prospect, Refusal, Reply, Source, Standing,
    Step,
};
pub use rules::{Rules, Written};
use shadow::Shadow;
pub use shadow::{Comparison, Tally};

/// The most quotes that are held for one user at a time: each keeps room from others.
const MOST_HOLDS: usize = 16;

/// The state of the service.
#[derive(Debug)]
pub struct Core {
    rules: Rules,
    gate: Gate,
    jobs: Jobs,
    forecaster: Forecaster,
    classes: BTreeMap<(u32, String), ClassId>,
    now: Instant,
    effects: Vec<Effect>,
    scratch: Scratch,
    /// It follows each step, and nothing here looks at it.
    shadow: Option<Box<Shadow>>,
}

/// A [`Core`] on its way to a file and back. The rules are the configuration's.
#[derive(Debug, Serialize, Deserialize)]
pub struct Saved {
    gate: tollgate_gate::Saved,
    jobs: Jobs,
    forecaster: Forecaster,
    classes: Vec<((u32, String), ClassId)>,
    now: Instant,
    shadow: Option<shadow::Saved>,
}

impl Core {
    /// A service that has seen nothing yet.
    pub fn new(rules: Rules) -> Self {
        let mut core = Self {
            gate: Gate::new(rules.policy.build(rules.market), rules.market),
            rules,
            jobs: Jobs::default(),
            forecaster: Forecaster::default(),
            classes: BTreeMap::new(),
            now: Instant::ZERO,
            effects: Vec::new(),
            scratch: Scratch::default(),
            shadow: None,
        };
        core.begin_shadow();
        core
    }

    /// Handles commands that came in by `at`, in one go. What happened before that is never
    /// `at`, however the clock on the wall is set.
    pub fn step(&mut self, at: Instant, commands: &[Command]) -> Step {
        let step = self.decide(at, commands);
        if let Some(mut shadow) = self.shadow.take() {
            shadow.follow(self, commands, &step);
            self.shadow = Some(shadow);
        }
        step
    }

    fn decide(&mut self, at: Instant, commands: &[Command]) -> Step {
        self.now = self.now.max(at);
        let mut step = Step::default();
        self.lapse_due(&mut step);
        // Jobs are asked about before they are handed in: by shares as they are, not as they were set.
        if self.gate.next_wake().is_some_and(|due| due <= self.now) {
            let _ = self.input(Input::Tick, &mut step);
        }
        let mut replies: Vec<Option<Reply>> = vec![None; commands.len()];
        for reports in [true, false] {
            for (reply, command) in replies.iter_mut().zip(commands) {
                if command.is_report() != reports {
                    continue;
                }
                *reply = Some(self.handle(command, &mut step));
                if self.gate.discipline() == Discipline::Event {
                    self.settle(&mut step);
                }
            }
        }
        self.settle(&mut step);
        step.replies = replies.into_iter().flatten().collect();
        step
    }

    /// What a job handed in at `at` would be told. Binds nothing and changes nothing.
    pub fn quote(&mut self, at: Instant, submission: &Submission) -> Answer {
        let at = self.now.max(at);
        self.answer(at, submission)
    }

    /// When to step at the latest although nothing happens outside.
    pub fn next_wake(&self) -> Option<Instant> {
        let lapse = self.jobs.next_lapse().map(|(lapses, _)| lapses);
        self.gate.next_wake().into_iter().chain(lapse).min()
    }

    /// The last instant at which anything was handled.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// The gate, to look into.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// The rules it decides by.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// A job that is not over.
    pub fn job(&self, job: u64) -> Option<&Live> {
        self.jobs.get(job)
    }

    /// Every job that is not over, by number.
    pub fn jobs(&self) -> impl Iterator<Item = (u64, &Live)> {
        self.jobs.iter()
    }

    /// Attempts that were started and have not ended, with the nodes that they have: an engine
    /// that does not know one of them is to be told again.
    pub fn running(&self) -> Vec<Order> {
        let running = self.jobs.iter().filter(|(_, live)| live.runs());
        running
            .map(|(job, live)| self.start_order(live.attempt_key(job), live.slot))
            .collect()
    }

    /// All that it knows, to be stored.
    pub fn save(&mut self) -> Saved {
        Saved {
            gate: self.gate.save(self.now),
            jobs: self.jobs.clone(),
            forecaster: self.forecaster.clone(),
            classes: self.classes.clone().into_iter().collect(),
            now: self.now,
            shadow: self.shadow.as_mut().map(|shadow| shadow.save()),
        }
    }

    /// The service that was saved. The rules must be those that it was saved under, but for the policy
    /// on paper: another one begins now.
    pub fn restore(saved: Saved, rules: Rules) -> Self {
        let policy = rules.policy.build(rules.market);
        let known = saved.shadow.zip(rules.shadow.as_ref());
        let known = known.and_then(|(saved, policy)| Shadow::restore(saved, policy, &rules));
        let mut core = Self {
            gate: Gate::restore(saved.gate, policy, rules.market, saved.now),
            jobs: saved.jobs,
            forecaster: saved.forecaster,
            classes: saved.classes.into_iter().collect(),
            now: saved.now,
            shadow: known.map(Box::new),
            ..Self::new(rules)
        };
        if core.shadow.is_none() {
            core.begin_shadow();
        }
        core
    }

    fn begin_shadow(&mut self) {
        let policy = self.rules.shadow.clone();
        self.shadow = policy.map(|policy| Box::new(Shadow::begin(&policy, self)));
    }

    /// What the policy on paper would have done by `at`, beside what was done; none if there is no
    /// such policy.
    pub fn comparison(&mut self, at: Instant) -> Option<Comparison> {
        let at = self.now.max(at);
        self.shadow.as_mut().map(|shadow| shadow.compare(at))
    }

    fn handle(&mut self, command: &Command, step: &mut Step) -> Reply {
        let done = match command {
            Command::Submit(submission) => return self.submit(submission, step),
            Command::Report { attempt, fate } => self.report(*attempt, fate, step),
            Command::Claim { job } => self.claim(*job, step),
            Command::Cancel { job } => self.cancel(*job, step),
            Command::Hold { job } => {
                let done = self.with_slot(*job, |job| Input::Hold { job }, step);
                done.inspect(|()| step.changes.push(Change::Held { job: *job }))
            }
            Command::Release { job } => {
                let done = self.with_slot(*job, |job| Input::Release { job }, step);
                done.inspect(|()| step.changes.push(Change::Queued { job: *job }))
            }
            &Command::WorkerUp {
                worker,
                epoch,
                nodes,
            } => self.input(
                Input::WorkerUp {
                    worker,
                    epoch,
                    nodes,
                },
                step,
            ),
            &Command::WorkerGone { worker, epoch } => {
                self.input(Input::WorkerGone { worker, epoch }, step)
            }
            Command::Tick => self.input(Input::Tick, step),
        };
        match done {
            Ok(()) => Reply::Done,
            Err(ignored) => Reply::Ignored(ignored),
        }
    }

    fn submit(&mut self, submission: &Submission, step: &mut Step) -> Reply {
        let answer = self.answer(self.now, submission);
        if submission.hold.is_some() && answer.held_until.is_none() {
            return Reply::NotHeld { answer };
        }
        let job = self.jobs.next_number();
        step.changes.push(Change::Submitted {
            job,
            submission: submission.clone(),
            answer: answer.clone(),
        });
        if !matches!(answer.standing, Standing::Rejected(_)) {
            self.let_in(job, submission, &answer, step);
        }
        Reply::Submitted { job, answer }
    }

    /// Hands a job to the gate that is not going to reject it: nothing happened since it said so.
    fn let_in(&mut self, job: u64, submission: &Submission, answer: &Answer, step: &mut Step) {
        let class = self.class_of(submission);
        let asked = rules::asked(class, submission);
        let forecast = self.forecaster.forecast(&asked);
        let candidate = Candidate::new(submission, answer.spec, &forecast);
        let mut live = Live::new(submission, asked, forecast, answer.spec);
        live.held = answer.held_until;
        let input = Input::Submitted {
            spec: self.rules.for_policy(&candidate.reserved()),
            retry: submission.retry,
            forecast: Some(candidate.reserved_for()),
        };
        let answered = self.gate.handle(self.now, input, &mut self.effects);
        let Ok(tollgate_gate::Answer::Job(slot)) = answered else {
            unreachable!("the job was probed just now: {answered:?}");
        };
        self.jobs.insert(job, slot, live);
        self.carry_out(step);
    }

    fn class_of(&mut self, submission: &Submission) -> ClassId {
        let next = ClassId(self.classes.len() as u32);
        let key = (submission.user, submission.name.clone());
        *self.classes.entry(key).or_insert(next)
    }

    fn report(&mut self, key: AttemptKey, fate: &Fate, step: &mut Step) -> Result<(), Ignored> {
        let live = self.jobs.get(key.job).filter(|live| live.is_at(key));
        let live = live.ok_or(Ignored::Gate(tollgate_gate::Ignored::StaleAttempt))?;
        let (job, attempt) = (live.slot, live.gate_attempt);
        step.changes.push(Change::Fate {
            attempt: key,
            fate: fate.clone(),
        });
        match *fate {
            Fate::Started { .. } => Ok(()),
            Fate::Ended { wall, .. } => {
                self.learn(key.job, wall);
                self.input(Input::Ended { job, attempt }, step)
            }
            Fate::Lost { .. } => self.input(Input::Evicted { job, attempt }, step),
        }
    }

    /// A job that its user took back says nothing about how long such jobs take.
    fn learn(&mut self, job: u64, runtime: Span) {
        let Some(live) = self.jobs.get(job) else {
            return;
        };
        if self.gate.view(self.now).job(live.slot).cancelling {
            return;
        }
        let record = tollgate_forecast::Record {
            job: live.asked(),
            submit: live.spec.submit,
            finish: self.now,
            runtime,
        };
        // One that never ran teaches nothing, and that is no error here.
        let _ = self.forecaster.learn(&record, &live.forecast);
    }

    fn with_slot(
        &mut self,
        job: u64,
        input: impl Fn(JobId) -> Input,
        step: &mut Step,
    ) -> Result<(), Ignored> {
        let live = self.jobs.get(job).ok_or(Ignored::UnknownJob)?;
        self.input(input(live.slot), step)
    }

    fn input(&mut self, input: Input, step: &mut Step) -> Result<(), Ignored> {
        let answer = self.gate.handle(self.now, input, &mut self.effects);
        self.carry_out(step);
        answer.map(|_| ()).map_err(Ignored::Gate)
    }

    fn settle(&mut self, step: &mut Step) {
        self.gate.settle(self.now, &mut self.effects);
        self.carry_out(step);
    }

    fn carry_out(&mut self, step: &mut Step) {
        let mut effects = std::mem::take(&mut self.effects);
        for effect in effects.drain(..) {
            self.carry_out_one(effect, step);
        }
        self.effects = effects;
    }

    fn carry_out_one(&mut self, effect: Effect, step: &mut Step) {
        match effect {
            Effect::Verdict { job: slot, said } => self.tell(slot, said, step),
            Effect::Start { job: slot, attempt } => {
                let Some((job, live)) = self.jobs.at_mut(slot) else {
                    return;
                };
                live.start(attempt, self.now);
                // A quote that is held has nodes, and nothing to run on them yet.
                if live.runs() {
                    let key = live.attempt_key(job);
                    self.order_start(key, slot, step);
                }
            }
            Effect::SharesChanged { node } => self.set_shares(node, step),
            Effect::Kill { job: slot, .. } => {
                if let Some((job, live)) = self.jobs.at(slot).filter(|(_, live)| live.runs()) {
                    let attempt = live.attempt_key(job);
                    step.orders.push(Order::Kill { attempt });
                }
            }
            Effect::Book {
                job: slot,
                entry,
                amount,
            } => {
                // A quote that nobody took up costs nobody anything.
                let booked = self.jobs.at(slot).filter(|(_, live)| live.held.is_none());
                if let Some((job, live)) = booked {
                    step.changes.push(Change::Booked {
                        attempt: live.attempt_key(job),
                        user: live.user,
                        entry,
                        amount: self.rules.for_user(live.spec.procs, amount),
                    });
                }
            }
            Effect::Over { job: slot, ending } => self.conclude(slot, ending, step),
        }
    }

    /// What a job is told at its submission is in its answer already.
    fn tell(&mut self, slot: JobId, said: Said, step: &mut Step) {
        let Some((job, live)) = self.jobs.at(slot) else {
            return;
        };
        match said {
            Said::Accepted { price } => {
                let price = self.rules.for_user(live.spec.procs, price);
                step.changes.push(Change::Accepted { job, price });
            }
            Said::Queued => step.changes.push(Change::Queued { job }),
            Said::Rejected(reason) => {
                step.changes.push(Change::Rejected { job, reason });
                self.jobs.remove(slot);
            }
        }
        if said == Said::Queued
            && let Some((_, live)) = self.jobs.at_mut(slot)
        {
            live.stop();
        }
    }

    fn conclude(&mut self, slot: JobId, ending: Ending, step: &mut Step) {
        let held = self
            .jobs
            .at(slot)
            .is_some_and(|(_, live)| live.held.is_some());
        if let Some(job) = self.jobs.remove(slot) {
            step.changes.push(match held {
                true => Change::Lapsed { job },
                false => Change::Over { job, ending },
            });
        }
    }

    fn order_start(&self, attempt: AttemptKey, slot: JobId, step: &mut Step) {
        step.changes.push(Change::Started { attempt });
        step.orders.push(self.start_order(attempt, slot));
    }

    fn start_order(&self, attempt: AttemptKey, slot: JobId) -> Order {
        let view = self.gate.view(self.now);
        let placement = view.job(slot).placement();
        let nodes: Vec<NodeId> = placement.iter().flat_map(|range| range.nodes()).collect();
        let exclusive = !nodes.iter().any(|&node| view.shares(slot, node));
        Order::Start {
            attempt,
            nodes,
            exclusive,
        }
    }

    /// The rates of the tasks of a node have changed. A job that runs on several nodes progresses
    /// as one process, at the mean of its rates.
    fn set_shares(&self, node: NodeId, step: &mut Step) {
        let view = self.gate.view(self.now);
        for task in view.node(node).tasks() {
            let Some((job, live)) = self.jobs.at(task.job).filter(|(_, live)| live.runs()) else {
                continue;
            };
            let placement = view.job(task.job).placement();
            let nodes = placement.iter().flat_map(|range| range.nodes());
            let (mut sum, mut n) = (0.0, 0_u32);
            for node in nodes {
                let tasks = view.node(node).tasks().iter();
                let rate = tasks.filter(|other| other.job == task.job).map(|t| t.rate);
                sum += rate.sum::<f64>();
                n += 1;
            }
            let attempt = live.attempt_key(job);
            let rate = sum / f64::from(n.max(1));
            step.orders.push(Order::SetShare { attempt, rate });
        }
    }

    /// Whether everything is as it must be.
    ///
    /// # Errors
    /// The first thing that is wrong, in words.
    pub fn check(&self) -> Result<(), tollgate_gate::Violation> {
        self.gate.check(self.now)?;
        let view = self.gate.view(self.now);
        let known = self.jobs.iter().count();
        let there = view.jobs().count();
        if known != there {
            return Err(tollgate_gate::Violation(format!(
                "the gate has {there} jobs, the service {known}"
            )));
        }
        for (number, live) in self.jobs.iter() {
            let job = view.job(live.slot);
            if (job.phase == Phase::Running) != live.has_nodes() {
                return Err(tollgate_gate::Violation(format!(
                    "job {number} is {:?}, and the service says that it has nodes: {}",
                    job.phase,
                    live.has_nodes()
                )));
            }
        }
        self.shadow.as_ref().map_or(Ok(()), |shadow| shadow.check())
    }
}
