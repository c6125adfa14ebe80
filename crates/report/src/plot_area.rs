//! The frame of a chart: title, legend, and axes with their marks and labels.

use crate::axis::{AxisScale, ChartAxis};
use crate::font;
use crate::legend::ChartLegend;
use crate::series_style::SeriesStyle;
use crate::svg::{PixelNumber, SvgBuilder, TextAnchor};
use crate::ticks::drawable;

/// The width of a chart in pixels. Two charts fit side by side on a printed page.
const WIDTH: f64 = 480.0;
/// The height of the part that holds the data.
const PLOT_HEIGHT: f64 = 230.0;
/// The space at the outer edges.
const EDGE: f64 = 10.0;
/// The distance between the frame and the outermost values, so that marks there do not touch the
/// frame.
const INSET: f64 = 8.0;
/// The font sizes of the title, of labels, of the numbers at marks and of notes.
const TITLE_SIZE: f64 = 14.0;
const LABEL_SIZE: f64 = 12.0;
const MARK_SIZE: f64 = 11.0;
const NOTE_SIZE: f64 = 9.5;
/// The distance from one line of the notes to the next.
const NOTE_ROW: f64 = 12.5;
/// The length of a mark on an axis.
const TICK: f64 = 4.0;
/// The maximum number of marks on each axis.
const MAX_X_TICKS: usize = 7;
const MAX_Y_TICKS: usize = 6;

/// The parts of a chart around its data.
pub(crate) struct ChartDecor<'a> {
    pub(crate) title: &'a str,
    pub(crate) x: &'a ChartAxis,
    pub(crate) y: &'a ChartAxis,
    pub(crate) names: Vec<(&'a str, SeriesStyle)>,
    /// Lines of text below the chart. A line wider than the chart is wrapped.
    pub(crate) notes: Vec<String>,
}

/// The two scales of a chart whose drawing has begun.
pub(crate) struct PlotArea {
    pub(crate) x: AxisScale,
    pub(crate) y: AxisScale,
}

/// A rectangle in pixels.
#[derive(Clone, Copy)]
struct PixelRect {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl PlotArea {
    /// Begins a picture for these points, which are given as values of both axes.
    pub(crate) fn start(
        around: &ChartDecor<'_>,
        points: impl Iterator<Item = (f64, f64)> + Clone,
    ) -> (SvgBuilder, Self) {
        let (x, y) = (around.x, around.y);
        let x_values = points.clone().map(|point| point.0);
        let x = AxisScale::of(x.spacing, x.extent, x_values, MAX_X_TICKS);
        let y = AxisScale::of(
            y.spacing,
            y.extent,
            points.map(|point| point.1),
            MAX_Y_TICKS,
        );
        let legend = ChartLegend::arranged(around.names.iter().copied(), WIDTH - 2.0 * EDGE);
        let top = 2.0 * EDGE + TITLE_SIZE + legend.height() + 4.0;
        let area = PixelRect {
            left: 1.5 * EDGE + LABEL_SIZE + widest_mark(&y) + TICK + 4.0,
            top,
            right: WIDTH - 1.5 * EDGE,
            bottom: top + PLOT_HEIGHT,
        };
        let caption = area.bottom + TICK + 0.6 * EDGE + MARK_SIZE + LABEL_SIZE;
        let notes: Vec<String> = around
            .notes
            .iter()
            .flat_map(|note| font::wrapped(note, NOTE_SIZE, WIDTH - 2.0 * EDGE))
            .collect();
        let height = caption + EDGE + notes.len() as f64 * NOTE_ROW;
        let frame = Self {
            x: x.with_pixels(area.left + INSET, area.right - INSET),
            y: y.with_pixels(area.bottom - INSET, area.top + INSET),
        };
        let mut svg = SvgBuilder::new(WIDTH, height, around.title);
        frame.draw_grid(&mut svg, area);
        frame.draw_text(&mut svg, area, around, caption);
        draw_notes(&mut svg, &notes, caption);
        legend.draw(&mut svg, (EDGE, EDGE + TITLE_SIZE + 6.0));
        (svg, frame)
    }

