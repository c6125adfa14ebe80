//! A limit on evictions, those by users left out: that somebody sat down says nothing about the
//! task.

use super::{Named, Shape};
use crate::retry::rule::Counted;

pub(super) const N2: Named = Named {
    name: "max-non-user-evictions",
    alias: "n2",
    summary: "ends a task after more than N evictions, those by users not counted",
    paper: "McGough et al. 2013, section III",
    shape: Shape::Evictions(Counted::NotByUsers),
};
