//! A hostile driver: reports come late, duplicated and out of order, workers vanish and return,
//! users change their minds, and quotes come in between. Under every policy and in every market the
//! gate must keep its invariants, answer stale reports without changing its state, lose no job and
//! start no attempt twice.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use tollgate_gate::{
    Effect, Gate, GateInput, InputAck, JobEnding, Notice, OnEviction, ProbeScratch, WorkerId,
};
use tollgate_model::{
    Credits, CreditsPerSecond, Distribution, HostNameIndex, HostTerms, Instant, JobId, JobSpec,
    Market, NodeId, PlacementNeeds, ResourceCounts, ResourceIndex, Sla, Span, UserId,
};
use tollgate_policies::builtin_registry;
use tollgate_policy::{JobPhase, PolicySpec};

const WORKERS: u32 = 3;
const NODES_PER_WORKER: u32 = 2;
/// The node limits, where there are any: tasks, and bytes of memory, that each node may hold.
const MAX_TASKS: u32 = 2;
const MEMORY: u64 = 10;
/// The devices of the first worker's host, and the licences of the site.
const GPU: ResourceIndex = ResourceIndex(0);
const LICENCE: ResourceIndex = ResourceIndex(1);
const N_UNITS: u8 = 2;
/// Seconds for which every other incarnation of a worker stays.
const STAY_S: i64 = 60;
/// Longest wait, longer than any policy lets a job wait as it was queued: two days.
const LONG_WAIT_US: i64 = 2 * 86_400 * 1_000_000;

/// A step of the driver. Its numbers choose among the jobs and workers that exist at that moment.
#[derive(Clone, Debug)]
enum DriverStep {
    Wait(i64),
    Submit(DriverJobDraft),
    EndJob(usize),
    EndTask(usize, u32),
    Evict(usize),
    Withdraw(usize),
    RepeatReport(usize),
    WorkerUp(u32),
    WorkerLost(u32),
    RepeatLost(u32),
    Cancel(usize),
    Hold(usize),
    Release(usize),
    Quote(DriverJobDraft),
    RunPass,
}

#[derive(Clone, Copy, Debug)]
struct DriverJobDraft {
    estimate_s: i64,
    procs: u32,
    deadline_s: Option<i64>,
    budget: i64,
    penalty: i64,
    requeue: bool,
    memory: u64,
    /// One host, devices and licences: only for policies that choose hosts.
    needs: (bool, u8, u8),
    /// The smallest forecast quantile; every quantile is a fifth above the one before.
    forecast_s: Option<i64>,
}

fn draft() -> impl Strategy<Value = DriverJobDraft> {
    let what = (1i64..40, 1u32..6, prop::option::weighted(0.9, 1i64..120));
    let forecast_s = prop::option::of(1i64..20);
    let rest = (0i64..200, 0i64..4, any::<bool>(), 0u64..8, forecast_s);
    let units = || prop_oneof![3 => Just(0u8), 1 => 1..=N_UNITS];
    let needs = (prop::bool::weighted(0.2), units(), units());
    (what, rest, needs).prop_map(
        |(what, (budget, penalty, requeue, memory, forecast_s), needs)| DriverJobDraft {
            estimate_s: what.0,
            procs: what.1,
            deadline_s: what.2,
            budget,
            penalty,
            requeue,
            memory,
            needs,
            forecast_s,
        },
    )
}

fn forecast(draft: DriverJobDraft) -> Option<Distribution> {
    let least = draft.forecast_s? as f64;
    let quantile = |level| Span::from_secs_f64(least * 1.2f64.powi(level as i32));
    Some(Distribution::new(std::array::from_fn(quantile)))
}

