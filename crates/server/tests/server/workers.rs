//! The service and workers on other hosts under a seeded simulation with many faults between them. Frames are
//! late, duplicated, out of order or lost, and connections break or fall silent. Workers and whole hosts
//! vanish and come back, and the workers lie. The service crashes, its disk fails or is full, and its clock
//! is set by up to two days.
//!
//! After every second no task runs twice at once on any host. After every step no job is lost, no
//! node is allocated twice, and the ledger is the sum of its entries.
//!
//! A failing seed prints the command that replays it. `TOLLGATE_SEEDS=5000` runs 5,000 seeds.

mod checks;
mod host;
mod lies;
mod network;
mod run;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use self::run::{RunCounts, WorkerSimulation};

/// Number of seeds of a normal test run.
const SEEDS: u64 = 30;

#[test]
fn worker_failures_lose_no_job_and_never_run_an_attempt_twice() {
    let number = |variable: &str| std::env::var(variable).ok()?.parse::<u64>().ok();
    let seeds = match number("TOLLGATE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("TOLLGATE_SEEDS").unwrap_or(SEEDS),
    };
    let all = seeds.end - seeds.start > 1;
    let mut seen = RunCounts::default();
    for seed in seeds {
        match catch_unwind(AssertUnwindSafe(|| WorkerSimulation::new(seed).run())) {
            Ok(more) => seen.add(more),
            Err(failure) => {
                eprintln!(
                    "replay: TOLLGATE_SEED={seed} cargo test -p tollgate-server --test server workers"
                );
                resume_unwind(failure);
            }
        }
    }
    if all {
        seen.check();
    }
}
