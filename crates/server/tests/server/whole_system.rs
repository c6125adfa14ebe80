//! The whole service except for its processes, under a seeded simulation with many faults. Tasks vanish,
//! reports are late, duplicated or cannot be true, and engine calls fail before or after they were carried
//! out. Clocks are set by up to two days, the disk fails or is full, and the service crashes at any moment.
//! After every step no job is lost, no task runs twice, no node is allocated twice, and the ledger is the sum
//! of its entries. Engines with a queue start programs late, or later than usual. After seconds without a
//! request, every job that can run runs.
//!
//! A failing seed prints the command that replays it. `TOLLGATE_SEEDS=5000` runs 5,000 seeds.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::simulation::ServiceSimulation;

/// Number of seeds of a normal test run.
const SEEDS: u64 = 8;
/// The same where a seed takes longer: tasks follow each other, or wait for an engine.
const LONG_SEEDS: u64 = 5;

#[test]
fn acknowledged_requests_are_never_lost_or_executed_twice() {
    run_seeds(
        SEEDS,
        "acknowledged",
        |seed| ServiceSimulation::new(seed).run(),
        |crashes| assert!(crashes > 0, "nothing crashed"),
    );
}

#[test]
fn short_tasks_that_follow_each_other_are_never_lost_or_executed_twice() {
    run_seeds(
        LONG_SEEDS,
        "short_tasks",
        |seed| ServiceSimulation::of_short_tasks(seed).run_followed(),
        |followed| assert!(followed > 0, "no task followed another one"),
    );
}

#[test]
fn programs_that_start_late_are_never_lost_or_executed_twice() {
    run_seeds(
        LONG_SEEDS,
        "programs_that_start_late",
        |seed| ServiceSimulation::behind_a_queue(seed).run_late(),
        |late| assert!(late > 0, "no program started late"),
    );
}

/// Runs all seeds, and checks the sum of what each returns unless it is one seed alone.
fn run_seeds(usual: u64, test: &str, run: impl Fn(u64) -> u32, check: impl FnOnce(u32)) {
    let number = |variable: &str| std::env::var(variable).ok()?.parse::<u64>().ok();
    let seeds = match number("TOLLGATE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("TOLLGATE_SEEDS").unwrap_or(usual),
    };
    let is_one = seeds.clone().count() == 1;
    let mut sum = 0;
    let mut failed = Vec::new();
    for seed in seeds {
        match catch_unwind(AssertUnwindSafe(|| run(seed))) {
            Ok(survived) => sum += survived,
            Err(_) => {
                eprintln!(
                    "replay: TOLLGATE_SEED={seed} cargo test -p tollgate-server --test server whole_system::{test}"
                );
                failed.push(seed);
            }
        }
    }
    assert!(failed.is_empty(), "these seeds failed: {failed:?}");
    if !is_one {
        check(sum);
    }
}
