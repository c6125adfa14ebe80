//! A limit on the time held in vain, attempts that a user ended left out.

use super::{Named, Shape};
use crate::retry::rule::Counted;

pub(super) const A2: Named = Named {
    name: "non-user-held-time",
    alias: "a2",
    summary: "ends an evicted task that held computers for more than T, attempts ended by users not counted",
    paper: "McGough et al. 2013, section III",
    shape: Shape::Accrued(Counted::NotByUsers),
};
