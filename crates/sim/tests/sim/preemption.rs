//! Tasks that lose work when they resume.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tollgate_gate::{Effect, Gate, GateInput, InputAck, OnEviction, Simulation, WorkerId};
use tollgate_model::{Instant, JobId, Market, NodeId, Span};
use tollgate_policies::builtin_registry;
use tollgate_sim::{JobArrival, RecordLevel, ReplayConfig, ReplayResult, TaskCoupling, replay};
use tollgate_workload::{DeadlineModel, Workload, WorkloadConfig, WorkloadGenerator};

use super::tasks_in_step::{StepJob, arrival, near};

fn settings(nodes: u32, tasks: TaskCoupling, cost_s: i64) -> ReplayConfig {
    ReplayConfig {
        tasks,
        preemption_cost: Span::from_secs(cost_s),
        record_level: RecordLevel::Checked,
        ..ReplayConfig::new(nodes, Market::None)
    }
}

/// Returns the ends of the jobs under `tail-risk`, in seconds, where a resumption costs 3 s.
fn ends(nodes: u32, tasks: TaskCoupling, jobs: &[StepJob]) -> Vec<f64> {
    let policy = builtin_registry().named("tail-risk").unwrap();
    let arrivals: Vec<JobArrival> = jobs.iter().copied().map(arrival).collect();
    let settings = settings(nodes, tasks, 3);
    let ran = replay(arrivals.into_iter(), policy.build(Market::None), &settings);
    let outcomes = ran.unwrap().outcomes.into_iter();
    let finish = outcomes.map(|outcome| outcome.ran.unwrap().finish);
    finish.map(Instant::as_secs_f64).collect()
}

/// The first job has done 4 s when the second pauses it. At 9 s it goes on from 1 s. At 10 s it is
/// paused with 2 s done, and goes on at 12 s with 1 s less than nothing.
#[test]
fn resumed_task_loses_work() {
    let jobs = [(0, 1, 10, 100), (4, 1, 5, 20), (10, 1, 2, 10)];
    for tasks in [TaskCoupling::Independent, TaskCoupling::Rigid] {
        near(&ends(1, tasks, &jobs[..2]), &[18.0, 9.0]);
        near(&ends(1, tasks, &jobs), &[23.0, 9.0, 12.0]);
    }
}

/// The first job gets the node for no time: the second arrives at the same instant.
#[test]
fn task_that_has_not_run_loses_nothing() {
    let jobs = [(0, 1, 10, 100), (0, 1, 5, 20)];
    for tasks in [TaskCoupling::Independent, TaskCoupling::Rigid] {
        near(&ends(1, tasks, &jobs), &[15.0, 5.0]);
    }
}

/// The narrow jobs pause the wide one from 2 s to 4 s and from 6 s to 8 s. On their own its tasks are
/// paused once each; in step both lose 3 s twice.
#[test]
fn job_in_step_loses_work_on_all_its_nodes() {
    let jobs = [(0, 2, 10, 100), (2, 1, 2, 10), (6, 1, 2, 10)];
    near(
        &ends(2, TaskCoupling::Independent, &jobs),
        &[15.0, 4.0, 8.0],
    );
    near(&ends(2, TaskCoupling::Rigid, &jobs), &[20.0, 4.0, 8.0]);
}

/// The observations of a task, beside its state.
#[derive(Clone, Copy, Debug, Default)]
struct ObservedTask {
    work_s: f64,
    has_run: bool,
    stands: bool,
    resumptions: u32,
}

impl ObservedTask {
    /// Adds up the work of `elapsed_s` seconds, above 0, at a constant rate.
    fn pass(&mut self, elapsed_s: f64, rate: f64, cost_s: f64) {
        if rate == 0.0 {
            self.stands = self.has_run;
            return;
        }
        if self.stands {
            self.work_s -= cost_s;
            self.resumptions += 1;
        }
        self.work_s += rate * elapsed_s;
        (self.has_run, self.stands) = (true, false);
    }
}

