//! A core for every task that waits, but one pilot waits at a time.

use tollgate_model::Instant;

use super::all_at_once::pilots_for_all;
use super::{AcquisitionPolicy, with_pending};
use crate::demand::SiteDemand;
use crate::supply::SiteSupply;
use crate::work::PendingWork;

pub(super) const POLICY: AcquisitionPolicy = AcquisitionPolicy {
    name: "one-at-a-time",
    summary: "as all-at-once, but one pilot waits at a time at each site",
    paper: "Raicu et al. 2007",
    demand,
};

fn demand(work: &PendingWork, sites: &[SiteSupply], now: Instant) -> Vec<SiteDemand> {
    let all = pilots_for_all(work, sites).into_iter();
    with_pending(work, sites, now, all.map(|pilots| pilots.min(1)))
}
