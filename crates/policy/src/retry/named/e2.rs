//! The longer a task has held computers in vain, the likelier it is ended; read as `e1` is.

use super::{Named, Shape};
use crate::retry::rule::Measured;

pub(super) const E2: Named = Named {
    name: "exp-held-time",
    alias: "e2",
    summary: "ends an evicted task with probability 1 - exp(-K x hours held in vain)",
    paper: "McGough et al. 2013, section III",
    shape: Shape::Exponential(Measured::Accrued),
};
