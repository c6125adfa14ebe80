//! Nodes of different speeds.

use proptest::prelude::*;
use tollgate_model::{Decision, Instant, Market, NodeId, Outcome, Reason, Span, SpeedList};
use tollgate_oracle::OracleJob;
use tollgate_oracle::generate::any_case;
use tollgate_policies::builtin_registry;
use tollgate_sim::{
    EstimateOrigin, EstimateSetup, JobArrival, LearnedHistory, OverrunRule, RecordLevel,
    ReplayConfig, ReplayResult, TaskCoupling, replay_with,
};
use tollgate_workload::{DeadlineModel, Workload, WorkloadConfig, WorkloadGenerator};

use super::oracle::common::{any_speeds, cases};
use super::tasks_in_step::{StepJob, arrival, near};

/// A machine of nodes of these speeds.
fn machine(nodes: u32, speeds: &str, market: Market) -> ReplayConfig {
    let list: SpeedList = speeds.parse().unwrap();
    ReplayConfig {
        speeds: list.of_machine(nodes).unwrap(),
        record_level: RecordLevel::Checked,
        ..ReplayConfig::new(nodes, market)
    }
}

/// Runs jobs under a policy that believes what it asks to believe.
fn run(policy: &str, settings: &ReplayConfig, jobs: &[JobArrival]) -> ReplayResult {
    run_with(EstimateOrigin::User, policy, settings, jobs)
}

fn run_with(
    origin: EstimateOrigin,
    policy: &str,
    settings: &ReplayConfig,
    jobs: &[JobArrival],
) -> ReplayResult {
    let choice = &builtin_registry().parse_list(policy).unwrap()[0];
    let estimates = EstimateSetup {
        unpredictable: None,
        origin,
        uses_beliefs: choice.uses_beliefs(),
        contexts: &[],
        history: &LearnedHistory::default(),
    };
    let arrivals = jobs.iter().copied();
    let built = choice.build(settings.market);
    let ran = replay_with(arrivals, built, settings, &estimates);
    ran.unwrap_or_else(|failure| panic!("{policy}: {failure}"))
}

/// Runs jobs whose estimates are exact.
fn run_exact(policy: &str, settings: &ReplayConfig, jobs: &[StepJob]) -> ReplayResult {
    let jobs: Vec<JobArrival> = jobs.iter().copied().map(arrival).collect();
    run(policy, settings, &jobs)
}

fn nodes_of(ran: &ReplayResult, job: usize) -> Vec<u32> {
    let ranges = ran.placements.as_ref().unwrap().of(job).iter();
    ranges
        .flat_map(|range| range.nodes())
        .map(|node| node.0)
        .collect()
}

fn ends(ran: &ReplayResult) -> Vec<f64> {
    let finish = ran.outcomes.iter().map(|job| job.ran.unwrap().finish);
    finish.map(Instant::as_secs_f64).collect()
}

/// A deadline of 6 s is too short for 10 s of work on the slow nodes, and long enough on the fast one.
#[test]
fn job_that_only_the_fast_node_can_finish_runs_there() {
    for policy in ["libra", "libra-risk", "tail-risk"] {
        let settings = machine(3, "2*1,2", Market::None);
        let ran = run_exact(policy, &settings, &[(0, 1, 10, 6)]);
        let fits_by_share = policy != "libra-risk";
        let expected = if fits_by_share { vec![2] } else { vec![0] };
        // A task alone on its node is no risk to others, so LibraRisk takes the first node.
        assert_eq!(nodes_of(&ran, 0), expected, "{policy}");
        near(&ends(&ran), &[if fits_by_share { 5.0 } else { 10.0 }]);
        let alike = machine(3, "1", Market::None);
        let ran = run_exact(policy, &alike, &[(0, 1, 10, 6)]);
        let rejected = matches!(ran.outcomes[0].decision, Decision::Rejected(_));
        assert_eq!(rejected, fits_by_share, "{policy}");
    }
}

/// Each job of 10 s with a deadline of 20 s takes half of the slow node and a quarter of the fast one.
#[test]
fn fast_node_takes_twice_the_shares() {
    let settings = machine(2, "1*1,2", Market::None);
    let ran = run_exact("libra", &settings, &[(0, 1, 10, 20); 7]);
    let decisions = ran.outcomes.iter().map(|job| job.decision);
    let accepted = decisions.map(|decision| decision == Decision::Accepted);
    assert_eq!(
        accepted.collect::<Vec<_>>(),
        [true, true, true, true, true, true, false]
    );
    let reason = Decision::Rejected(Reason::InsufficientShare);
    assert_eq!(ran.outcomes[6].decision, reason);
    // Best fit: first all of the slow node, then all of the fast one.
    let nodes: Vec<u32> = (0..6).flat_map(|job| nodes_of(&ran, job)).collect();
    assert_eq!(nodes, [0, 0, 1, 1, 1, 1]);
    near(&ends(&ran_only(&ran, 6)), &[20.0; 6]);
}