fn step() -> impl Strategy<Value = DriverStep> {
    prop_oneof![
        6 => (0i64..20_000_000).prop_map(DriverStep::Wait),
        2 => (0i64..LONG_WAIT_US).prop_map(DriverStep::Wait),
        6 => draft().prop_map(DriverStep::Submit),
        4 => any::<usize>().prop_map(DriverStep::EndJob),
        3 => (any::<usize>(), 0u32..6).prop_map(|(job, node)| DriverStep::EndTask(job, node)),
        1 => any::<usize>().prop_map(DriverStep::Evict),
        1 => any::<usize>().prop_map(DriverStep::Withdraw),
        2 => any::<usize>().prop_map(DriverStep::RepeatReport),
        1 => (0..WORKERS).prop_map(DriverStep::WorkerUp),
        1 => (0..WORKERS).prop_map(DriverStep::WorkerLost),
        1 => (0..WORKERS).prop_map(DriverStep::RepeatLost),
        1 => any::<usize>().prop_map(DriverStep::Cancel),
        1 => any::<usize>().prop_map(DriverStep::Hold),
        1 => any::<usize>().prop_map(DriverStep::Release),
        2 => draft().prop_map(DriverStep::Quote),
        5 => Just(DriverStep::RunPass),
    ]
}

struct AdversarialDriver {
    gate: Gate,
    now: Instant,
    effects: Vec<Effect>,
    /// All effects so far.
    history: Vec<Effect>,
    /// Unfinished jobs, each with its running attempt, if any.
    active: BTreeMap<JobId, Option<u32>>,
    /// All attempts that were ever started.
    started: BTreeSet<(JobId, u32)>,
    /// Reports that were delivered.
    delivered: Vec<GateInput>,
    incarnations: [u32; WORKERS as usize],
    up: [bool; WORKERS as usize],
    rebuilds: bool,
    limited: bool,
    /// Whether the policy chooses hosts.
    by_host: bool,
    /// Whether some hosts close.
    some_close: bool,
}

impl AdversarialDriver {
    fn new(choice: &PolicySpec, market: Market, rebuilds: bool, limited: bool) -> Self {
        let mut gate = Gate::new(choice.build(market), market);
        gate.enable_checks();
        gate.set_task_limit(limited.then_some(MAX_TASKS));
        let mut driver = Self {
            gate,
            now: Instant::ZERO,
            effects: Vec::new(),
            history: Vec::new(),
            active: BTreeMap::new(),
            started: BTreeSet::new(),
            delivered: Vec::new(),
            incarnations: [0; WORKERS as usize],
            up: [false; WORKERS as usize],
            rebuilds,
            limited,
            by_host: choice.chooses_hosts(),
            some_close: choice.chooses_hosts(),
        };
        if driver.by_host {
            let all = ResourceCounts::NONE.with(LICENCE, N_UNITS);
            driver.gate.set_licences(driver.now, vec![LICENCE], all);
        }
        driver.worker_up(0);
        driver.worker_up(1);
        driver
    }

    fn needs(&self, draft: DriverJobDraft) -> PlacementNeeds {
        let (one_host, gpus, licences) = draft.needs;
        let units = ResourceCounts::NONE.with(GPU, gpus).with(LICENCE, licences);
        // A job that no host could ever hold would wait for ever, if it were submitted while no host is
        // there.
        match self.by_host && draft.procs <= NODES_PER_WORKER {
            true => PlacementNeeds {
                set_aside: false,
                dedicated: false,
                one_host,
                units,
                host: None,
            },
            false => PlacementNeeds::default(),
        }
    }

    fn spec(&self, draft: DriverJobDraft) -> JobSpec {
        JobSpec {
            restarts: 0,
            submit: self.now,
            estimate: Span::from_secs(draft.estimate_s),
            procs: draft.procs,
            memory: draft.memory,
            needs: self.needs(draft),
            user: UserId(0),
            sla: Sla {
                deadline: draft.deadline_s.map(Span::from_secs),
                budget: Some(Credits::from_f64(draft.budget as f64)),
                penalty: CreditsPerSecond::from_f64(draft.penalty as f64),
                ..Sla::default()
            },
        }
    }

