//! Methods that forecast waits otherwise, for comparison.

pub(super) mod binomial_bounds;
pub(super) mod estimate_plan;