fn ran_only(ran: &ReplayResult, jobs: usize) -> ReplayResult {
    ReplayResult {
        outcomes: ran.outcomes[..jobs].to_vec(),
        ..ran.clone()
    }
}

/// The head needs both nodes and waits for the slow one until 40 s. On the fast node a job of at most
/// 40 s may start before it, by its time on the slow node, and takes half of that.
#[test]
fn easy_plans_with_the_slowest_node_and_runs_on_the_node() {
    let settings = machine(2, "1*1,2", Market::None);
    let jobs = [
        (0, 1, 40, 1000),
        (0, 2, 20, 1000),
        (0, 1, 50, 1000),
        (0, 1, 40, 1000),
    ];
    let ran = run_exact("easy", &settings, &jobs);
    let placed: Vec<_> = (0..4).map(|job| nodes_of(&ran, job)).collect();
    assert_eq!(placed, [vec![0], vec![0, 1], vec![0], vec![1]]);
    // The wide job keeps the fast node until its task on the slow one has ended.
    near(&ends(&ran), &[40.0, 60.0, 110.0, 20.0]);
    let job = |n: usize| ran.outcomes[n];
    assert_eq!(job(3).runtime, Span::from_secs(20));
    assert_eq!(job(3).slowdown(), Some(1.0));
    assert_eq!(job(1).runtime, Span::from_secs(20));
    assert_eq!(job(1).task_runtime, Span::from_secs(15));
}

/// Alone, the job of two tasks takes 10 s in step on both nodes: the fast one idles half of the time. On
/// their own the tasks take 10 s and 5 s. A second job on the slow node halves the rate of both.
#[test]
fn tasks_in_step_progress_as_the_slowest_part() {
    let ends_of = |tasks, jobs: &[StepJob]| {
        let settings = ReplayConfig {
            tasks,
            ..machine(2, "1*1,2", Market::None)
        };
        let ran = run_exact("libra", &settings, jobs);
        (ends(&ran), ran)
    };
    for tasks in [TaskCoupling::Rigid, TaskCoupling::Independent] {
        let (found, ran) = ends_of(tasks, &[(0, 2, 10, 20)]);
        near(&found, &[10.0]);
        let job = ran.outcomes[0];
        assert_eq!(job.task_runtime, Span::from_micros(7_500_000));
    }
    // Shares of 1/2 and 1/2 on the slow node. The rest of the fast one stays unused.
    let jobs = [(0, 2, 10, 20), (0, 1, 10, 20)];
    near(&ends_of(TaskCoupling::Rigid, &jobs).0, &[20.0, 20.0]);
    // The second task of the first job has the fast node to itself, and ends at 5 s.
    near(&ends_of(TaskCoupling::Independent, &jobs).0, &[20.0, 20.0]);
    // A third job finds 3/4 of the fast node unpromised. In step the first job uses half of its quarter
    // there, which the third does not get.
    let jobs = [(0, 2, 10, 20), (0, 1, 10, 20), (0, 1, 30, 20)];
    let (rigid, _) = ends_of(TaskCoupling::Rigid, &jobs);
    near(&rigid, &[20.0, 20.0, 20.0]);
}

/// A narrow job pauses the wide one from 2 s to 3 s. The wide job has done 2 s then, loses 3 s, and stays
/// in step: on the fast node it loses half as much. On its own, the task on the fast node loses 3 s there.
#[test]
fn job_in_step_loses_the_same_part_on_every_node() {
    let ends_of = |tasks| {
        let settings = ReplayConfig {
            tasks,
            preemption_cost: Span::from_secs(3),
            ..machine(2, "1*1,2", Market::None)
        };
        let jobs = [(0, 2, 10, 100), (2, 1, 2, 10)];
        ends(&run_exact("tail-risk", &settings, &jobs))
    };
    near(&ends_of(TaskCoupling::Rigid), &[14.0, 3.0]);
    // 2 s of 5 done on the fast node, then 6 s left from 3 s on: the slow node ends later.
    near(&ends_of(TaskCoupling::Independent), &[10.0, 3.0]);
}

/// The price is that of the estimate on the slowest node, wherever the job runs.
#[test]
fn price_follows_the_estimate_on_the_slowest_node() {
    let settings = machine(2, "1*2,4", Market::Commodity);
    let ran = run_exact("libra", &settings, &[(0, 1, 10, 4)]);
    assert_eq!(nodes_of(&ran, 0), [1]);
    // 10 s take 5 s on the slowest node: 5 credits, and 5 / 4 for the deadline.
    assert_eq!(ran.outcomes[0].price.as_f64(), 6.25);
}