/// Runs jobs event by event and checks that each task ends when the work that a test added up is the
/// run time of its job. Returns the number of resumptions.
fn check_work(policy: &str, settings: &ReplayConfig, jobs: &[StepJob]) -> u32 {
    let policy = builtin_registry().named(policy).unwrap();
    let mut gate = Gate::new(policy.build(Market::None), Market::None);
    gate.set_task_coupling(settings.tasks);
    gate.set_preemption_cost(settings.preemption_cost);
    gate.enable_checks();
    let mut simulation = Simulation::new(gate);
    let nodes = GateInput::WorkerUp {
        worker: WorkerId(0),
        incarnation: 1,
        nodes: settings.nodes,
        memory: None,
        terms: Default::default(),
        in_use: None,
    };
    simulation.handle(Instant::ZERO, nodes).unwrap();
    let cost_s = settings.preemption_cost.as_secs_f64();
    let mut arrivals = jobs.iter().copied().map(arrival).peekable();
    let mut run_times: BTreeMap<JobId, Span> = BTreeMap::new();
    let mut observed: BTreeMap<(JobId, u32, NodeId), ObservedTask> = BTreeMap::new();
    let (mut now, mut resumptions) = (Instant::ZERO, 0);
    loop {
        let truth = |job: JobId| run_times[&job];
        let mut started = Vec::new();
        while let Some(effect) = simulation.next_effect(now, &truth) {
            if let Effect::Start { job, .. } = effect {
                started.push(job);
            }
        }
        let view = simulation.gate().view(now);
        let present: BTreeMap<(JobId, u32, NodeId), f64> = (0..settings.nodes)
            .map(NodeId)
            .flat_map(|id| {
                let tasks = view.node(id).tasks().iter();
                tasks.map(move |task| ((task.job, view.job(task.job).attempt, id), task.rate))
            })
            .collect();
        observed.retain(|key, task| {
            if !present.contains_key(key) {
                let left_s = run_times[&key.0].as_secs_f64() - task.work_s;
                assert!(left_s.abs() < 1e-5, "{key:?} has {left_s} s left: {task:?}");
                resumptions += task.resumptions;
            }
            present.contains_key(key)
        });
        for job in started {
            let ranges = view.job(job).placement().iter();
            for node in ranges.flat_map(|range| range.nodes()) {
                let key = (job, view.job(job).attempt, node);
                observed.insert(key, ObservedTask::default());
            }
        }
        let arrival = arrivals.peek().map(|job| job.spec.submit);
        let Some(next) = arrival.into_iter().chain(simulation.next_event()).min() else {
            assert!(observed.is_empty(), "{observed:?}");
            return resumptions;
        };
        let elapsed_s = next.since(now).as_secs_f64();
        if elapsed_s > 0.0 {
            for (key, rate) in present {
                let task = observed.get_mut(&key).unwrap();
                task.pass(elapsed_s, rate, cost_s);
            }
        }
        now = next;
        if simulation.next_event() == Some(now) {
            simulation.step(now, &truth);
            continue;
        }
        let job = arrivals.next().unwrap();
        let submitted = GateInput::Submitted {
            spec: job.spec,
            on_eviction: OnEviction::Fail,
            forecast: None,
        };
        let Ok(InputAck::Job(id)) = simulation.handle(now, submitted) else {
            unreachable!("a well-formed job");
        };
        run_times.insert(id, job.runtime);
        simulation.run_pass(now);
    }
}

fn any_jobs() -> impl Strategy<Value = Vec<StepJob>> {
    let job = (0..60i64, 1..4u32, 1..30i64, 110..600i64);
    let jobs = prop::collection::vec(job, 1..14);
    jobs.prop_map(|mut jobs| {
        for (_, _, runtime, deadline) in &mut jobs {
            *deadline = *runtime * *deadline / 100;
        }
        jobs.sort_unstable();
        jobs
    })
}

proptest! {
    #![proptest_config(super::oracle::common::cases(400))]

    /// Each task does its run time, and the cost of each of its resumptions; so no job ends earlier than
    /// that.
    #[test]
    fn every_resumption_costs_as_much(jobs in any_jobs(), nodes in 3..5u32, cost_s in 0..20i64) {
        for tasks in [TaskCoupling::Independent, TaskCoupling::Rigid] {
            check_work("tail-risk", &settings(nodes, tasks, cost_s), &jobs);
        }
    }
}

#[test]
fn observer_sees_resumptions() {
    let jobs = [(0, 1, 10, 100), (4, 1, 5, 20), (10, 1, 2, 10)];
    let settings = settings(1, TaskCoupling::Rigid, 3);
    assert_eq!(check_work("tail-risk", &settings, &jobs), 2);
}

fn generated(policy: &str, tasks: TaskCoupling, cost_s: i64) -> ReplayResult {
    let trace = WorkloadGenerator::default().trace().last(400);
    let jobs = WorkloadConfig {
        deadlines: DeadlineModel::Paper,
        ..WorkloadConfig::default()
    };
    let workload = Workload::new(trace.into(), jobs, Market::None).unwrap();
    let policy = builtin_registry().named(policy).unwrap();
    let settings = settings(128, tasks, cost_s);
    replay(workload.arrivals(), policy.build(Market::None), &settings).unwrap()
}

/// Whole schedules keep every invariant, and only paused jobs pay.
#[test]
fn whole_schedules_with_a_cost_are_valid() {
    let couplings = [TaskCoupling::Independent, TaskCoupling::Rigid];
    for (policy, is_paused) in [("tail-risk", true), ("libra", false), ("easy", false)] {
        for tasks in couplings {
            let [free, costly] = [0, 600].map(|cost_s| generated(policy, tasks, cost_s));
            assert_eq!(free != costly, is_paused, "{policy}");
        }
    }
}
