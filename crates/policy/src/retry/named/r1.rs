//! A coin is tossed at every eviction, for comparison.

use super::{Named, Shape};

pub(super) const R1: Named = Named {
    name: "random",
    alias: "r1",
    summary: "ends an evicted task with probability P",
    paper: "McGough et al. 2013, section III",
    shape: Shape::Chance,
};
