//! The whole service but for its input and output: commands in, and out comes what to store, what
//! to answer and what to have done.
//!
//! [`Core::step`] is all there is. It reads no clock, file or socket, so the same commands at the
//! same instants lead to the same state and the same answers: a crash is survived by handling again
//! what was stored, and the whole service can be simulated.

mod after;
mod answer;
mod array;
mod command;
mod expected;
mod hold;
mod jobs;
mod offer;
mod outcome;
mod prospect;
mod ranges;
mod rules;
mod shadow;
mod workers;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tollgate_forecast::{ClassId, Forecaster};
use tollgate_gate::{Effect, Ending, Gate, Input, Said, Scratch};
use tollgate_model::{Instant, JobId, JobSpec, NodeId, Span};
use tollgate_policy::{Discipline, Phase};

pub use after::Waiting;
use answer::Candidate;
pub use array::{Array, Tally};
pub use command::{
    After, ArrayPlan, AttemptKey, Command, ExitStatus, Fate, Killed, Need, Plan, Submission,
    TaskKey,
};
pub use expected::{Basis, Expectation};
use jobs::Jobs;
pub use jobs::Live;
pub use outcome::{
    Answer, Axis, Change, Floor, Ignored, Offer, Order, Part, Prospect, Refusal, Reply, Source,
    Standing, Step,
};
use prospect::Ahead;
pub use ranges::{BadRanges, Ranges};
pub use rules::{Rules, Written};
use shadow::Shadow;
pub use shadow::{Comparison, Sums};

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
    /// In a step: jobs that need not wait any more, and are to be decided about.
    ready: Vec<u64>,
    /// In a step: jobs that are over, and ended as those that wait for them need it.
    ended_well: BTreeSet<u64>,
    ahead: Ahead,
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
        let mut gate = Gate::new(rules.policy.build(rules.market), rules.market);
        gate.limit_tasks(Some(rules.max_resident));
        let mut core = Self {
            gate,
            rules,
            jobs: Jobs::default(),
            forecaster: Forecaster::default(),
            classes: BTreeMap::new(),
            now: Instant::ZERO,
            effects: Vec::new(),
            scratch: Scratch::default(),
            ready: Vec::new(),
            ended_well: BTreeSet::new(),
            ahead: Ahead::default(),
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
        self.tally_up(&mut step);
        self.ended_well.clear();
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

    /// A task that is before the gate; of a job that is no array, its number will do.
    pub fn job(&self, task: impl Into<TaskKey>) -> Option<&Live> {
        self.jobs.get(task)
    }

    /// Every task that is before the gate, by name.
    pub fn tasks(&self) -> impl Iterator<Item = (TaskKey, &Live)> {
        self.jobs.iter()
    }

    /// The tasks of a job that are before the gate.
    pub fn tasks_of(&self, job: u64) -> impl Iterator<Item = (TaskKey, &Live)> {
        self.jobs.of(job)
    }

    /// An array that is not over.
    pub fn array(&self, job: u64) -> Option<&Array> {
        self.jobs.arrays.get(&job)
    }

    /// Every job that is not over, by number, and whose it is.
    pub fn jobs(&self) -> BTreeMap<u64, u32> {
        self.jobs.numbers()
    }

    /// Whose a job is that is not over.
    pub fn user_of(&self, job: u64) -> Option<u32> {
        self.jobs.user_of(job)
    }

    /// How many tasks are not over, whether or not they have come into being.
    pub fn n_tasks(&self) -> u64 {
        self.jobs.n_tasks()
    }

    /// How many tasks of each user are not over; a user may come up again and again.
    pub fn tasks_of_users(&self) -> impl Iterator<Item = (u32, u64)> {
        self.jobs.tasks_of_users()
    }

    /// A job that was handed in and waits before anything is decided about it.
    pub fn waiting(&self, job: u64) -> Option<&Waiting> {
        self.jobs.waiting.get(&job)
    }

    /// How many jobs do so, and how many of them for their user.
    pub fn n_waiting(&self) -> (usize, usize) {
        let waiting = self.jobs.waiting.values();
        let held = waiting.filter(|waiting| waiting.is_held()).count();
        (self.jobs.waiting.len(), held)
    }

    /// Every array that is not over.
    pub fn arrays(&self) -> impl Iterator<Item = (u64, &Array)> {
        self.jobs.arrays.iter().map(|(&job, array)| (job, array))
    }

    /// Attempts that were started and have not ended, with the nodes that they have: an engine
    /// that does not know one of them is to be told again.
    pub fn running(&self) -> Vec<Order> {
        let running = self.jobs.iter().filter(|(_, live)| live.runs());
        running
            .map(|(task, live)| self.start_order(live.attempt_key(task), live.slot))
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
        let mut gate = Gate::restore(saved.gate, policy, rules.market, saved.now);
        gate.limit_tasks(Some(rules.max_resident));
        let known = saved.shadow.zip(rules.shadow.as_ref());
        let known = known.and_then(|(saved, policy)| Shadow::restore(saved, policy, &rules));
        let mut core = Self {
            gate,
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
            Command::Cancel { job, tasks } => self.cancel(*job, tasks.as_ref(), step),
            Command::Hold { job, tasks } => self.hold_or_release(*job, tasks.as_ref(), true, step),
            Command::Release { job, tasks } => {
                self.hold_or_release(*job, tasks.as_ref(), false, step)
            }
            &Command::WorkerUp {
                worker,
                epoch,
                nodes,
                memory,
            } => self.input(
                Input::WorkerUp {
                    worker,
                    epoch,
                    nodes,
                    memory,
                },
                step,
            ),
            &Command::WorkerGone { worker, epoch } => self.lose_worker(worker, epoch, step),
            Command::Tick => self.input(Input::Tick, step),
        };
        match done {
            Ok(()) => Reply::Done,
            Err(ignored) => Reply::Ignored(ignored),
        }
    }

    fn submit(&mut self, submission: &Submission, step: &mut Step) -> Reply {
        let forecast = self.forecast(submission);
        if let Some(answer) = self.wait_answer(submission, &forecast) {
            let job = self.jobs.next_number();
            step.changes.push(Change::Submitted {
                job,
                submission: Box::new(submission.clone()),
                answer: answer.clone(),
            });
            self.wait(job, submission, step);
            return Reply::Submitted { job, answer };
        }
        if submission.hold.is_some() {
            let answer = self.answer(self.now, submission);
            if answer.held_until.is_none() {
                return Reply::NotHeld { answer };
            }
        }
        let job = self.jobs.next_number();
        let place = step.changes.len();
        let answer = self.admit(job, submission, step);
        let submitted = Change::Submitted {
            job,
            submission: Box::new(submission.clone()),
            answer: answer.clone(),
        };
        step.changes.insert(place, submitted);
        Reply::Submitted { job, answer }
    }

    /// What a job is told whose turn it is; it is handed to the gate unless it is rejected.
    fn admit(&mut self, job: u64, submission: &Submission, step: &mut Step) -> Answer {
        let mut answer = self.answer(self.now, submission);
        if matches!(answer.standing, Standing::Rejected(_)) {
            let tally = Tally::stillborn(submission, true);
            step.changes
                .extend(tally.map(|tally| Change::Tally { job, tally }));
            return answer;
        }
        if let Some(plan) = &submission.plan.array {
            answer.parts = self.admit_array(job, submission, plan, &answer, step);
        } else {
            self.let_in(job.into(), submission, answer.spec, answer.held_until, step);
        }
        answer
    }

    /// Hands a task to the gate that is not going to reject it: nothing happened since it said so.
    fn let_in(
        &mut self,
        task: TaskKey,
        submission: &Submission,
        spec: JobSpec,
        held: Option<Instant>,
        step: &mut Step,
    ) {
        let class = self.class_of(submission);
        let asked = rules::asked(class, submission);
        let forecast = Expectation::new(&self.forecaster, &asked);
        let candidate = Candidate::new(submission, spec, &forecast);
        let mut live = Live::new(submission, asked, forecast, spec);
        live.held = held;
        let (spec, reserved_for) = self.asked(&candidate);
        let input = Input::Submitted {
            spec,
            retry: submission.retry,
            forecast: Some(reserved_for),
        };
        let answered = self.gate.handle(self.now, input, &mut self.effects);
        let Ok(tollgate_gate::Answer::Job(slot)) = answered else {
            unreachable!("the job was probed just now: {answered:?}");
        };
        self.jobs.insert(task, slot, live);
        self.ahead.forget(slot);
        self.carry_out(step);
    }

    fn class_of(&mut self, submission: &Submission) -> ClassId {
        let next = ClassId(self.classes.len() as u32);
        let key = (submission.user, submission.name.clone());
        *self.classes.entry(key).or_insert(next)
    }

    fn report(&mut self, key: AttemptKey, fate: &Fate, step: &mut Step) -> Result<(), Ignored> {
        let live = self.jobs.get_mut(key.of()).filter(|live| live.is_at(key));
        let live = live.ok_or(Ignored::Gate(tollgate_gate::Ignored::StaleAttempt))?;
        let (job, attempt) = (live.slot, live.gate_attempt);
        if let Fate::Ended { status, .. } = fate {
            live.code = Some(status.code());
        }
        step.changes.push(Change::Fate {
            attempt: key,
            fate: fate.clone(),
        });
        match *fate {
            Fate::Started { .. } => Ok(()),
            Fate::Ended { wall, .. } => {
                self.learn(key.of(), wall);
                self.input(Input::Ended { job, attempt }, step)
            }
            Fate::Lost { .. } => self.input(Input::Evicted { job, attempt }, step),
        }
    }

    /// A job that its user took back says nothing about how long such jobs take.
    fn learn(&mut self, task: TaskKey, runtime: Span) {
        let Some(live) = self.jobs.get(task) else {
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
        let _ = self.forecaster.learn(&record, live.forecast.forecast());
    }

    fn input(&mut self, input: Input, step: &mut Step) -> Result<(), Ignored> {
        let answer = self.gate.handle(self.now, input, &mut self.effects);
        self.carry_out(step);
        answer.map(|_| ()).map_err(Ignored::Gate)
    }

    /// What is put before the gate for what a pass did may be started in another one.
    fn settle(&mut self, step: &mut Step) {
        loop {
            self.gate.settle(self.now, &mut self.effects);
            self.carry_out(step);
            let decided = self.decide_ready(step);
            if !self.feed(step) && !decided {
                return;
            }
        }
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
                let Some((task, live)) = self.jobs.at_mut(slot) else {
                    return;
                };
                live.start(attempt, self.now);
                self.ahead.forget(slot);
                // A quote that is held has nodes, and nothing to run on them yet.
                if live.runs() {
                    let key = live.attempt_key(task);
                    if let Some(array) = self.jobs.arrays.get_mut(&task.job) {
                        array.starts();
                    }
                    self.order_start(key, slot, step);
                }
            }
            Effect::SharesChanged { node } => self.set_shares(node, step),
            Effect::Kill { job: slot, .. } => {
                if let Some((task, live)) = self.jobs.at(slot).filter(|(_, live)| live.runs()) {
                    let attempt = live.attempt_key(task);
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
                if let Some((task, live)) = booked {
                    step.changes.push(Change::Booked {
                        attempt: live.attempt_key(task),
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
        let Some((task, live, array)) = self.jobs.with_array(slot) else {
            return;
        };
        let job = task.job;
        match said {
            Said::Accepted { price } => {
                let price = self.rules.for_user(live.spec.procs, price);
                match array {
                    Some(array) => array.costs(price),
                    None => step.changes.push(Change::Accepted { job, price }),
                }
            }
            Said::Queued => {
                let had_nodes = live.has_nodes();
                live.stop();
                self.ahead.forget(slot);
                match array {
                    Some(array) if had_nodes => array.stops(),
                    Some(_) => {}
                    None => step.changes.push(Change::Queued { job }),
                }
            }
            Said::Rejected(reason) => {
                let of_array = array.is_some();
                self.jobs.remove(slot);
                if of_array {
                    return self.reject_task(task, reason, step);
                }
                step.changes.push(Change::Rejected { job, reason });
                self.tell_followers(job, false, step);
            }
        }
    }

    fn conclude(&mut self, slot: JobId, ending: Ending, step: &mut Step) {
        let Some((task, live)) = self.jobs.remove(slot) else {
            return;
        };
        let job = task.job;
        if live.held.is_some() {
            step.changes.push(Change::Lapsed { job });
            self.tell_followers(job, false, step);
        } else if self.jobs.arrays.contains_key(&job) {
            self.task_over(task, &live, ending, step);
        } else {
            step.changes.push(Change::Over { job, ending });
            let succeeded = ending == Ending::Finished && live.succeeded();
            self.tell_followers(job, succeeded, step);
        }
    }

    fn order_start(&self, attempt: AttemptKey, slot: JobId, step: &mut Step) {
        let of_array = self.jobs.arrays.contains_key(&attempt.job);
        step.changes.push(Change::Started { attempt, of_array });
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
            let Some((key, live)) = self.jobs.at(task.job).filter(|(_, live)| live.runs()) else {
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
            let attempt = live.attempt_key(key);
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
        for (task, live) in self.jobs.iter() {
            let job = view.job(live.slot);
            if (job.phase == Phase::Running) != live.has_nodes() {
                return Err(tollgate_gate::Violation(format!(
                    "job {}, task {} is {:?}, and the service says that it has nodes: {}",
                    task.job,
                    task.task,
                    job.phase,
                    live.has_nodes()
                )));
            }
        }
        self.check_arrays()?;
        self.shadow.as_ref().map_or(Ok(()), |shadow| shadow.check())
    }

    /// What is counted of arrays is so.
    fn check_arrays(&self) -> Result<(), tollgate_gate::Violation> {
        for (job, array) in self.arrays() {
            let before_gate = self.jobs.of(job).count();
            let running = self
                .jobs
                .of(job)
                .filter(|(_, live)| live.has_nodes())
                .count();
            let held = self.jobs.of(job).filter(|(_, live)| live.held_back).count();
            let tally = array.tally();
            let counted = (array.before_gate as usize, tally.running as usize);
            let held = held as u64 + array.held.len();
            if counted != (before_gate, running) || tally.held != held {
                return Err(tollgate_gate::Violation(format!(
                    "array {job} has {before_gate} tasks before the gate, {running} of them run and \
                     {held} are held: {array:?}"
                )));
            }
        }
        Ok(())
    }
}
