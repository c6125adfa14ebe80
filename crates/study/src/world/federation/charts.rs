//! Pictures of the paper that show no measure over a setting.

use crate::chart::Chart;
use crate::results::Results;

/// All of them.
pub(super) fn all(_results: &Results) -> Vec<Chart> {
    Vec::new()
}
