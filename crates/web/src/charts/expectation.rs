//! The end that was expected of a job, as time went by.

use std::fmt::Write;

use tollgate_client::timestamp::format_iso;
use tollgate_client::types::ForecastSample;
use tollgate_model::Instant;
use tollgate_report::svg::{SvgBuilder, TextAnchor};

use super::ChartWidth;
use super::time_axis::ticks;
use tollgate_overview::words::{clock, instant, seconds};

const TOP: f64 = 22.0;
const BOTTOM: f64 = 34.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 14.0;
/// The part of the height that stays free above and below.
const AIR: f64 = 0.08;
/// The smallest height of the axis, in seconds.
const LEAST_SPAN_S: f64 = 2.0;

/// The life of a job beside what was expected of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExpectationChart<'a> {
    /// The expectations, in order of time. At least two.
    pub(crate) samples: &'a [ForecastSample],
    /// Deadline.
    pub(crate) due: Option<Instant>,
    /// Start.
    pub(crate) started: Option<Instant>,
    /// End; None if the job is not over.
    pub(crate) ended: Option<Instant>,
    /// The present.
    pub(crate) now: Instant,
    /// The zone of the browser, in seconds east of UTC.
    pub(crate) offset_s: i64,
}

/// An expectation as instants.
struct SamplePoint {
    at: Instant,
    end: Instant,
    low: Instant,
    high: Instant,
}

/// The places of a chart in pixels.
struct ExpectationLayout {
    size: (f64, f64),
    across: (Instant, Instant),
    up: (Instant, Instant),
}

impl ExpectationLayout {
    fn x(&self, at: Instant) -> f64 {
        let part = seconds(self.across.0, at) / seconds(self.across.0, self.across.1).max(1e-6);
        LEFT + (self.right() - LEFT) * part
    }

    fn y(&self, at: Instant) -> f64 {
        let part = seconds(self.up.0, at) / seconds(self.up.0, self.up.1).max(1e-6);
        self.bottom() - (self.bottom() - TOP) * part
    }

    fn right(&self) -> f64 {
        self.size.0 - RIGHT
    }

    fn bottom(&self) -> f64 {
        self.size.1 - BOTTOM
    }
}

