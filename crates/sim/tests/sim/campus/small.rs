//! A campus small enough to be simulated in a moment.

use std::sync::OnceLock;

use tollgate_sim::campus::{
    CampusConfig, CampusEnvironment, CampusPolicies, CampusRun, run_campus,
};

/// Returns a twentieth of the campus, of the variant `history` if `losses`; seeds from 1 to 5. Each
/// is built once.
pub(crate) fn campus(seed: u64, losses: bool) -> &'static CampusEnvironment {
    static MADE: [OnceLock<CampusEnvironment>; 12] = [const { OnceLock::new() }; 12];
    MADE[2 * seed as usize + usize::from(losses)].get_or_init(|| make(seed, losses, 120))
}

/// Builds such a campus, with tasks of so many days; `campus` caches those of 120.
pub(crate) fn make(seed: u64, losses: bool, days: u32) -> CampusEnvironment {
    let settings = if losses {
        CampusConfig::history()
    } else {
        CampusConfig::default()
    };
    let settings = CampusConfig {
        seed,
        scale: 0.05,
        days,
        ..settings
    };
    CampusEnvironment::draw(&settings).expect("the settings make sense")
}

pub(crate) fn policies(words: &str) -> CampusPolicies {
    let (retry, select) = words.split_once('/').expect("RETRY/SELECT");
    CampusPolicies {
        retry: retry.parse().expect("a retry policy"),
        select: select.parse().expect("a select policy"),
    }
}

/// Simulates a year under the policies of these words; policies that compare learn from `x0/c1`.
pub(crate) fn run_policies(campus: &CampusEnvironment, words: &str) -> CampusRun {
    let mut policies = policies(words);
    if policies.retry.needs_finished_tasks() {
        let baseline = run_policies(campus, "x0/c1");
        policies.retry = policies.retry.learn(&baseline.finished(campus));
    }
    run_campus(campus, &policies)
}
