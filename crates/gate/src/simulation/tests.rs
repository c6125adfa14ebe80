//! Tests of the order of events, and of ends that move or never come.

use tollgate_model::{Credits, CreditsPerSecond, JobSpec, Market, Sla, UserId};
use tollgate_policies::builtin_registry;
use tollgate_policy::JobEnding;

use super::*;
use crate::input::{OnEviction, WorkerId};

/// A simulation with its run times in seconds by slot, and a log of completions and starts.
struct LoggedSimulation {
    simulation: Simulation,
    run_times_s: Vec<i64>,
    log: Vec<(i64, &'static str, u32)>,
}

fn at(secs: i64) -> Instant {
    Instant::from_secs(secs)
}

fn submitted(procs: u32, estimate_s: i64, deadline_s: Option<i64>) -> GateInput {
    GateInput::Submitted {
        spec: JobSpec {
            restarts: 0,
            submit: Instant::ZERO,
            estimate: Span::from_secs(estimate_s),
            procs,
            memory: 0,
            needs: Default::default(),
            user: UserId(0),
            sla: Sla {
                deadline: deadline_s.map(Span::from_secs),
                budget: Some(Credits::from_f64(1e6)),
                penalty: CreditsPerSecond::from_f64(0.001),
                ..Sla::default()
            },
        },
        on_eviction: OnEviction::Requeue,
        forecast: None,
    }
}

impl LoggedSimulation {
    fn new(policy: &str, nodes: u32, run_times_s: &[i64]) -> Self {
        let policy = builtin_registry().named(policy).expect("registered");
        let gate = Gate::new(policy.build(Market::None), Market::None);
        let mut one = Self {
            simulation: Simulation::new(gate),
            run_times_s: run_times_s.to_vec(),
            log: Vec::new(),
        };
        one.handle(
            0,
            GateInput::WorkerUp {
                worker: WorkerId(0),
                incarnation: 1,
                nodes,
                memory: None,
                terms: Default::default(),
                in_use: None,
            },
        );
        one
    }

    fn handle(&mut self, secs: i64, input: GateInput) {
        let ack = self.simulation.handle(at(secs), input);
        ack.expect("a valid input");
        self.take_effects(at(secs));
    }

    fn run_pass(&mut self, secs: i64) {
        self.simulation.run_pass(at(secs));
        self.take_effects(at(secs));
    }

    fn take_effects(&mut self, now: Instant) {
        let run_times = |job: JobId| Span::from_secs(self.run_times_s[job.index()]);
        let secs = now.since(Instant::ZERO).as_micros() / 1_000_000;
        while let Some(effect) = self.simulation.next_effect(now, &run_times) {
            match effect {
                Effect::Start { job, .. } => self.log.push((secs, "start", job.0)),
                Effect::Closed {
                    job,
                    ending: JobEnding::Finished,
                } => self.log.push((secs, "end", job.0)),
                Effect::Notify { .. }
                | Effect::SharesChanged { .. }
                | Effect::GroupParted { .. }
                | Effect::Split { .. }
                | Effect::Kill { .. }
                | Effect::Book { .. }
                | Effect::Closed { .. } => {}
            }
        }
    }

