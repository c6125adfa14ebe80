//! Groups of nodes that hold equal tasks: a gate decides the same with them and without.

use proptest::prelude::*;
use tollgate_gate::{
    Effect, Gate, GateInput, InputAck, JobEnding, OnEviction, RunTimes, Simulation, WorkerId,
};
use tollgate_model::{
    Credits, Instant, JobId, JobSpec, Market, NodeId, Sla, Span, SpeedList, UserId,
};
use tollgate_policies::builtin_registry;
use tollgate_policy::TaskCoupling;

const NODES: u32 = 12;

/// A job: seconds since the one before, processors, run time, estimate and deadline in seconds.
type Job = (i64, u32, i64, i64, Option<i64>);

#[derive(Clone, Debug)]
struct Machine {
    policy: &'static str,
    market: Market,
    coupling: TaskCoupling,
    preemption_cost_s: i64,
    /// The first nodes that are twice as fast.
    n_fast: u32,
    task_limit: Option<u32>,
}

fn machine() -> impl Strategy<Value = Machine> {
    (
        prop::sample::select(vec![
            ("libra", Market::None),
            ("libra-risk", Market::Bid),
            ("libra-dollar", Market::Commodity),
            ("libra:fit=first", Market::None),
            ("libra-risk:overrun=one-second", Market::None),
            ("tail-risk", Market::None),
        ]),
        prop::sample::select(vec![TaskCoupling::Independent, TaskCoupling::Rigid]),
        prop::sample::select(vec![0, 2]),
        prop::sample::select(vec![0, 5]),
        prop::sample::select(vec![None, Some(3)]),
    )
        .prop_map(
            |((policy, market), coupling, preemption_cost_s, n_fast, task_limit)| Machine {
                policy,
                market,
                coupling,
                preemption_cost_s,
                n_fast,
                task_limit,
            },
        )
}

fn job() -> impl Strategy<Value = Job> {
    let deadline = prop::option::weighted(0.9, 1i64..200);
    (0i64..12, 1..=NODES, 1i64..40, 1i64..40, deadline)
}

/// Runs jobs to their ends and returns every decision, start and end, with its instant and nodes.
fn run(machine: &Machine, jobs: &[Job], grouped: bool) -> Vec<String> {
    let policy = builtin_registry()
        .parse_list(machine.policy)
        .unwrap()
        .remove(0);
    let mut gate = Gate::new(policy.build(machine.market), machine.market);
    gate.enable_checks();
    gate.set_task_coupling(machine.coupling);
    gate.set_preemption_cost(Span::from_secs(machine.preemption_cost_s));
    gate.set_task_limit(machine.task_limit);
    if machine.n_fast > 0 {
        let list = format!("{}*2,{}*1", machine.n_fast, NODES - machine.n_fast);
        let list: SpeedList = list.parse().unwrap();
        gate.set_speeds(list.of_machine(NODES).unwrap());
    }
    if grouped {
        gate.group_nodes();
    }
    let mut world = World {
        simulation: Simulation::new(gate),
        run_times: RunTimesBySlot(Vec::new()),
        log: Vec::new(),
    };
    let up = GateInput::WorkerUp {
        worker: WorkerId(0),
        incarnation: 1,
        nodes: NODES,
        memory: None,
        terms: Default::default(),
        in_use: None,
    };
    world.simulation.handle(Instant::ZERO, up).unwrap();
    let mut now = Instant::ZERO;
    for &(gap_s, procs, run_s, estimate_s, deadline_s) in jobs {
        now += Span::from_secs(gap_s);
        world.advance(now);
        let spec = JobSpec {
            restarts: 0,
            submit: now,
            estimate: Span::from_secs(estimate_s),
            procs,
            memory: 0,
            needs: Default::default(),
            user: UserId(0),
            sla: Sla {
                deadline: deadline_s.map(Span::from_secs),
                budget: Some(Credits::from_f64(1e6)),
                ..Sla::default()
            },
        };
        let submitted = GateInput::Submitted {
            spec,
            on_eviction: OnEviction::Fail,
            forecast: None,
        };
        let ack = world.simulation.handle(now, submitted).unwrap();
        let InputAck::Job(job) = ack else {
            unreachable!("{ack:?}");
        };
        world.run_times.set(job, Span::from_secs(run_s));
        world.take_effects(now);
        world.run_pass(now);
    }
    world.advance(Instant::MAX);
    world.log
}

