//! The whole service but for its processes, under a seeded simulation in which everything goes wrong:
//! tasks vanish, reports are late or doubled, calls of the engine fail before or after they were
//! carried out, clocks jump, the disk fails or is full, and the service crashes at any moment.
//! After every step no job is lost, none runs twice, no node is given away twice, and the ledger is
//! the sum of its entries.
//!
//! A failing seed prints the command that replays it. `TOLLGATE_SEEDS=5000` tries so many.

mod common;
mod simulation;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use simulation::ServiceSimulation;

/// How many seeds the usual test tries.
const SEEDS: u64 = 20;

#[test]
fn nothing_that_was_answered_is_lost_or_done_twice() {
    let number = |variable: &str| std::env::var(variable).ok()?.parse::<u64>().ok();
    let seeds = match number("TOLLGATE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("TOLLGATE_SEEDS").unwrap_or(SEEDS),
    };
    let mut crashes = 0;
    for seed in seeds {
        match catch_unwind(AssertUnwindSafe(|| ServiceSimulation::new(seed).run())) {
            Ok(survived) => crashes += survived,
            Err(failure) => {
                eprintln!(
                    "replay: TOLLGATE_SEED={seed} cargo test -p tollgate-service --test whole_system"
                );
                resume_unwind(failure);
            }
        }
    }
    assert!(crashes > 0, "nothing crashed");
}
