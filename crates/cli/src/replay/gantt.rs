//! The schedule of a policy as a picture.

use std::fs;
use std::path::Path;

use tollgate_report::{Gantt, Place};
use tollgate_sim::Replay;

use super::input::Input;
use crate::exit::Failure;
use crate::voice::counted;

/// Draws what became of every job into a file.
pub(super) fn write(
    path: &Path,
    policy: &str,
    input: &Input,
    replay: &Replay,
) -> Result<(), Failure> {
    let jobs = counted(replay.outcomes.len(), "job");
    let nodes = counted(input.machine.nodes as usize, "node");
    let source = &input.workload.trace().source;
    let gantt = Gantt {
        title: &format!("{policy}: {jobs} of {source} on {nodes}"),
        nodes: input.machine.nodes,
        jobs: &replay.outcomes,
    };
    let placements = replay.placements.as_ref();
    let svg = gantt.to_svg(
        |job| input.workload.number(job),
        |job| {
            placements.map_or_else(Place::default, |placements| Place {
                nodes: placements.of(job),
                reserved: placements.reserved(job),
            })
        },
    );
    fs::write(path, svg).map_err(|error| Failure::write(path.display().to_string(), error))
}
