//! A limit on evictions, those by reboots left out.

use super::{Named, Shape};
use crate::retry::rule::Counted;

pub(super) const N3: Named = Named {
    name: "max-non-reboot-evictions",
    alias: "n3",
    summary: "ends a task after more than N evictions, those by reboots not counted",
    paper: "McGough et al. 2013, section III",
    shape: Shape::Evictions(Counted::NotByReboots),
};
