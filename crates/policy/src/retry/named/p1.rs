//! A task is ended that was evicted more often than most of those that finished.

use super::{Named, Shape};
use crate::retry::rule::Measured;

pub(super) const P1: Named = Named {
    name: "evictions-percentile",
    alias: "p1",
    summary: "ends a task evicted more often than P percent of those that finished",
    paper: "McGough et al. 2013, section III",
    shape: Shape::Percentile(Measured::Evictions),
};