    fn pick(
        &self,
        n: usize,
        matches: impl Fn(&Option<u32>) -> bool,
    ) -> Option<(JobId, Option<u32>)> {
        let jobs: Vec<_> = self
            .active
            .iter()
            .filter(|(_, attempt)| matches(attempt))
            .collect();
        let &(&job, &attempt) = jobs.get(n.checked_rem(jobs.len())?)?;
        Some((job, attempt))
    }

    fn apply(&mut self, step: &DriverStep) {
        match *step {
            DriverStep::Wait(micros) => {
                self.now += Span::from_micros(micros);
                self.send(GateInput::Tick).expect("time may always pass");
            }
            DriverStep::Submit(draft) => self.submit(draft),
            DriverStep::EndJob(n) => {
                self.report(n, |job, attempt| GateInput::Ended { job, attempt })
            }
            DriverStep::EndTask(n, node) => self.end_task(n, NodeId(node)),
            DriverStep::Evict(n) => {
                self.report(n, |job, attempt| GateInput::Evicted { job, attempt })
            }
            DriverStep::Withdraw(n) => {
                self.report(n, |job, attempt| GateInput::Withdrawn { job, attempt })
            }
            DriverStep::RepeatReport(n) => self.repeat_report(n),
            DriverStep::WorkerUp(worker) => self.worker_up(worker),
            DriverStep::WorkerLost(worker) => self.worker_lost(worker),
            DriverStep::RepeatLost(worker) => {
                let epoch = self.incarnations[worker as usize].wrapping_sub(1);
                let worker = WorkerId(worker);
                self.send_stale(GateInput::WorkerLost {
                    worker,
                    incarnation: epoch,
                });
            }
            DriverStep::Cancel(n) => {
                if let Some((job, _)) = self.pick(n, |_| true) {
                    let again = self.gate.view(self.now).job(job).cancelling;
                    let answer = self.send(GateInput::Cancel { job });
                    assert_eq!(answer.is_err(), again, "a second cancel changes nothing");
                }
            }
            DriverStep::Hold(n) => {
                if let Some((job, _)) = self.pick(n, Option::is_none) {
                    let queued = self.phase(job) == JobPhase::Queued;
                    assert_eq!(self.send(GateInput::Hold { job }).is_ok(), queued);
                }
            }
            DriverStep::Release(n) => {
                if let Some((job, _)) = self.pick(n, Option::is_none) {
                    let held = self.phase(job) == JobPhase::Held;
                    assert_eq!(self.send(GateInput::Release { job }).is_ok(), held);
                }
            }
            DriverStep::Quote(draft) => self.quote(draft),
            DriverStep::RunPass => self.run_pass(),
        }
        if self.rebuilds {
            self.gate.rebuild(self.now);
        }
        if let Err(violation) = self.gate.check(self.now) {
            panic!("{violation} after {step:?}");
        }
        if self.limited {
            self.check_limits();
        }
    }

    fn check_limits(&self) {
        let view = self.gate.view(self.now);
        for node in (0..view.n_nodes()).map(NodeId) {
            let tasks = view.node(node).tasks();
            let memory = tasks.iter().map(|task| view.job(task.job).spec.memory);
            assert!(memory.sum::<u64>() <= MEMORY, "{node:?}: {tasks:?}");
            assert!(tasks.len() as u32 <= MAX_TASKS, "{node:?}: {tasks:?}");
        }
    }

    fn phase(&self, job: JobId) -> JobPhase {
        self.gate.view(self.now).job(job).phase
    }

    fn submit(&mut self, draft: DriverJobDraft) {
        let retry = if draft.requeue {
            OnEviction::Requeue
        } else {
            OnEviction::Fail
        };
        let submitted = GateInput::Submitted {
            spec: self.spec(draft),
            on_eviction: retry,
            forecast: forecast(draft).map(Into::into),
        };
        let answer = self.gate.handle(self.now, submitted, &mut self.effects);
        let Ok(InputAck::Job(job)) = answer else {
            panic!("a well-formed job gets a slot: {answer:?}");
        };
        assert!(self.active.insert(job, None).is_none(), "{job:?} is in use");
        self.check_effects();
    }

