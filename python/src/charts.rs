//! Pictures of the results, drawn as the program draws them.

use std::path::PathBuf;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use tollgate_model::Span;
use tollgate_report::risk_plot::{RiskPoint, RiskSeries};
use tollgate_report::{
    AxisExtent, ChartAxis, GanttChart, GanttPlacement, LineChart, LineInterpolation, LinePoint,
    LineSeries, RiskPlot, SeriesStyle, pluralise,
};
use tollgate_sim::ReplayResult;
use tollgate_study::chart::AxisSpacing;

use crate::replay::FinishedReplay;

/// Number of points of a line.
const POINTS: usize = 200;

/// A picture, which notebooks show by themselves.
#[pyclass(frozen, module = "tollgate")]
pub(crate) struct Picture {
    svg: String,
    title: String,
}

impl Picture {
    /// Creates a picture from an SVG document.
    pub(crate) const fn new(svg: String, title: String) -> Self {
        Self { svg, title }
    }
}

#[pymethods]
impl Picture {
    /// The picture as an SVG document.
    #[getter]
    fn svg(&self) -> &str {
        &self.svg
    }

    fn _repr_svg_(&self) -> &str {
        &self.svg
    }

    fn __repr__(&self) -> String {
        format!("<tollgate.Picture: {}>", self.title)
    }

    /// Writes the SVG document to a file.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        std::fs::write(&path, &self.svg).map_err(|error| PyOSError::new_err(error.to_string()))
    }
}

/// Draws the schedule of the policy at `place`.
pub(crate) fn gantt(finished: &FinishedReplay, place: usize) -> Picture {
    let (answer, replay) = (&finished.answers[place], &finished.replays[place]);
    let workload = &finished.input.workload;
    let title = format!(
        "{}: {} of {} on {}",
        answer.policy,
        pluralise(workload.len(), "job"),
        workload.trace().source,
        pluralise(answer.nodes as usize, "node")
    );
    let chart = GanttChart {
        title: &title,
        nodes: answer.nodes,
        jobs: &replay.outcomes,
    };
    let placements = replay.placements.as_ref();
    let place = |job| {
        placements.map_or_else(GanttPlacement::default, |placements| GanttPlacement {
            nodes: placements.of(job),
            reserved: placements.reserved(job),
        })
    };
    let svg = chart.to_svg(|job| workload.number(job), place);
    Picture::new(svg, title)
}

/// Draws, under each policy, how many of the submitted jobs have started by a time after their submission.
pub(crate) fn waits(finished: &FinishedReplay) -> Picture {
    let title = "Jobs that have started by a time after their submission".to_owned();
    let lines = finished.answers.iter().zip(&finished.replays).enumerate();
    let chart = LineChart {
        title: title.clone(),
        x: ChartAxis {
            label: "time after the submission".to_owned(),
            unit: Some("h".to_owned()),
            extent: AxisExtent::Fitted,
            spacing: AxisSpacing::Linear,
        },
        y: ChartAxis {
            label: "started jobs".to_owned(),
            unit: Some("%".to_owned()),
            extent: AxisExtent::AtLeast {
                low: 0.0,
                high: 100.0,
            },
            spacing: AxisSpacing::Linear,
        },
        series: lines
            .map(|(n, (answer, replay))| LineSeries {
                name: answer.policy.clone(),
                style: SeriesStyle(n),
                interpolation: LineInterpolation::Steps,
                points: started(replay),
                labels: Vec::new(),
            })
            .collect(),
    };
    Picture::new(chart.to_svg(), title)
}

/// Returns the share of the submitted jobs that have started, at waits that are equally frequent.
fn started(replay: &ReplayResult) -> Vec<LinePoint> {
    let waits = replay.outcomes.iter().filter_map(|outcome| outcome.wait());
    let mut waits: Vec<Span> = waits.collect();
    waits.sort_unstable();
    let step = waits.len().div_ceil(POINTS).max(1);
    let last = waits.len().saturating_sub(1);
    let shown = (0..waits.len()).filter(|n| n % step == 0 || *n == last);
    let points = shown.map(|n| LinePoint {
        x: waits[n].as_secs_f64() / 3600.0,
        y: Some(100.0 * (n + 1) as f64 / replay.outcomes.len() as f64),
        interval: None,
    });
    points.collect()
}

/// Draws the performance and the volatility of each policy. None without windows.
pub(crate) fn risk_plane(finished: &FinishedReplay) -> Option<Picture> {
    let title = "Performance and volatility of policies".to_owned();
    let placed = finished
        .answers
        .iter()
        .enumerate()
        .filter_map(|(n, answer)| {
            Some(RiskSeries {
                name: answer.policy.clone(),
                style: SeriesStyle(n),
                points: vec![RiskPoint {
                    scenario: "all objectives".to_owned(),
                    risk: answer.risk.as_ref()?.integrated?,
                }],
            })
        });
    let plot = RiskPlot {
        title: title.clone(),
        volatility: AxisExtent::AtLeast {
            low: 0.0,
            high: 0.5,
        },
        series: placed.collect(),
    };
    (!plot.series.is_empty()).then(|| Picture::new(plot.to_svg(), title))
}