struct World {
    simulation: Simulation,
    run_times: RunTimesBySlot,
    log: Vec<String>,
}

struct RunTimesBySlot(Vec<Span>);

impl RunTimesBySlot {
    fn set(&mut self, job: JobId, run_time: Span) {
        if job.index() >= self.0.len() {
            self.0.resize(job.index() + 1, run_time);
        }
        self.0[job.index()] = run_time;
    }
}

impl RunTimes for RunTimesBySlot {
    fn run_time(&self, job: JobId, _: Instant) -> Option<Span> {
        Some(self.0[job.index()])
    }
}

impl World {
    /// Handles all events before `until`.
    fn advance(&mut self, until: Instant) {
        while let Some(now) = self.simulation.next_event().filter(|&now| now < until) {
            while self
                .simulation
                .complete_next(now, &self.run_times)
                .is_some()
            {
                self.take_effects(now);
            }
            self.simulation.handle(now, GateInput::Tick).unwrap();
            self.take_effects(now);
            self.run_pass(now);
        }
    }

    /// Runs a pass and logs the state of all nodes after it.
    fn run_pass(&mut self, now: Instant) {
        self.simulation.run_pass(now);
        self.take_effects(now);
        let view = self.simulation.gate().view(now);
        let tasks = (0..NODES).flat_map(|node| view.node(NodeId(node)).tasks());
        for task in tasks {
            let (job, rate, work) = (task.job, task.rate, task.work);
            self.log.push(format!("{now} {job:?} {rate} {work}"));
        }
    }

    fn take_effects(&mut self, now: Instant) {
        while let Some(effect) = self.simulation.next_effect(now, &self.run_times) {
            let gate = self.simulation.gate();
            match effect {
                Effect::Start { job, .. } => {
                    let view = gate.view(now);
                    let nodes = view.job(job).placement();
                    self.log.push(format!("{now} {effect:?} {nodes:?}"));
                }
                Effect::Notify { .. }
                | Effect::Book { .. }
                | Effect::Closed {
                    ending: JobEnding::Finished,
                    ..
                } => self.log.push(format!("{now} {effect:?}")),
                Effect::SharesChanged { .. } | Effect::GroupParted { .. } => {}
                Effect::Split { .. } | Effect::Kill { .. } | Effect::Closed { .. } => {
                    unreachable!("{effect:?}")
                }
            }
            gate.check(now).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn groups_change_no_decision_and_no_end(
        machine in machine(),
        jobs in prop::collection::vec(job(), 1..40),
    ) {
        let (with, without) = (run(&machine, &jobs, true), run(&machine, &jobs, false));
        prop_assert_eq!(with, without);
    }
}

/// The second and the third of the jobs that start in one pass part what the first has joined, one node at a
/// time. The nodes that are left of it twice end their tasks when the first job ends, too.
#[test]
fn group_that_one_pass_joins_and_parts_twice_ends_as_its_nodes_would() {
    let machine = Machine {
        policy: "libra-dollar",
        market: Market::Commodity,
        coupling: TaskCoupling::Independent,
        preemption_cost_s: 0,
        n_fast: 0,
        task_limit: Some(3),
    };
    let fills_all_nodes = (0, NODES, 3, 3, None);
    let (short, long) = ((0, NODES, 1, 1, None), (0, 1, 9, 9, None));
    let jobs = [fills_all_nodes, fills_all_nodes, short, long, long];
    let (with, without) = (run(&machine, &jobs, true), run(&machine, &jobs, false));
    assert_eq!(with, without);
}
