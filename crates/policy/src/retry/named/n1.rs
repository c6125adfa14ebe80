//! A limit on evictions, whatever their cause.

use super::{Named, Shape};
use crate::retry::rule::Counted;

pub(super) const N1: Named = Named {
    name: "max-evictions",
    alias: "n1",
    summary: "ends a task after more than N evictions",
    paper: "McGough et al. 2013, section III",
    shape: Shape::Evictions(Counted::All),
};
