//! A task is ended that has held computers for longer than most of those that finished, their last
//! attempt included.

use super::{Named, Shape};
use crate::retry::rule::Measured;

pub(super) const P2: Named = Named {
    name: "held-time-percentile",
    alias: "p2",
    summary: "ends an evicted task that held computers for longer than P percent of those that finished",
    paper: "McGough et al. 2013, section III",
    shape: Shape::Percentile(Measured::Accrued),
};
