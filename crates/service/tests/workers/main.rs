//! The service and workers on other hosts under a seeded simulation in which everything goes wrong
//! between them: words are late, doubled, out of order or lost, connections break or fall silent, workers
//! and whole hosts vanish and come back, the service crashes, and its clock jumps.
//!
//! After every second nothing runs twice at once, wherever; after every step no job is lost, no node is
//! given away twice, and the ledger is the sum of its entries.
//!
//! A failing seed prints the command that replays it. `TOLLGATE_SEEDS=5000` tries so many.

#[path = "../common/mod.rs"]
mod common;
#[path = "../simulation/engine.rs"]
mod engine;
#[path = "../simulation/random.rs"]
mod random;

mod checks;
mod host;
mod network;
mod run;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use run::{RunCounts, WorkerSimulation};

/// How many seeds the usual test tries.
const SEEDS: u64 = 20;

#[test]
fn whatever_happens_to_workers_nothing_is_lost_or_runs_twice_at_once() {
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
                    "replay: TOLLGATE_SEED={seed} cargo test -p tollgate-service --test workers"
                );
                resume_unwind(failure);
            }
        }
    }
    if all {
        seen.check();
    }
}
