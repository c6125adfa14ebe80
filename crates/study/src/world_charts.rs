//! The charts of worlds in addition to those of their experiments.

use crate::chart::WorldChart;
use crate::results::StudyResults;
use crate::world::campus::{frontier, history};
use crate::world::model::WorldInput;
use crate::world::{WorldKind, federation, grid};

/// Returns the charts of a world for these results.
pub(crate) fn of(
    world: WorldKind,
    results: &StudyResults,
    input: WorldInput<'_>,
) -> Vec<WorldChart> {
    match world {
        WorldKind::Cluster => Vec::new(),
        WorldKind::Federation => federation::charts::all(results),
        WorldKind::Campus => [frontier::charts(results), history::charts(results)].concat(),
        WorldKind::Grid => grid::charts::all(results, input),
    }
}
