//! The schedule of a policy as a picture.

use std::fs;
use std::path::Path;

use tollgate_report::{GanttChart, GanttPlacement};
use tollgate_sim::ReplayResult;

use super::input::ReplayInput;
use crate::exit::CliFailure;
use crate::messages::pluralise;

/// Draws the outcome of every job into a file.
pub(super) fn write(
    path: &Path,
    policy: &str,
    input: &ReplayInput,
    replay: &ReplayResult,
) -> Result<(), CliFailure> {
    let jobs = pluralise(replay.outcomes.len(), "job");
    let nodes = pluralise(input.machine.nodes as usize, "node");
    let source = &input.workload.trace().source;
    let gantt = GanttChart {
        title: &format!("{policy}: {jobs} of {source} on {nodes}"),
        nodes: input.machine.nodes,
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
    fs::write(path, svg)
        .map_err(|error| CliFailure::write_failed(path.display().to_string(), error))
}
