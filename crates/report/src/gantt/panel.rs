//! One line of a Gantt chart: rejections, nodes and waiting jobs, one above the other.

use tollgate_model::{Instant, NodeRange};

use super::bars::JobBar;
use super::legend::{BarColour, LATE, MET, MISSED, REJECTED, RESERVED, WAITING};
use super::time_axis::TimeTickStep;
use super::waiting::WaitingCurve;
use super::{GanttSharing, GanttWindow, LEFT, RIGHT, WIDTH};
use tollgate_study::chart::AxisSpacing;

use crate::axis::{AxisExtent, AxisScale};
use crate::svg::{PixelNumber, SvgBuilder, TextAnchor, put};

/// The height of all nodes together: at least enough for a few jobs, at most enough for many.
const MIN_NODES_HEIGHT: f64 = 60.0;
const MAX_NODES_HEIGHT: f64 = 384.0;
/// The preferred height of one node.
const NODE_HEIGHT: f64 = 2.5;
const REJECTIONS_HEIGHT: f64 = 9.0;
const WAITING_HEIGHT: f64 = 44.0;
/// The gap between the parts of a line, and below the line.
const GAP: f64 = 6.0;
const BELOW: f64 = 34.0;
const SIZE: f64 = 11.0;
/// The minimum width of a job, so that every job is visible.
const MIN_BAR: f64 = 0.5;
/// The width of the line that marks a reservation.
const RESERVED_WIDTH: f64 = 0.8;

/// The sizes that all lines share.
pub(super) struct GanttPanel {
    nodes: u32,
    nodes_height: f64,
    sharing: GanttSharing,
    /// The scale of processors waited for. None if no job ever waits.
    waiting: Option<AxisScale>,
}

impl GanttPanel {
    pub(super) fn sized(nodes: u32, sharing: GanttSharing, most_waiting: u64) -> Self {
        let nodes_height =
            (f64::from(nodes) * NODE_HEIGHT).clamp(MIN_NODES_HEIGHT, MAX_NODES_HEIGHT);
        let extent = AxisExtent::AtLeast {
            low: 0.0,
            high: most_waiting as f64,
        };
        Self {
            nodes,
            nodes_height,
            sharing,
            waiting: (most_waiting > 0)
                .then(|| AxisScale::of(AxisSpacing::Linear, extent, std::iter::empty(), 3)),
        }
    }

    /// Returns the distance from the top of one line to the top of the next.
    pub(super) fn height(&self) -> f64 {
        let waiting = self.waiting.as_ref().map_or(0.0, |_| WAITING_HEIGHT + GAP);
        REJECTIONS_HEIGHT + GAP + self.nodes_height + waiting + BELOW
    }

    fn nodes_top(&self, top: f64) -> f64 {
        top + REJECTIONS_HEIGHT + GAP
    }

    fn bottom(&self, top: f64) -> f64 {
        top + self.height() - BELOW
    }

    fn node_y(&self, top: f64, node: u32) -> f64 {
        let part = f64::from(node) / f64::from(self.nodes.max(1));
        self.nodes_top(top) + part * self.nodes_height
    }

    pub(super) fn draw_frame(
        &self,
        svg: &mut SvgBuilder,
        top: f64,
        window: &GanttWindow,
        origin: Instant,
        step: TimeTickStep,
    ) {
        let bottom = self.bottom(top);
        let mut grid = String::new();
        svg.open("class=\"ink\" color=\"#222222\" fill=\"currentColor\"");
        for (mark, label) in step.marks(origin, window.from, window.to()) {
            let x = window.position(mark);
            put(
                &mut grid,
                format_args!(
                    "M{} {}V{}",
                    PixelNumber(x),
                    PixelNumber(top),
                    PixelNumber(bottom + 4.0)
                ),
            );
            svg.text((x, bottom + 5.0 + SIZE), TextAnchor::Middle, SIZE, &label);
        }
        let right = PixelNumber(WIDTH - RIGHT);
        for (y, label) in self.node_marks(top) {
            put(
                &mut grid,
                format_args!("M{} {}H{right}", PixelNumber(LEFT - 4.0), PixelNumber(y)),
            );
            svg.text((LEFT - 7.0, y + SIZE * 0.35), TextAnchor::End, SIZE, &label);
        }
        let middle = self.nodes_top(top) + self.nodes_height / 2.0;
        svg.text_upwards((18.0, middle), TextAnchor::Middle, SIZE, "node");
        for (y, label) in self.waiting_marks(top) {
            put(
                &mut grid,
                format_args!("M{} {}H{right}", PixelNumber(LEFT - 4.0), PixelNumber(y)),
            );
            svg.text((LEFT - 7.0, y + SIZE * 0.35), TextAnchor::End, SIZE, &label);
        }
        svg.close();
        svg.open("class=\"grid\" color=\"#dcdcdc\"");
        svg.path("stroke=\"currentColor\"", &grid, None);
        svg.close();
    }

    /// Returns the marks of the first node, the last node, and round node numbers between them.
    fn node_marks(&self, top: f64) -> Vec<(f64, String)> {
        let high = f64::from(self.nodes.max(1));
        let extent = AxisExtent::AtLeast { low: 0.0, high };
        let marks =
            AxisScale::of(AxisSpacing::Linear, extent, std::iter::empty(), 5).with_pixels(0.0, 1.0);
        let (_, end) = marks.ends();
        let on_page = marks
            .marks()
            .into_iter()
            .filter(|(part, _)| part * end <= high);
        on_page
            .map(|(part, label)| {
                (
                    self.nodes_top(top) + part * end / high * self.nodes_height,
                    label,
                )
            })
            .collect()
    }

