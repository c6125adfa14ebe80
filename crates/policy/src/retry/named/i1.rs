//! A limit on the time of a single attempt.

use super::{Named, Shape};

pub(super) const I1: Named = Named {
    name: "attempt-time",
    alias: "i1",
    summary: "ends a task as soon as one attempt takes longer than T",
    paper: "McGough et al. 2013, section III",
    shape: Shape::Attempt,
};
