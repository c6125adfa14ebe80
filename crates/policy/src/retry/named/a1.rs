//! A limit on the time that a task has held computers in vain.

use super::{Named, Shape};
use crate::retry::rule::Counted;

pub(super) const A1: Named = Named {
    name: "held-time",
    alias: "a1",
    summary: "ends an evicted task that held computers for more than T in vain",
    paper: "McGough et al. 2013, section III",
    shape: Shape::Accrued(Counted::All),
};
