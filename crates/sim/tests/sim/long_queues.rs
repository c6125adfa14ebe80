//! Reservations that are left out in a long queue: every job starts as it does with all of them.

use std::sync::Arc;

use proptest::prelude::*;
use tollgate_model::Market;
use tollgate_policies::builtin_registry;
use tollgate_sim::{JobArrival, RecordLevel, ReplayConfig, replay};
use tollgate_workload::{Workload, WorkloadConfig, WorkloadGenerator};

use super::oracle::common::cases;

/// Returns generated jobs that arrive `factor` times as far apart, so that many of them wait.
fn arrivals(seed: u64, factor: f64, exact: bool) -> Vec<JobArrival> {
    let generator = WorkloadGenerator {
        jobs: 400,
        seed,
        ..WorkloadGenerator::default()
    };
    let config = WorkloadConfig {
        arrival_factor: factor,
        ..WorkloadConfig::default()
    };
    let workload = Workload::new(Arc::new(generator.trace()), config, Market::None);
    let mut jobs: Vec<JobArrival> = workload.expect("legal settings").arrivals().collect();
    for job in jobs.iter_mut().filter(|_| exact) {
        job.spec.estimate = job.runtime;
    }
    jobs
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn outcomes_do_not_depend_on_reservations_that_are_left_out(
        seed in 0u64..1000,
        factor in prop::sample::select(vec![0.02, 0.2, 0.6]),
        exact in any::<bool>(),
        depth in prop::sample::select(vec!["3", "all"]),
        order in prop::sample::select(vec!["fcfs", "sjf"]),
        pass in prop::sample::select(vec!["instant", "event"]),
    ) {
        let policy = format!("conservative:depth={depth},order={order},pass={pass}");
        let policy = builtin_registry().parse_list(&policy).expect("legal parameters").remove(0);
        let jobs = arrivals(seed, factor, exact);
        let outcomes = |record_level| {
            let settings = ReplayConfig { record_level, ..ReplayConfig::new(128, Market::None) };
            let ran = replay(jobs.iter().copied(), policy.build(Market::None), &settings);
            ran.expect("nothing is checked").outcomes
        };
        prop_assert_eq!(outcomes(RecordLevel::Outcomes), outcomes(RecordLevel::Placements));
    }
}
