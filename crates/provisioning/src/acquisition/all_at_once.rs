//! A core for every core of every task that waits.

use tollgate_model::Instant;

use super::{AcquisitionPolicy, first_shape, fits, with_pending};
use crate::demand::SiteDemand;
use crate::supply::SiteSupply;
use crate::work::PendingWork;

pub(super) const POLICY: AcquisitionPolicy = AcquisitionPolicy {
    name: "all-at-once",
    summary: "a core for each core of the tasks that wait, whatever their run times",
    paper: "Raicu et al. 2007",
    demand,
};

fn demand(work: &PendingWork, sites: &[SiteSupply], now: Instant) -> Vec<SiteDemand> {
    with_pending(work, sites, now, pilots_for_all(work, sites))
}

/// Returns the number of pilots that should wait at each site so that no task waits for another. Cores that are idle count
/// first, then the pilots that wait where they are. New ones are spread over the sites with room, at the site with the fewest first; ties
/// by the order of `sites`.
pub(super) fn pilots_for_all(work: &PendingWork, sites: &[SiteSupply]) -> Vec<u32> {
    let mut elsewhere = work.idle_elsewhere;
    // The cores of each site that no task has yet: of pilots that run, and of those that should wait.
    let idle = |site: &SiteSupply| site.running.iter().map(|pilot| pilot.idle_cores).sum();
    let mut free: Vec<u32> = sites.iter().map(idle).collect();
    let mut pending = vec![0; sites.len()];
    for group in &work.waiting {
        let fitting: Vec<usize> = (0..sites.len())
            .filter(|&at| fits(group, &sites[at]))
            .collect();
        let mut missing = group.tasks.min(group.at_once).saturating_mul(group.cores);
        take(&mut missing, &mut elsewhere);
        for &at in &fitting {
            take(&mut missing, &mut free[at]);
        }
        while missing > 0 {
            let has_room =
                |at: &usize| !sites[*at].is_paused && pending[*at] < sites[*at].pending_limit();
            let waits = |at: usize| pending[at] < sites[at].pending.len() as u32;
            let open = fitting.iter().copied().filter(has_room);
            let Some(at) = open.min_by_key(|&at| (!waits(at), pending[at], at)) else {
                break;
            };
            pending[at] += 1;
            free[at] += first_shape(&sites[at]).cores;
            take(&mut missing, &mut free[at]);
        }
    }
    pending
}

/// Takes as much off both as the smaller has.
fn take(missing: &mut u32, free: &mut u32) {
    let taken = (*missing).min(*free);
    *missing -= taken;
    *free -= taken;
}
