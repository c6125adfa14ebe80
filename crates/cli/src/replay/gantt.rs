//! The schedule of a policy as a picture.

use std::fs;
use std::path::Path;

use tollgate_report::{GanttChart, GanttPlacement, png};
use tollgate_sim::ReplayResult;

use super::error::ReplayError;
use super::input::ReplayInput;
use crate::exit::CliFailure;
use crate::messages::pluralise;

/// Pixels per unit of a picture.
const PNG_SCALE: f32 = 2.0;

/// Draws the outcome of every job into a file.
pub(super) fn write(
    path: &Path,
    policy: &str,
    input: &ReplayInput,
    replay: &ReplayResult,
) -> Result<(), CliFailure> {
    let jobs = pluralise(replay.outcomes.len(), "job");
    let n_nodes = input.machines[0].nodes;
    let nodes = pluralise(n_nodes as usize, "node");
    let source = &input.workload.trace().source;
    let gantt = GanttChart {
        title: &format!("{policy}: {jobs} of {source} on {nodes}"),
        nodes: n_nodes,
        jobs: &replay.outcomes,
    };
    let placements = replay.placements.as_ref();
    let svg = gantt.to_svg(
        |job| input.workload.number(job),
        |job| {
            placements.map_or_else(GanttPlacement::default, |placements| GanttPlacement {
                nodes: placements.of(job),
                reserved: placements.reserved(job),
            })
        },
    );
    let is_png = path.extension().is_some_and(|ending| ending == "png");
    let file = path.display().to_string();
    let picture = if is_png {
        png::from_svg(&svg, PNG_SCALE).map_err(|cause| ReplayError::Picture {
            file: file.clone(),
            cause,
        })?
    } else {
        svg.into_bytes()
    };
    fs::write(path, picture).map_err(|error| CliFailure::write_failed(file, error))
}