    fn report(&mut self, n: usize, input: impl Fn(JobId, u32) -> GateInput) {
        if let Some((job, Some(attempt))) = self.pick(n, Option::is_some) {
            let input = input(job, attempt);
            self.send(input).expect("the attempt is under way");
            self.delivered.push(input);
        }
    }

    fn end_task(&mut self, n: usize, node: NodeId) {
        if let Some((job, Some(attempt))) = self.pick(n, Option::is_some) {
            let there = self.gate.view(self.now).is_shared_on(job, node);
            let input = GateInput::TaskEnded { job, attempt, node };
            if there {
                self.send(input).expect("the task runs there");
                self.delivered.push(input);
            } else {
                self.send_stale(input);
            }
        }
    }

    fn repeat_report(&mut self, n: usize) {
        let Some(at) = n.checked_rem(self.delivered.len()) else {
            return;
        };
        self.send_stale(self.delivered[at]);
    }

    /// Sends a stale input, which must change nothing. A tick goes first, since the first input
    /// after a pass recycles slots.
    fn send_stale(&mut self, input: GateInput) {
        self.send(GateInput::Tick).expect("time may always pass");
        let before = format!("{:?}", self.gate);
        let answer = self.gate.handle(self.now, input, &mut self.effects);
        assert!(
            answer.is_err(),
            "{input:?} is stale, and was answered {answer:?}"
        );
        assert!(
            self.effects.is_empty(),
            "{input:?} had effects: {:?}",
            self.effects
        );
        assert_eq!(format!("{:?}", self.gate), before, "{input:?}");
    }

    fn quote(&mut self, draft: DriverJobDraft) {
        let before = format!("{:?}", self.gate);
        let (spec, forecast) = (self.spec(draft), forecast(draft));
        let mut scratch = ProbeScratch::default();
        let first = self
            .gate
            .quote(self.now, &spec, forecast.as_ref(), &mut scratch);
        let again = self
            .gate
            .quote(self.now, &spec, forecast.as_ref(), &mut scratch);
        assert_eq!(first, again);
        assert_eq!(
            format!("{:?}", self.gate),
            before,
            "a quote changes nothing"
        );
    }

    fn worker_up(&mut self, worker: u32) {
        let at = worker as usize;
        let closes = self.some_close && self.incarnations[at] % 2 == 1;
        let closes = closes.then(|| self.now + Span::from_secs(STAY_S));
        let gpus = if worker == 0 { N_UNITS } else { 0 };
        let terms = HostTerms {
            is_set_aside: false,
            is_desktop: false,
            closes,
            devices: ResourceCounts::NONE.with(GPU, gpus),
            name: Some(HostNameIndex(worker)),
        };
        let input = |epoch| GateInput::WorkerUp {
            worker: WorkerId(worker),
            incarnation: epoch,
            nodes: NODES_PER_WORKER,
            memory: self.limited.then_some(MEMORY),
            terms,
            in_use: None,
        };
        if self.up[at] {
            return self.send_stale(input(self.incarnations[at]));
        }
        self.incarnations[at] += 1;
        self.up[at] = true;
        self.send(input(self.incarnations[at]))
            .expect("a new life of the worker");
    }

    fn worker_lost(&mut self, worker: u32) {
        let at = worker as usize;
        let input = GateInput::WorkerLost {
            worker: WorkerId(worker),
            incarnation: self.incarnations[at],
        };
        if !self.up[at] {
            return self.send_stale(input);
        }
        self.up[at] = false;
        self.send(input).expect("the worker was up");
    }

    fn run_pass(&mut self) {
        self.gate.run_pass(self.now, &mut self.effects);
        self.check_effects();
    }

    fn send(&mut self, input: GateInput) -> Result<InputAck, tollgate_gate::InputError> {
        let answer = self.gate.handle(self.now, input, &mut self.effects);
        self.check_effects();
        answer
    }

