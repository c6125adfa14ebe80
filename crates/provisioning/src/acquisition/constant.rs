//! The maximum number of pilots, whether or not tasks wait.

use tollgate_model::Instant;

use super::{AcquisitionPolicy, pending_limit, with_pending};
use crate::demand::{DemandReason, PendingWork, SiteDemand, SiteSupply};

pub(super) const POLICY: AcquisitionPolicy = AcquisitionPolicy {
    name: "static",
    summary: "the site's maximum, whether or not tasks wait",
    paper: "",
    demand,
};

fn demand(work: &PendingWork, sites: &[SiteSupply], now: Instant) -> Vec<SiteDemand> {
    let mut demands = with_pending(work, sites, now, sites.iter().map(pending_limit));
    let open = demands.iter_mut().zip(sites);
    for (demand, site) in open.filter(|(_, site)| !site.is_paused) {
        demand.reason = DemandReason::Base {
            pilots: site.at_most,
        };
    }
    demands
}