impl ExpectationChart<'_> {
    /// Draws the chart. None if there are too few expectations for a line.
    pub(crate) fn draw(&self, width: ChartWidth) -> Option<String> {
        let points: Vec<SamplePoint> = self.samples.iter().filter_map(point).collect();
        let (first, last) = (points.first()?, points.last()?);
        let until = self.ended.unwrap_or(self.now).max(last.at);
        if points.len() < 2 || until <= first.at {
            return None;
        }
        let size = match width {
            ChartWidth::Wide => (620.0, 300.0),
            ChartWidth::Narrow => (330.0, 240.0),
        };
        let layout = ExpectationLayout {
            size,
            across: (first.at, until),
            up: self.heights(&points),
        };
        let title = format!("The expected end at {} instants", points.len());
        let mut svg = SvgBuilder::in_page(size.0, size.1, width.class(), &title);
        self.draw_axes(&mut svg, &layout, width);
        svg.path("class=\"band\"", &band(&layout, &points), None);
        svg.path("class=\"line\"", &line(&layout, &points), None);
        self.draw_events(&mut svg, &layout);
        Some(svg.finish())
    }

    /// Returns the earliest and the latest end of the axis, with some air.
    fn heights(&self, points: &[SamplePoint]) -> (Instant, Instant) {
        let ends = points.iter().flat_map(|point| [point.low, point.high]);
        let ends = ends.chain(self.due).chain(self.ended);
        let (low, high) = ends.fold(
            (Instant::MAX, Instant::from_micros(0)),
            |(low, high), at| (low.min(at), high.max(at)),
        );
        let air = (seconds(low, high).max(LEAST_SPAN_S) * AIR * 1e6) as i64;
        let moved = |at: Instant, by| Instant::from_micros(at.as_micros().saturating_add(by));
        (moved(low, -air), moved(high, air))
    }

    fn draw_axes(&self, svg: &mut SvgBuilder, layout: &ExpectationLayout, width: ChartWidth) {
        let marks = |at: Instant, form: &str| {
            format!(
                "class=\"axis\" data-at=\"{}\" data-form=\"{form}\"",
                format_iso(at)
            )
        };
        let up = ticks(layout.up.0, layout.up.1, 6, self.offset_s);
        for at in up.instants {
            let y = layout.y(at);
            svg.line("class=\"grid\"", (LEFT, y), (layout.right(), y));
            svg.label(
                marks(at, up.form),
                (LEFT - 8.0, y + 4.0),
                TextAnchor::End,
                &clock(at),
            );
        }
        let most = if width == ChartWidth::Wide { 6 } else { 3 };
        let across = ticks(layout.across.0, layout.across.1, most, self.offset_s);
        for at in across.instants {
            let x = layout.x(at);
            svg.line("class=\"grid faint\"", (x, TOP), (x, layout.bottom()));
            if x + 30.0 <= layout.size.0 {
                let place = (x, layout.bottom() + 20.0);
                svg.label(
                    marks(at, across.form),
                    place,
                    TextAnchor::Middle,
                    &clock(at),
                );
            }
        }
        svg.label(
            "class=\"axis\"",
            (4.0, 12.0),
            TextAnchor::Start,
            "expected end",
        );
    }

    /// Draws the deadline, the start and the end.
    fn draw_events(&self, svg: &mut SvgBuilder, layout: &ExpectationLayout) {
        if let Some(due) = self.due {
            let y = layout.y(due);
            svg.line("class=\"due-line\"", (LEFT, y), (layout.right(), y));
            svg.label(
                "class=\"due-text\"",
                (layout.right(), y - 6.0),
                TextAnchor::End,
                "deadline",
            );
        }
        if let Some(started) = self.started.filter(|at| *at > layout.across.0) {
            let x = layout.x(started);
            svg.line("class=\"event-line\"", (x, TOP), (x, layout.bottom()));
            svg.label(
                "class=\"axis\"",
                (x + 5.0, TOP - 4.0),
                TextAnchor::Start,
                "started",
            );
        }
        if let Some(ended) = self.ended {
            let (x, y) = (layout.x(ended), layout.y(ended));
            svg.circle("class=\"kept\"", (x, y), 5.0);
            // The label lies on the side that is away from the deadline.
            let is_late = self.due.is_none_or(|due| ended > due);
            let label = if is_late { y - 9.0 } else { y + 18.0 };
            svg.label("", (x + 4.0, label), TextAnchor::End, "ended");
        }
    }
}

fn point(sample: &ForecastSample) -> Option<SamplePoint> {
    Some(SamplePoint {
        at: instant(&sample.at)?,
        end: instant(&sample.expected_finish_at)?,
        low: instant(&sample.earliest_finish_at)?,
        high: instant(&sample.latest_finish_at)?,
    })
}

fn line(layout: &ExpectationLayout, points: &[SamplePoint]) -> String {
    let places = points
        .iter()
        .map(|point| (layout.x(point.at), layout.y(point.end)));
    path(places)
}

/// Returns the area between the bounds of the ends.
fn band(layout: &ExpectationLayout, points: &[SamplePoint]) -> String {
    let above = points
        .iter()
        .map(|point| (layout.x(point.at), layout.y(point.high)));
    let below = points.iter().rev();
    let below = below.map(|point| (layout.x(point.at), layout.y(point.low)));
    path(above.chain(below)) + "z"
}

fn path(places: impl Iterator<Item = (f64, f64)>) -> String {
    let mut data = String::new();
    for (n, (x, y)) in places.enumerate() {
        let step = if n == 0 { 'M' } else { 'L' };
        // Writing to a string cannot fail.
        let _ = write!(data, "{step}{x:.1} {y:.1}");
    }
    data
}
