//! Dedicated computers as far as there are free ones: nobody waits for them, so that a few are enough.

use super::{Named, Shape};
use crate::retry::Full;

pub(super) const D2: Named = Named {
    name: "d2",
    summary: "as d1, but a task that finds all dedicated computers taken is tried again elsewhere",
    paper: "tollgate",
    shape: Shape::Dedicated(Full::GoesBack),
};
