//! The schedules of one or two policies as a picture.

use std::fs;
use std::path::Path;

use tollgate_replay::ReplayInput;
use tollgate_report::{GanttChart, GanttPlacement, GanttStack, png};
use tollgate_sim::ReplayResult;

use super::error::ReplayFlagError;
use crate::exit::CliFailure;
use crate::output::messages::pluralise;

/// Pixels per unit of a picture.
const PNG_SCALE: f32 = 2.0;

/// The schedule of a policy.
pub(super) struct PolicySchedule {
    pub(super) policy: String,
    pub(super) replay: ReplayResult,
}

/// Draws the outcome of every job into a file: one schedule, or several over one another.
pub(super) fn write(
    path: &Path,
    input: &ReplayInput,
    schedules: &[PolicySchedule],
) -> Result<(), CliFailure> {
    let n_nodes = input.machines[0].nodes;
    let nodes = pluralise(n_nodes as usize, "node");
    let jobs = pluralise(input.workload.len(), "job");
    let source = &input.workload.trace().source;
    let what = format!("{jobs} of {source} on {nodes}");
    let number = |job| input.workload.number(job);
    let svg = if let [schedule] = schedules {
        let title = format!("{}: {what}", schedule.policy);
        let place = |job| schedule.placement(job);
        schedule.chart(&title, n_nodes).to_svg(number, place)
    } else {
        let charts: Vec<GanttChart<'_>> = schedules
            .iter()
            .map(|schedule| schedule.chart(&schedule.policy, n_nodes))
            .collect();
        let policies: Vec<&str> = charts.iter().map(|chart| chart.title).collect();
        let stack = GanttStack {
            title: &format!("{}: {what}", policies.join(" and ")),
            charts: &charts,
        };
        stack.to_svg(number, |of, job| schedules[of].placement(job))
    };
    let is_png = path.extension().is_some_and(|ending| ending == "png");
    let file = path.display().to_string();
    let picture = if is_png {
        png::from_svg(&svg, PNG_SCALE).map_err(|cause| ReplayFlagError::Picture {
            file: file.clone(),
            cause,
        })?
    } else {
        svg.into_bytes()
    };
    fs::write(path, picture).map_err(|error| CliFailure::write_failed(file, error))
}

impl PolicySchedule {
    fn chart<'a>(&'a self, title: &'a str, nodes: u32) -> GanttChart<'a> {
        GanttChart {
            title,
            nodes,
            jobs: &self.replay.outcomes,
        }
    }

    fn placement(&self, job: usize) -> GanttPlacement<'_> {
        let placements = self.replay.placements.as_ref();
        placements.map_or_else(GanttPlacement::default, |placements| GanttPlacement {
            nodes: placements.of(job),
            reserved: placements.reserved(job),
        })
    }
}
