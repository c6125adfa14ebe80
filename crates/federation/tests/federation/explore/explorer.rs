//! A depth-first search that visits every world once.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use tollgate_federation::SiteEffect;

use super::invariants;
use super::recovery;
use super::world::ExploredWorld;

/// The statistics of an exploration.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ExploreStats {
    /// Number of distinct worlds, by a 64-bit hash.
    pub(crate) states: usize,
    pub(crate) steps: usize,
    /// Number of steps in which a proxy was given.
    pub(crate) transfers: usize,
    /// Number of worlds in which both a donor and a receiver have forgotten a transfer.
    pub(crate) forgotten: usize,
    /// Number of worlds in which more proxies run at a site than the site has.
    pub(crate) surplus: usize,
    /// Number of worlds for which a round was shown to decide without further faults.
    pub(crate) recovered: usize,
    /// Whether the exploration visited every world.
    pub(crate) complete: bool,
}

/// The number of states between two recovery checks: a check takes as long as some hundred steps.
const RECOVERY_CHECK_INTERVAL: usize = 101;

/// Explores all worlds reachable from `world`, at most `most` states.
pub(crate) fn explore(world: ExploredWorld, most: usize) -> ExploreStats {
    let mut seen = ExploreStats::default();
    let mut known = HashSet::from([hash(&world)]);
    let mut open = vec![world];
    while let Some(world) = open.pop() {
        seen.states += 1;
        if seen.states > most {
            return seen;
        }
        invariants::check_state(&world);
        let mut sites = world.sites.iter();
        let has_surplus = sites.any(|site| site.running() > Some(site.durable().proxies));
        seen.surplus += usize::from(has_surplus);
        seen.forgotten += usize::from(has_forgotten(&world));
        if seen.states.is_multiple_of(RECOVERY_CHECK_INTERVAL) {
            recovery::check(&world);
            seen.recovered += 1;
        }
        for action in world.actions() {
            let Some((next, step)) = world.after(action) else {
                continue;
            };
            seen.steps += 1;
            if let Some(step) = step {
                invariants::check_step(&world, &next, &step);
                seen.transfers += usize::from(step.effects.contains(&SiteEffect::Delete));
            }
            if known.insert(hash(&next)) {
                open.push(next);
            }
        }
    }
    seen.complete = true;
    seen
}

/// Returns whether both a donor and a receiver have forgotten a transfer.
fn has_forgotten(world: &ExploredWorld) -> bool {
    let journals = world.sites.iter().map(|site| site.durable());
    let (given, added) = journals.fold((0, 0), |(given, added), state| {
        (given + state.given.len(), added + state.received.len())
    });
    given < world.history.given.len() && added < world.history.added.len()
}

fn hash(world: &ExploredWorld) -> u64 {
    let mut hasher = DefaultHasher::new();
    world.hash(&mut hasher);
    hasher.finish()
}
