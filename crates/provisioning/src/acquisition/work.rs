//! The pilots that the work needs by its deadlines.

use super::AcquisitionPolicy;
use crate::demand::pilot_demand;

pub(super) const POLICY: AcquisitionPolicy = AcquisitionPolicy {
    name: "work",
    summary: "as many as the work needs by its deadlines, where pilots start soonest",
    paper: "",
    demand: pilot_demand,
};