    /// Applies the effects and checks that their sequence is possible.
    fn check_effects(&mut self) {
        self.history.extend(&self.effects);
        for effect in std::mem::take(&mut self.effects) {
            match effect {
                Effect::Start { job, attempt } => {
                    assert!(self.started.insert((job, attempt)), "{effect:?} twice");
                    let running = self.active.get_mut(&job).expect("only a live job starts");
                    *running = Some(attempt);
                }
                Effect::Notify {
                    job,
                    notice: Notice::Rejected(_),
                } => {
                    let running = self.active.remove(&job);
                    assert!(
                        !matches!(running, Some(Some(_))),
                        "{effect:?} while it runs"
                    );
                }
                Effect::Notify {
                    job,
                    notice: Notice::Queued,
                } => {
                    if let Some(running) = self.active.get_mut(&job) {
                        *running = None;
                    }
                }
                Effect::Closed { job, ending } => {
                    let running = self.active.remove(&job).expect("over once");
                    let ran = running.is_some();
                    assert!(
                        ran || ending == JobEnding::Cancelled,
                        "{effect:?} without a run"
                    );
                }
                Effect::Kill { job, attempt } => {
                    assert_eq!(self.active[&job], Some(attempt), "only what runs is killed");
                }
                Effect::Notify {
                    notice:
                        Notice::Accepted { .. } | Notice::Unpromised { .. } | Notice::Promised { .. },
                    ..
                }
                | Effect::SharesChanged { .. }
                | Effect::GroupParted { .. }
                | Effect::Split { .. }
                | Effect::Book { .. } => {}
            }
        }
    }

    /// Brings all workers up, for good, and lets every job end: no job may be left.
    fn drain(&mut self) {
        if std::mem::take(&mut self.some_close) {
            (0..WORKERS).for_each(|worker| self.worker_lost(worker));
        }
        for worker in 0..WORKERS {
            if !self.up[worker as usize] {
                self.worker_up(worker);
            }
        }
        for _ in 0..2_000 {
            for held in self.held() {
                self.send(GateInput::Release { job: held })
                    .expect("it is held");
            }
            self.report(0, |job, attempt| GateInput::Ended { job, attempt });
            self.run_pass();
            self.now += Span::from_secs(1);
            if self.active.is_empty() {
                return;
            }
        }
        panic!("left behind: {:?}", self.active);
    }

    fn held(&self) -> Vec<JobId> {
        let jobs = self.active.keys().copied();
        jobs.filter(|&job| self.phase(job) == JobPhase::Held)
            .collect()
    }
}

fn trace_of(
    choice: &PolicySpec,
    market: Market,
    steps: &[DriverStep],
    (rebuilds, limited): (bool, bool),
) -> Vec<Effect> {
    let mut driver = AdversarialDriver::new(choice, market, rebuilds, limited);
    for step in steps {
        driver.apply(step);
    }
    driver.drain();
    driver.history
}

proptest! {
    #![proptest_config(Config {
        cases: 150,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Config::default()
    })]

    #[test]
    fn gate_invariants_hold_under_an_adversarial_driver(steps in prop::collection::vec(step(), 1..80)) {
        for choice in builtin_registry().policies() {
            for market in Market::ALL {
                let story = trace_of(&choice, market, &steps, (false, false));
                let again = trace_of(&choice, market, &steps, (false, false));
                prop_assert_eq!(&story, &again, "{}: same input, same effects", choice.name());
            }
        }
    }

    #[test]
    fn rebuilt_index_decides_like_the_incremental_one(steps in prop::collection::vec(step(), 1..60)) {
        for choice in builtin_registry().policies() {
            for limited in [false, true] {
                let grown = trace_of(&choice, Market::Bid, &steps, (false, limited));
                let rebuilt = trace_of(&choice, Market::Bid, &steps, (true, limited));
                prop_assert_eq!(&grown, &rebuilt, "{}", choice.name());
            }
        }
    }

    #[test]
    fn node_limits_are_never_exceeded(steps in prop::collection::vec(step(), 1..80)) {
        for choice in builtin_registry().policies() {
            trace_of(&choice, Market::Bid, &steps, (false, true));
        }
    }
}