    fn waiting_scale(&self, top: f64) -> Option<AxisScale> {
        let bottom = self.bottom(top);
        let scale = self.waiting.clone()?;
        Some(scale.with_pixels(bottom, bottom - WAITING_HEIGHT))
    }

    fn waiting_marks(&self, top: f64) -> Vec<(f64, String)> {
        let scale = self.waiting_scale(top);
        scale.map_or_else(Vec::new, |scale| scale.marks())
    }

    pub(super) fn draw_bars(
        &self,
        svg: &mut SvgBuilder,
        top: f64,
        window: &GanttWindow,
        bars: &[JobBar],
    ) {
        let met = bars.iter().filter(|bar| bar.missed.is_none());
        self.draw_tint(
            svg,
            top,
            window,
            &MET,
            met.map(|bar| (bar, bar.start, bar.finish)),
        );
        let missed = || bars.iter().filter_map(|bar| Some((bar, bar.missed?)));
        let before = missed().map(|(bar, due)| (bar, bar.start, due.min(bar.finish)));
        self.draw_tint(svg, top, window, &MISSED, before);
        let after = missed().map(|(bar, due)| (bar, due.max(bar.start), bar.finish));
        self.draw_tint(svg, top, window, &LATE, after);
    }

    fn draw_tint<'a>(
        &self,
        svg: &mut SvgBuilder,
        top: f64,
        window: &GanttWindow,
        tint: &BarColour,
        parts: impl Iterator<Item = (&'a JobBar, Instant, Instant)>,
    ) {
        tint.open(svg);
        svg.open(match self.sharing {
            GanttSharing::Space => "fill=\"currentColor\" stroke=\"#ffffff\" stroke-width=\"0.35\"",
            GanttSharing::Time => {
                "fill=\"currentColor\" fill-opacity=\"0.28\" stroke=\"currentColor\" \
                 stroke-width=\"0.4\""
            }
        });
        for (bar, from, to) in parts {
            if from < to && from < window.to() && to > window.from {
                let x = window.position(from);
                let width = (window.position(to) - x).max(MIN_BAR);
                let data = self.rectangles(top, (x, width), &bar.nodes);
                svg.path("", &data, Some(&bar.tooltip));
            }
        }
        svg.close();
        svg.close();
    }

    /// Draws a line across the nodes of each job for which processors had been reserved.
    pub(super) fn draw_reservations(
        &self,
        svg: &mut SvgBuilder,
        top: f64,
        window: &GanttWindow,
        bars: &[JobBar],
    ) {
        let reserved = bars.iter().filter_map(|bar| Some((bar, bar.reserved?)));
        let mut lines = String::new();
        for (bar, at) in reserved.filter(|(_, at)| window.contains(*at)) {
            lines += &self.rectangles(top, (window.position(at), RESERVED_WIDTH), &bar.nodes);
        }
        if !lines.is_empty() {
            RESERVED.open(svg);
            svg.path("fill=\"currentColor\"", &lines, None);
            svg.close();
        }
    }

    fn rectangles(&self, top: f64, (x, width): (f64, f64), nodes: &[NodeRange]) -> String {
        let mut data = String::new();
        for range in nodes {
            let y = self.node_y(top, range.first);
            let height = self.node_y(top, range.first + range.len) - y;
            let (x, y, width, height) = (
                PixelNumber(x),
                PixelNumber(y),
                PixelNumber(width),
                PixelNumber(height),
            );
            put(
                &mut data,
                format_args!("M{x} {y}h{width}v{height}h-{width}z"),
            );
        }
        data
    }

    pub(super) fn draw_rejections(
        &self,
        svg: &mut SvgBuilder,
        top: f64,
        window: &GanttWindow,
        rejections: impl Iterator<Item = Instant>,
    ) {
        let mut ticks = String::new();
        for instant in rejections.filter(|&instant| window.contains(instant)) {
            let x = PixelNumber(window.position(instant));
            put(
                &mut ticks,
                format_args!(
                    "M{x} {}v{}",
                    PixelNumber(top),
                    PixelNumber(REJECTIONS_HEIGHT)
                ),
            );
        }
        if !ticks.is_empty() {
            REJECTED.open(svg);
            svg.path(
                "stroke=\"currentColor\" stroke-opacity=\"0.7\"",
                &ticks,
                None,
            );
            svg.close();
        }
    }

    pub(super) fn draw_waiting(
        &self,
        svg: &mut SvgBuilder,
        top: f64,
        window: &GanttWindow,
        waiting: &WaitingCurve,
    ) {
        let Some(scale) = self.waiting_scale(top) else {
            return;
        };
        let columns = (WIDTH - LEFT - RIGHT) as usize;
        let mut area = format!(
            "M{} {}",
            PixelNumber(LEFT),
            PixelNumber(scale.position(0.0))
        );
        let mut last = 0;
        for (column, level) in waiting.columns(window, columns).into_iter().enumerate() {
            if level != last {
                let y = scale.position(level as f64);
                put(
                    &mut area,
                    format_args!("H{}V{}", PixelNumber(LEFT + column as f64), PixelNumber(y)),
                );
                last = level;
            }
        }
        put(
            &mut area,
            format_args!(
                "H{}V{}z",
                PixelNumber(WIDTH - RIGHT),
                PixelNumber(scale.position(0.0))
            ),
        );
        WAITING.open(svg);
        svg.path("fill=\"currentColor\"", &area, None);
        svg.close();
    }
}