/// A record whose times are all halved.
fn halved(job: &JobArrival) -> JobArrival {
    let half = |span: Span| Span::from_micros(span.as_micros() / 2);
    let mut job = *job;
    job.runtime = half(job.runtime);
    job.spec.estimate = half(job.spec.estimate);
    job
}

fn jobs_of_a_trace(market: Market) -> Vec<JobArrival> {
    let trace = WorkloadGenerator::default().trace().last(300);
    let settings = WorkloadConfig {
        deadlines: DeadlineModel::Paper,
        ..WorkloadConfig::default()
    };
    let workload = Workload::new(trace.into(), settings, market).unwrap();
    workload.arrivals().collect()
}

/// Calls `check` with each policy of each market and with jobs of that market.
fn for_each_policy(mut check: impl FnMut(&str, Market, &[JobArrival])) {
    for market in Market::ALL {
        let jobs = jobs_of_a_trace(market);
        for choice in builtin_registry().of_market(market) {
            check(&choice.to_string(), market, &jobs);
        }
    }
}

#[test]
fn nodes_of_speed_1_change_nothing() {
    for_each_policy(|policy, market, jobs| {
        let plain = ReplayConfig {
            record_level: RecordLevel::Checked,
            ..ReplayConfig::new(128, market)
        };
        let given = machine(128, "64*1,1", market);
        assert_eq!(
            run(policy, &given, jobs),
            run(policy, &plain, jobs),
            "{policy}"
        );
    });
}

#[test]
fn nodes_of_speed_2_halve_the_times_of_the_record() {
    for_each_policy(|policy, market, jobs| {
        // Beliefs that are learned from other run times are not exactly half of what they were.
        let origin = match policy {
            "plan" => EstimateOrigin::True,
            _ => EstimateOrigin::User,
        };
        for (tasks, overrun) in [
            (TaskCoupling::Rigid, OverrunRule::Run),
            (TaskCoupling::Independent, OverrunRule::Kill),
        ] {
            let fast = ReplayConfig {
                tasks,
                overrun,
                ..machine(128, "2", market)
            };
            let plain = ReplayConfig {
                tasks,
                overrun,
                ..machine(128, "1", market)
            };
            let halved: Vec<JobArrival> = jobs.iter().map(halved).collect();
            let found = run_with(origin, policy, &fast, jobs);
            let expected = run_with(origin, policy, &plain, &halved);
            assert_eq!(found, expected, "{policy} {tasks:?}");
        }
    });
}

/// Returns the time that a job of the record needs at least on the nodes that it got.
fn least_time(job: &OracleJob, ran: &ReplayResult, at: usize, settings: &ReplayConfig) -> f64 {
    let nodes = nodes_of(ran, at).into_iter();
    let speeds = nodes.map(|node| settings.speeds.of(NodeId(node)).as_f64());
    let slowest = speeds.fold(f64::INFINITY, f64::min);
    job.runtime.as_secs_f64() / slowest
}

fn check_run_time(outcome: &Outcome, least_s: f64) -> Result<(), TestCaseError> {
    let Some(ran) = outcome.ran else {
        return Ok(());
    };
    let took_s = ran.finish.since(ran.start).as_secs_f64();
    prop_assert!(took_s > least_s - 5e-6, "{took_s} {least_s}");
    let is_runtime = (outcome.runtime.as_secs_f64() - least_s).abs() < 2e-6;
    prop_assert!(is_runtime, "{} {least_s}", outcome.runtime);
    Ok(())
}

proptest! {
    #![proptest_config(cases(400))]

    /// Every policy keeps every invariant on nodes of any speeds, and no job takes less time than its
    /// nodes need.
    #[test]
    fn schedules_on_nodes_of_any_speeds_are_valid(
        case in any_case(12),
        speeds in any_speeds(),
        market in 0usize..3,
        rigid in any::<bool>(),
        cost_s in 0i64..2,
    ) {
        let market = Market::ALL[market];
        let settings = ReplayConfig {
            speeds: speeds.machine(case.nodes),
            tasks: if rigid { TaskCoupling::Rigid } else { TaskCoupling::Independent },
            preemption_cost: Span::from_secs(cost_s),
            record_level: RecordLevel::Checked,
            ..ReplayConfig::new(case.nodes, market)
        };
        let jobs = case.jobs.iter().map(|job| JobArrival { spec: job.spec, runtime: job.runtime, requested_memory: Default::default(), is_requested: true });
        let jobs: Vec<JobArrival> = jobs.collect();
        for choice in builtin_registry().of_market(market) {
            let ran = run(&choice.to_string(), &settings, &jobs);
            for (at, outcome) in ran.outcomes.iter().enumerate() {
                check_run_time(outcome, least_time(&case.jobs[at], &ran, at, &settings))?;
                if !choice.shares_nodes() && let Some(times) = outcome.ran {
                    prop_assert_eq!(times.finish, times.start + outcome.runtime, "{}", choice.name());
                }
            }
        }
    }
}
