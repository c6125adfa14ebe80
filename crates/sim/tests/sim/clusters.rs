//! Several clusters with gates of their own.

use proptest::prelude::*;
use tollgate_model::{Decision, Market};
use tollgate_oracle::OracleJob;
use tollgate_oracle::generate::any_case;
use tollgate_policies::builtin_registry;
use tollgate_policies::cluster_choice::QuotePreference;
use tollgate_sim::clusters::{ClusterRouting, ClusterSetup, ClustersResult, replay_clusters};
use tollgate_sim::{
    EstimateOrigin, EstimateSetup, JobArrival, LearnedHistory, RecordLevel, ReplayConfig,
    replay_with,
};
use tollgate_trace::ColumnSelection;
use tollgate_workload::{Workload, WorkloadConfig, WorkloadGenerator};

use super::oracle::common::cases;
use super::tasks_in_step::arrival;

/// A cluster of a test: its nodes and its policy.
type TestCluster<'a> = (u32, &'a str);

fn config(nodes: u32) -> ReplayConfig {
    ReplayConfig {
        record_level: RecordLevel::Checked,
        ..ReplayConfig::new(nodes, Market::None)
    }
}

fn run(
    clusters: &[TestCluster<'_>],
    routing: ClusterRouting,
    jobs: &[JobArrival],
) -> ClustersResult {
    let history = LearnedHistory::default();
    let setups = clusters.iter().map(|&(nodes, policy)| {
        let choice = &builtin_registry().parse_list(policy).unwrap()[0];
        ClusterSetup {
            config: config(nodes),
            policy: choice.build(Market::None),
            estimates: EstimateSetup {
                unpredictable: None,
                origin: EstimateOrigin::User,
                uses_beliefs: choice.uses_beliefs(),
                contexts: &[],
                history: &history,
            },
        }
    });
    replay_clusters(jobs.iter().copied(), setups.collect(), routing, 1).unwrap()
}

fn recorded(n_jobs: usize) -> Vec<JobArrival> {
    let generator = WorkloadGenerator {
        columns: ColumnSelection::All,
        ..WorkloadGenerator::default()
    };
    let trace = generator.trace().first(n_jobs);
    let workload = Workload::new(
        std::sync::Arc::new(trace),
        WorkloadConfig::default(),
        Market::None,
    );
    workload.unwrap().arrivals().collect()
}

#[test]
fn only_cluster_decides_as_if_it_were_alone() {
    let jobs = recorded(300);
    for policy in [
        "easy",
        "edf-bf",
        "plan",
        "libra-risk",
        "fcfs",
        "tail-risk-bf",
    ] {
        let choice = &builtin_registry().parse_list(policy).unwrap()[0];
        let history = LearnedHistory::default();
        let estimates = EstimateSetup {
            unpredictable: None,
            origin: EstimateOrigin::User,
            uses_beliefs: choice.uses_beliefs(),
            contexts: &[],
            history: &history,
        };
        let alone = replay_with(
            jobs.iter().copied(),
            choice.build(Market::None),
            &config(64),
            &estimates,
        );
        let alone = alone.unwrap().outcomes;
        let clusters = [(64, policy), (8, "easy")];
        assert_eq!(
            run(&clusters, ClusterRouting::Only(0), &jobs).outcomes,
            alone,
            "{policy}"
        );
        let best = ClusterRouting::Best(QuotePreference::Earliest);
        assert_eq!(run(&clusters[..1], best, &jobs).outcomes, alone, "{policy}");
    }
}

#[test]
fn same_input_gives_the_same_choices() {
    let jobs = recorded(200);
    let clusters = [(64, "plan"), (64, "edf-bf"), (32, "libra-risk")];
    let routings = [ClusterRouting::Home, ClusterRouting::Random];
    let best = QuotePreference::ALL.map(ClusterRouting::Best);
    for routing in routings.into_iter().chain(best) {
        let one = run(&clusters, routing, &jobs);
        assert_eq!(one, run(&clusters, routing, &jobs), "{routing:?}");
        assert_eq!(one.outcomes.len(), jobs.len());
    }
}

/// Each job needs all of a cluster: the second goes to the other one, which is idle.
#[test]
fn job_goes_where_it_ends_first() {
    let jobs = [(0, 4, 100, 1_000), (1, 4, 100, 1_000)].map(arrival);
    for policy in ["easy", "plan", "edf-bf"] {
        let ran = run(
            &[(4, policy), (4, policy)],
            ClusterRouting::Best(QuotePreference::Earliest),
            &jobs,
        );
        assert_eq!(ran.clusters, [0, 1], "{policy}");
    }
}

#[test]
fn user_of_a_home_stays_there() {
    let jobs = recorded(300);
    let clusters = [(128, "easy"), (128, "easy"), (128, "easy")];
    let ran = run(&clusters, ClusterRouting::Home, &jobs);
    let mut homes = std::collections::BTreeMap::new();
    for (job, &at) in jobs.iter().zip(&ran.clusters) {
        assert_eq!(*homes.entry(job.spec.user).or_insert(at), at);
    }
    assert!(
        homes
            .values()
            .collect::<std::collections::BTreeSet<_>>()
            .len()
            > 1
    );
}

fn arrivals(jobs: &[OracleJob]) -> Vec<JobArrival> {
    let arrivals = jobs.iter().map(|job| JobArrival {
        spec: job.spec,
        runtime: job.runtime,
        requested_memory: Default::default(),
        is_requested: true,
    });
    arrivals.collect()
}

proptest! {
    #![proptest_config(cases(200))]

    /// Every state of both gates is possible, every job has one outcome, and no job runs on a cluster that
    /// is too small for it.
    #[test]
    fn every_job_has_one_possible_outcome(case in any_case(12)) {
        let nodes = case.nodes;
        let jobs = arrivals(&case.jobs);
        let ran = run(
            &[(nodes, "plan"), (nodes + 1, "plan")],
            ClusterRouting::Best(QuotePreference::Surest),
            &jobs,
        );
        for (job, outcome) in jobs.iter().zip(&ran.outcomes) {
            if job.spec.procs > nodes + 1 {
                prop_assert!(matches!(outcome.decision, Decision::Rejected(_)));
            }
        }
        for (outcome, &at) in ran.outcomes.iter().zip(&ran.clusters) {
            prop_assert!(outcome.procs <= nodes || at == 1 || outcome.ran.is_none());
        }
    }
}
