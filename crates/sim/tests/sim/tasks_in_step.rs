//! Jobs whose tasks run in step on nodes that they share.

use tollgate_model::{Instant, JobSpec, Market, Sla, Span, UserId};
use tollgate_policies::builtin_registry;
use tollgate_sim::{JobArrival, RecordLevel, ReplayConfig, TaskCoupling, replay};
use tollgate_workload::{Workload, WorkloadConfig, WorkloadGenerator};

/// A job: submission, processors, run time and estimate, deadline.
pub(super) type StepJob = (i64, u32, i64, i64);

pub(super) fn arrival((submit, procs, runtime, deadline): StepJob) -> JobArrival {
    let runtime = Span::from_secs(runtime);
    JobArrival {
        spec: JobSpec {
            restarts: 0,
            submit: Instant::from_secs(submit),
            estimate: runtime,
            procs,
            memory: 0,
            needs: Default::default(),
            user: UserId(0),
            sla: Sla {
                deadline: Some(Span::from_secs(deadline)),
                ..Sla::default()
            },
        },
        runtime,
        requested_memory: Default::default(),
        is_requested: true,
    }
}

/// Returns the ends of the jobs on two nodes, in seconds.
fn ends(policy: &str, tasks: TaskCoupling, jobs: &[StepJob]) -> Vec<f64> {
    let settings = ReplayConfig {
        tasks,
        record_level: RecordLevel::Checked,
        ..ReplayConfig::new(2, Market::None)
    };
    let policy = &builtin_registry().parse_list(policy).unwrap()[0];
    let arrivals: Vec<JobArrival> = jobs.iter().copied().map(arrival).collect();
    let ran = replay(arrivals.into_iter(), policy.build(Market::None), &settings);
    let outcomes = ran.unwrap().outcomes.into_iter();
    let finish = outcomes.map(|outcome| outcome.ran.unwrap().finish);
    finish
        .map(|finish| finish.since(Instant::ZERO).as_secs_f64())
        .collect()
}

#[track_caller]
pub(super) fn near(found: &[f64], expected: &[f64]) {
    let apart = found.iter().zip(expected).map(|(a, b)| (a - b).abs());
    assert!(apart.fold(0.0, f64::max) < 1e-5, "{found:?} {expected:?}");
}

/// The wide job gets a third of the first node, and from 5 s on a quarter of the second one. It gets only
/// that on both, although it is alone on the first from 15 s on.
#[test]
fn job_progresses_as_its_slowest_task() {
    let jobs = [(0, 2, 10, 40), (0, 1, 10, 20), (5, 1, 14, 20)];
    near(
        &ends("libra", TaskCoupling::Independent, &jobs),
        &[24.0, 15.0, 5.0 + 14.0 / (0.7 / (0.7 + 5.0 / 35.0))],
    );
    let (wide, narrow) = ((10.0 - 5.0 / 3.0) / 35.0, 0.7);
    let ends_narrow = 5.0 + 14.0 * (wide + narrow) / narrow;
    let done = 5.0 / 3.0 + (ends_narrow - 5.0) * wide / (wide + narrow);
    near(
        &ends("libra", TaskCoupling::Rigid, &jobs),
        &[ends_narrow + 10.0 - done, 15.0, ends_narrow],
    );
}

/// While the job that is due first holds one node of the wide job, the other node is free for the job
/// that is due last.
#[test]
fn idle_nodes_of_a_blocked_job_run_the_next() {
    let jobs = [(0, 2, 10, 100), (0, 1, 10, 50), (0, 1, 5, 200)];
    near(
        &ends("tail-risk", TaskCoupling::Independent, &jobs),
        &[20.0, 10.0, 15.0],
    );
    near(
        &ends("tail-risk", TaskCoupling::Rigid, &jobs),
        &[20.0, 10.0, 5.0],
    );
}

/// Whole schedules keep every invariant, and narrow jobs do not care.
#[test]
fn whole_schedules_in_step_are_valid() {
    let run = |policy: &str, tasks, procs: Option<u32>| {
        let trace = WorkloadGenerator::default().trace().last(400);
        let settings = WorkloadConfig {
            deadlines: tollgate_workload::DeadlineModel::Paper,
            ..WorkloadConfig::default()
        };
        let workload = Workload::new(trace.into(), settings, Market::None).unwrap();
        let narrowed = workload.arrivals().map(|mut job| {
            job.spec.procs = procs.unwrap_or(job.spec.procs);
            job
        });
        let settings = ReplayConfig {
            tasks,
            record_level: RecordLevel::Checked,
            ..ReplayConfig::new(if procs.is_some() { 8 } else { 128 }, Market::None)
        };
        let policy = &builtin_registry().parse_list(policy).unwrap()[0];
        replay(narrowed, policy.build(Market::None), &settings).unwrap()
    };
    for policy in ["libra", "libra-risk", "tail-risk"] {
        let of = |tasks, procs| run(policy, tasks, procs);
        let (rigid, free) = (TaskCoupling::Rigid, TaskCoupling::Independent);
        assert_eq!(of(rigid, Some(1)), of(free, Some(1)), "{policy}");
        assert_ne!(of(rigid, None), of(free, None), "{policy}");
    }
}
