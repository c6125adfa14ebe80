//! A limit on the time held in vain, attempts that a reboot ended left out.

use super::{Named, Shape};
use crate::retry::rule::Counted;

pub(super) const A3: Named = Named {
    name: "non-reboot-held-time",
    alias: "a3",
    summary: "ends an evicted task that held computers for more than T, attempts ended by reboots not counted",
    paper: "McGough et al. 2013, section III",
    shape: Shape::Accrued(Counted::NotByReboots),
};
