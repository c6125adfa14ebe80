//! Dedicated computers as far as there are free ones: nobody waits for them, so that a few are enough.

use super::{Named, Shape};
use crate::retry::Full;

pub(super) const D2: Named = Named {
    name: "dedicated-if-free",
    alias: "d2",
    summary: "as dedicated, but retries a task elsewhere while all dedicated computers are taken",
    paper: "tollgate",
    shape: Shape::Dedicated(Full::GoesBack),
};