    fn run(&mut self) {
        while let Some(now) = self.simulation.next_event() {
            let run_times_s = self.run_times_s.clone();
            let run_times = |job: JobId| Span::from_secs(run_times_s[job.index()]);
            self.simulation.step(now, &run_times);
            self.take_effects(now);
        }
    }
}

#[test]
fn jobs_that_end_at_once_end_in_order_of_submission() {
    let mut one = LoggedSimulation::new("fcfs", 2, &[10, 20, 10]);
    one.handle(0, submitted(1, 10, None));
    one.run_pass(0);
    one.handle(0, submitted(1, 20, None));
    one.run_pass(0);
    // The first job ends; its slot goes to a job that was submitted after the second.
    let ended = one
        .simulation
        .complete_next(at(10), &|_: JobId| Span::from_secs(10));
    assert_eq!(ended, Some(JobId(0)));
    one.take_effects(at(10));
    one.run_pass(10);
    one.handle(10, submitted(1, 10, None));
    one.run_pass(10);
    one.run();
    let expected = [
        (0, "start", 0),
        (0, "start", 1),
        (10, "end", 0),
        (10, "start", 0),
        (20, "end", 1),
        (20, "end", 0),
    ];
    assert_eq!(one.log, expected);
}

#[test]
fn predicted_ends_of_one_instant_come_by_slot() {
    let mut one = LoggedSimulation::new("fcfs", 2, &[10, 20, 10]);
    one.handle(0, submitted(1, 10, None));
    one.run_pass(0);
    one.handle(0, submitted(1, 20, None));
    one.run_pass(0);
    let run_times = |job: JobId| Span::from_secs([20, 20][job.index()]);
    let mut future = Simulation::of_future(one.simulation.gate().fork(), at(5), &run_times);
    assert_eq!(future.next_completion(), Some(at(20)));
    assert_eq!(future.complete_next(at(19), &run_times), None);
    assert_eq!(future.complete_next(at(20), &run_times), Some(JobId(0)));
}

#[test]
fn overdue_jobs_end_at_the_present() {
    let mut one = LoggedSimulation::new("fcfs", 1, &[10]);
    one.handle(0, submitted(1, 10, None));
    one.run_pass(0);
    let shorter = |_: JobId| Span::from_secs(3);
    let future = Simulation::of_future(one.simulation.gate().fork(), at(5), &shorter);
    assert_eq!(future.next_completion(), Some(at(5)));
}

#[test]
fn rescheduled_job_ends_after_its_later_run_time() {
    let mut one = LoggedSimulation::new("fcfs", 1, &[10]);
    one.handle(0, submitted(1, 10, None));
    one.run_pass(0);
    one.run_times_s = vec![30];
    let longer = |_: JobId| Span::from_secs(30);
    one.simulation.reschedule(at(5), &longer);
    one.run();
    assert_eq!(one.log, [(0, "start", 0), (30, "end", 0)]);
}

#[test]
fn evicted_job_ends_after_its_new_attempt() {
    let mut one = LoggedSimulation::new("fcfs", 1, &[10]);
    one.handle(0, submitted(1, 10, None));
    one.run_pass(0);
    one.handle(
        4,
        GateInput::Evicted {
            job: JobId(0),
            attempt: 1,
        },
    );
    assert_eq!(one.simulation.next_completion(), None);
    one.run_pass(4);
    one.run();
    assert_eq!(one.log, [(0, "start", 0), (4, "start", 0), (14, "end", 0)]);
}

#[test]
fn shared_tasks_end_later_the_more_of_them_there_are() {
    let mut one = LoggedSimulation::new("libra", 1, &[10, 10]);
    one.handle(0, submitted(1, 10, Some(40)));
    one.handle(0, submitted(1, 10, Some(40)));
    one.run_pass(0);
    one.run();
    let expected = [
        (0, "start", 0),
        (0, "start", 1),
        (20, "end", 0),
        (20, "end", 1),
    ];
    assert_eq!(one.log, expected);
}

#[test]
fn job_without_a_run_time_never_ends() {
    struct NoRunTimes;
    impl RunTimes for NoRunTimes {
        fn run_time(&self, _: JobId, _: Instant) -> Option<Span> {
            None
        }
    }
    for policy in ["fcfs", "libra"] {
        let mut one = LoggedSimulation::new(policy, 1, &[10]);
        one.handle(0, submitted(1, 10, Some(40)));
        one.run_pass(0);
        one.simulation.reschedule(at(1), &NoRunTimes);
        assert_eq!(one.simulation.next_completion(), None, "{policy}");
    }
}
