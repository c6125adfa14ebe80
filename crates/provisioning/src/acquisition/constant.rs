//! The maximum number of pilots, whether or not tasks wait.

use tollgate_model::Instant;

use super::{AcquisitionPolicy, with_pending};
use crate::demand::{DemandReason, SiteDemand};
use crate::supply::SiteSupply;
use crate::work::PendingWork;

pub(super) const POLICY: AcquisitionPolicy = AcquisitionPolicy {
    name: "static",
    summary: "the site's maximum, whether or not tasks wait",
    paper: "",
    demand,
};

fn demand(work: &PendingWork, sites: &[SiteSupply], now: Instant) -> Vec<SiteDemand> {
    let mut demands = with_pending(
        work,
        sites,
        now,
        sites.iter().map(SiteSupply::pending_limit),
    );
    let open = demands.iter_mut().zip(sites);
    for (demand, site) in open.filter(|(_, site)| !site.is_paused) {
        demand.reason = DemandReason::Base {
            pilots: site.at_most,
        };
    }
    demands
}
