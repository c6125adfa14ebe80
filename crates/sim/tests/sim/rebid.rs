//! A schedule re-accounted under other bids equals a replay under these bids.

use std::sync::Arc;

use tollgate_model::{Market, PenaltyLimit};
use tollgate_policies::{BUILTIN_POLICIES, builtin_registry};
use tollgate_policy::PolicySpec;
use tollgate_sim::{JobArrival, ReplayConfig, is_blind_to_bids, rebid, replay};
use tollgate_workload::{SlaFactor, Workload, WorkloadConfig, WorkloadGenerator};

fn arrivals(budget: SlaFactor, penalty: SlaFactor) -> Vec<JobArrival> {
    let trace = Arc::new(WorkloadGenerator::default().trace().last(400));
    let settings = WorkloadConfig {
        budget,
        penalty,
        ..WorkloadConfig::default()
    };
    let workload = Workload::new(trace, settings, Market::Bid).unwrap();
    workload.arrivals().collect()
}

#[test]
fn rebid_schedule_equals_a_full_replay() {
    let usual = arrivals(SlaFactor::default(), SlaFactor::default());
    let other = SlaFactor {
        low: 2.0,
        ratio: 7.0,
        bias: 3.0,
    };
    let rebids = arrivals(other, other);
    let blind: Vec<PolicySpec> = builtin_registry()
        .policies()
        .filter(is_blind_to_bids)
        .collect();
    assert_eq!(
        blind.len(),
        BUILTIN_POLICIES.len() - 1,
        "all but first-reward"
    );
    for limit in [PenaltyLimit::UNLIMITED, PenaltyLimit::of_budgets(0.5)] {
        let settings = ReplayConfig {
            penalty_limit: limit,
            ..ReplayConfig::new(128, Market::Bid)
        };
        for choice in &blind {
            let run = |arrivals: &[JobArrival]| {
                let policy = choice.build(Market::Bid);
                let replay = replay(arrivals.iter().copied(), policy, &settings);
                replay.unwrap().outcomes
            };
            let mut rebid_outcomes = run(&usual);
            rebid(&mut rebid_outcomes, &rebids, limit);
            assert_eq!(rebid_outcomes, run(&rebids), "{choice}");
        }
    }
}