    /// Returns the pixel of a point. None if the point cannot be drawn.
    pub(crate) fn position(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        if !(drawable(x) && drawable(y)) {
            return None;
        }
        let place = (self.x.position(x), self.y.position(y));
        (place.0.is_finite() && place.1.is_finite()).then_some(place)
    }

    fn draw_grid(&self, svg: &mut SvgBuilder, area: PixelRect) {
        let (width, height) = (
            PixelNumber(area.right - area.left),
            PixelNumber(area.bottom - area.top),
        );
        let (left, top) = (PixelNumber(area.left), PixelNumber(area.top));
        let horizontal = self
            .y
            .marks()
            .into_iter()
            .map(|(y, _)| format!("M{left} {}h{width}", PixelNumber(y)));
        let vertical = self
            .x
            .marks()
            .into_iter()
            .map(|(x, _)| format!("M{} {top}v{height}", PixelNumber(x)));
        let grid: String = horizontal.chain(vertical).collect();
        svg.open("class=\"grid\" color=\"#e3e3e3\"");
        svg.path("stroke=\"currentColor\"", &grid, None);
        svg.close();
        let (tick, bottom) = (PixelNumber(TICK), PixelNumber(area.bottom));
        let left_ticks = self
            .y
            .marks()
            .into_iter()
            .map(|(y, _)| format!("M{left} {}h-{tick}", PixelNumber(y)));
        let bottom_ticks = self
            .x
            .marks()
            .into_iter()
            .map(|(x, _)| format!("M{} {bottom}v{tick}", PixelNumber(x)));
        let ticks: String = left_ticks.chain(bottom_ticks).collect();
        svg.open("class=\"axis\" color=\"#666666\"");
        let outline = format!("M{left} {top}h{width}v{height}H{left}z{ticks}");
        svg.path("fill=\"none\" stroke=\"currentColor\"", &outline, None);
        svg.close();
    }

    fn draw_text(
        &self,
        svg: &mut SvgBuilder,
        area: PixelRect,
        around: &ChartDecor<'_>,
        caption: f64,
    ) {
        svg.open("class=\"ink\" color=\"#222222\" fill=\"currentColor\"");
        let title = font::truncated(around.title, TITLE_SIZE, WIDTH - 2.0 * EDGE);
        svg.text(
            (EDGE, EDGE + TITLE_SIZE * 0.8),
            TextAnchor::Start,
            TITLE_SIZE,
            &title,
        );
        for (y, label) in self.y.marks() {
            let place = (area.left - TICK - 3.0, y + MARK_SIZE * 0.35);
            svg.text(place, TextAnchor::End, MARK_SIZE, &label);
        }
        for (x, label) in self.x.marks() {
            let place = (x, area.bottom + TICK + MARK_SIZE);
            svg.text(place, TextAnchor::Middle, MARK_SIZE, &label);
        }
        let (middle_x, middle_y) = (
            f64::midpoint(area.left, area.right),
            f64::midpoint(area.top, area.bottom),
        );
        let (caption_x, caption_y) = (around.x.caption(), around.y.caption());
        let caption_x = font::truncated(&caption_x, LABEL_SIZE, area.right - area.left);
        let caption_y = font::truncated(&caption_y, LABEL_SIZE, PLOT_HEIGHT + 20.0);
        svg.text(
            (middle_x, caption),
            TextAnchor::Middle,
            LABEL_SIZE,
            &caption_x,
        );
        svg.text_upwards(
            (EDGE + LABEL_SIZE * 0.8, middle_y),
            TextAnchor::Middle,
            LABEL_SIZE,
            &caption_y,
        );
        svg.close();
    }
}

/// Draws lines of text below the caption of the x axis.
fn draw_notes(svg: &mut SvgBuilder, notes: &[String], caption: f64) {
    if notes.is_empty() {
        return;
    }
    svg.open("class=\"ink\" color=\"#222222\" fill=\"currentColor\"");
    for (row, note) in (1..).zip(notes) {
        let place = (EDGE, caption + f64::from(row) * NOTE_ROW + 4.0);
        svg.text(place, TextAnchor::Start, NOTE_SIZE, note);
    }
    svg.close();
}

fn widest_mark(scale: &AxisScale) -> f64 {
    scale
        .marks()
        .into_iter()
        .map(|(_, label)| font::width(&label, MARK_SIZE))
        .fold(0.0, f64::max)
}
