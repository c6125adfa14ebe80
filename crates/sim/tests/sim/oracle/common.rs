//! The product and the oracle in one form.

use proptest::test_runner::{Config as ProptestConfig, RngSeed};
use tollgate_model::{Market, NodeId, Span};
use tollgate_oracle::{OracleJob, OracleOutcome};
use tollgate_policies::builtin_registry;
use tollgate_sim::{JobArrival, RecordLevel, ReplayConfig, ReplayResult, TaskCoupling};

/// Returns this number of cases, or `PROPTEST_CASES`; the same cases each time.
pub(crate) fn cases(cases: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok();
    ProptestConfig {
        cases: asked.and_then(|asked| asked.parse().ok()).unwrap_or(cases),
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Runs `jobs` under a policy given as text, with every check enabled.
pub(crate) fn replay(jobs: &[OracleJob], nodes: u32, policy: &str, market: Market) -> ReplayResult {
    let choice = builtin_registry()
        .parse_list(policy)
        .expect("the policy exists")
        .remove(0);
    let arrivals = jobs.iter().map(|job| JobArrival {
        spec: job.spec,
        runtime: job.runtime,
    });
    let settings = ReplayConfig {
        nodes,
        market,
        tasks: TaskCoupling::Independent,
        preemption_cost: Span::ZERO,
        record_level: RecordLevel::Checked,
        overrun: tollgate_sim::OverrunRule::Run,
        states_promises: false,
    };
    tollgate_sim::replay(arrivals, choice.build(market), &settings)
        .unwrap_or_else(|violation| panic!("{policy}: {violation}"))
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
