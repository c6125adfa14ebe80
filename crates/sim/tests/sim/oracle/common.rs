//! The product and the oracle in one form.

use proptest::prelude::*;
use proptest::test_runner::{Config as ProptestConfig, RngSeed};
use tollgate_model::{MachineSpeeds, Market, NodeId, SpeedList};
use tollgate_oracle::{OracleJob, OracleOutcome};
use tollgate_policies::builtin_registry;
use tollgate_sim::{JobArrival, RecordLevel, ReplayConfig, ReplayResult};

/// Returns this number of cases, or `PROPTEST_CASES`; the same cases each time.
pub(crate) fn cases(cases: u32) -> ProptestConfig {
    let variable = std::env::var("PROPTEST_CASES").ok();
    ProptestConfig {
        cases: variable
            .and_then(|variable| variable.parse().ok())
            .unwrap_or(cases),
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// The speeds of a few nodes. Times of whole seconds are exact on each, relative to any other.
#[derive(Clone, Debug)]
pub(crate) struct SpeedCase(Vec<f64>);

/// Generates the speeds of the at most five nodes of a case.
pub(crate) fn any_speeds() -> impl Strategy<Value = SpeedCase> {
    let speed = prop::sample::select(vec![1.0, 1.25, 2.0, 2.5]);
    prop::collection::vec(speed, 5).prop_map(SpeedCase)
}

impl SpeedCase {
    /// Returns the speeds of `nodes` nodes.
    pub(crate) fn machine(&self, nodes: u32) -> MachineSpeeds {
        let entries = self.0[..nodes as usize]
            .iter()
            .map(|speed| format!("1*{speed}"));
        let list = entries.collect::<Vec<_>>().join(",");
        let list: SpeedList = list.parse().expect("a list of speeds");
        list.of_machine(nodes).expect("as many speeds as nodes")
    }

    fn slowest(&self, nodes: u32) -> f64 {
        let speeds = self.0[..nodes as usize].iter().copied();
        speeds.fold(f64::INFINITY, f64::min)
    }

    /// Returns the jobs as they are on the slowest of `nodes` nodes.
    pub(crate) fn on_slowest(&self, jobs: &[OracleJob], nodes: u32) -> Vec<OracleJob> {
        let slowest = self.slowest(nodes);
        jobs.iter().map(|job| job.at_speed(slowest)).collect()
    }

    /// Returns the speeds of `nodes` nodes relative to the slowest.
    pub(crate) fn relative(&self, nodes: u32) -> Vec<f64> {
        let slowest = self.slowest(nodes);
        let speeds = self.0[..nodes as usize].iter();
        speeds.map(|speed| speed / slowest).collect()
    }
}

/// Runs `jobs` under a policy given as text, with every check enabled. Without checks and records, when a
/// policy may leave out what is not read, the outcomes are the same.
pub(crate) fn replay(jobs: &[OracleJob], nodes: u32, policy: &str, market: Market) -> ReplayResult {
    replay_at_speeds(jobs, nodes, MachineSpeeds::default(), policy, market)
}

/// Runs `jobs` as [`replay`] does, on nodes of these speeds.
pub(crate) fn replay_at_speeds(
    jobs: &[OracleJob],
    nodes: u32,
    speeds: MachineSpeeds,
    policy: &str,
    market: Market,
) -> ReplayResult {
    let choice = builtin_registry()
        .parse_list(policy)
        .expect("the policy exists")
        .remove(0);
    let arrivals = jobs.iter().map(|job| JobArrival {
        spec: job.spec,
        runtime: job.runtime,
        requested_memory: Default::default(),
        is_requested: true,
    });
    let run = |record_level| {
        let settings = ReplayConfig {
            speeds: speeds.clone(),
            record_level,
            ..ReplayConfig::new(nodes, market)
        };
        tollgate_sim::replay(arrivals.clone(), choice.build(market), &settings)
            .unwrap_or_else(|violation| panic!("{policy}: {violation}"))
    };
    let checked = run(RecordLevel::Checked);
    let outcomes = run(RecordLevel::Outcomes).outcomes;
    assert_eq!(outcomes, checked.outcomes, "{policy}");
    checked
}

/// Returns the product's outcome of one job in the oracle's form.
pub(crate) fn observed_outcome(replay: &ReplayResult, job: usize) -> OracleOutcome {
    let outcome = replay.outcomes[job];
    let placements = replay.placements.as_ref().expect("placements are recorded");
    let nodes: Vec<NodeId> = placements
        .of(job)
        .iter()
        .flat_map(|range| range.nodes())
        .collect();
    OracleOutcome {
        decision: outcome.decision,
        decided: outcome.decided,
        ran: outcome.ran,
        price: outcome.price,
        utility: outcome.utility,
        nodes,
    }
}
