//! A core for every task that waits, but at most as many pilots wait as run: their number doubles when they have started.

use tollgate_model::Instant;

use super::all_at_once::pilots_for_all;
use super::{AcquisitionPolicy, with_pending};
use crate::demand::SiteDemand;
use crate::supply::SiteSupply;
use crate::work::PendingWork;

/// The paper doubles the size of each request. Here requests have one size, and the pilots that run are those that earlier
/// requests brought.
pub(super) const POLICY: AcquisitionPolicy = AcquisitionPolicy {
    name: "exponential",
    summary: "as all-at-once, but at most as many pilots wait as run, at least one",
    paper: "Raicu et al. 2007",
    demand,
};

fn demand(work: &PendingWork, sites: &[SiteSupply], now: Instant) -> Vec<SiteDemand> {
    let all = pilots_for_all(work, sites).into_iter().zip(sites);
    let doubled = all.map(|(pilots, site)| pilots.min(site.n_running.max(1)));
    with_pending(work, sites, now, doubled)
}
