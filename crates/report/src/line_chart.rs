//! Line charts with bands of uncertainty: a measure over a varied value.

use tollgate_risk::Interval;

use crate::axis::ChartAxis;
use crate::legend::{draw_faint_mark, draw_line, draw_mark};
use crate::plot_area::{ChartDecor, PlotArea};
use crate::series_style::SeriesStyle;
use crate::svg::{PixelNumber, SvgBuilder, TextAnchor, put};

/// The font size of the labels beside marks, in pixels.
const LABEL_SIZE: f64 = 10.0;

/// A chart with one line a policy, as in Figures 1-4 of Yeo & Buyya (2006).
#[derive(Clone, Debug, PartialEq)]
pub struct LineChart {
    /// The text above the chart.
    pub title: String,
    /// The varied value.
    pub x: ChartAxis,
    /// The measure.
    pub y: ChartAxis,
    /// The lines. Later lines are drawn over earlier lines.
    pub series: Vec<LineSeries>,
}

/// One line of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct LineSeries {
    /// The name of the line in the legend.
    pub name: String,
    /// The colour, marks and dashes of the line.
    pub style: SeriesStyle,
    /// The way in which the points are joined.
    pub interpolation: LineInterpolation,
    /// The points, in the order in which the line joins them.
    pub points: Vec<LinePoint>,
    /// The labels beside the marks, in the order of the marks. Marks past the last label have none.
    pub labels: Vec<String>,
}

/// The way in which the points of a series are joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineInterpolation {
    /// Straight lines, with a mark at each point.
    #[default]
    Marked,
    /// Straight lines, without marks.
    Plain,
    /// Steps: each value holds until the next point. There are no marks.
    Steps,
    /// Marks alone, without lines.
    Apart,
    /// Faint marks alone: the background of other series.
    Faint,
}

/// A point of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinePoint {
    /// The varied value. A point whose value is not finite is left out.
    pub x: f64,
    /// The measure. The line has a gap at a missing, infinite or NaN value.
    pub y: Option<f64>,
    /// The range in which the measure lies. The band has a gap at a missing range.
    pub interval: Option<Interval>,
}

impl LineChart {
    /// Returns the chart as an SVG document.
    pub fn to_svg(&self) -> String {
        let around = ChartDecor {
            title: &self.title,
            x: &self.x,
            y: &self.y,
            names: self
                .series
                .iter()
                .map(|s| (s.name.as_str(), s.style))
                .collect(),
            notes: Vec::new(),
        };
        let points = self.series.iter().flat_map(|series| &series.points);
        let (mut svg, frame) = PlotArea::start(&around, points.flat_map(LinePoint::corners));
        for series in &self.series {
            svg.open(series.style.group());
            series.draw_band(&mut svg, &frame);
            svg.close();
        }
        for (order, series) in self.series.iter().enumerate() {
            svg.open(series.style.group());
            series.draw_line(&mut svg, &frame, order);
            svg.close();
        }
        svg.finish()
    }
}

impl LineSeries {
    fn draw_band(&self, svg: &mut SvgBuilder, frame: &PlotArea) {
        let ends = |point: &LinePoint| {
            let interval = point.interval?;
            let low = frame.position((point.x, interval.low))?;
            let high = frame.position((point.x, interval.high))?;
            Some((low, high))
        };
        let places: Vec<_> = self.points.iter().map(ends).collect();
        let band: String = contiguous_runs(&places).map(band_around).collect();
        if !band.is_empty() {
            svg.path("fill=\"currentColor\" fill-opacity=\"0.16\"", &band, None);
        }
    }

    fn draw_line(&self, svg: &mut SvgBuilder, frame: &PlotArea, order: usize) {
        let place = |point: &LinePoint| frame.position((point.x, point.y?));
        let places: Vec<_> = self.points.iter().map(place).collect();
        let joined = contiguous_runs(&places).filter(|run| run.len() > 1);
        let path = |run: Vec<(f64, f64)>| match self.interpolation {
            LineInterpolation::Marked | LineInterpolation::Plain => polyline(run.into_iter()),
            LineInterpolation::Steps => polyline(step_corners(&run)),
            LineInterpolation::Apart | LineInterpolation::Faint => String::new(),
        };
        let line: String = joined.map(path).collect();
        if !line.is_empty() {
            draw_line(svg, self.style, &line, 1.0);
        }
        if matches!(
            self.interpolation,
            LineInterpolation::Plain | LineInterpolation::Steps
        ) {
            return;
        }
        self.draw_labels(svg, &places);
        for (point, place) in self.points.iter().zip(&places) {
            if let &Some(place) = place {
                let words = self.describe(point, frame);
                if self.interpolation == LineInterpolation::Faint {
                    draw_faint_mark(svg, self.style, place, &words);
                } else {
                    draw_mark(svg, self.style, place, order, Some(&words));
                }
            }
        }
    }

    fn draw_labels(&self, svg: &mut SvgBuilder, places: &[Option<(f64, f64)>]) {
        for (label, place) in self.labels.iter().zip(places) {
            if let Some((x, y)) = *place {
                svg.text((x + 5.0, y - 3.0), TextAnchor::Start, LABEL_SIZE, label);
            }
        }
    }

    fn describe(&self, point: &LinePoint, frame: &PlotArea) -> String {
        let x = frame.x.describe(point.x);
        let y = point.y.map_or_else(String::new, |y| frame.y.describe(y));
        let mut words = format!("{} at {x}: {y}", self.name);
        if let Some(Interval { low, high }) = point.interval {
            let (low, high) = (frame.y.describe(low), frame.y.describe(high));
            put(&mut words, format_args!(" ({low} to {high})"));
        }
        words
    }
}

impl LinePoint {
    /// Returns the points that the axes must include: the measure and both ends of its interval.
    fn corners(&self) -> impl Iterator<Item = (f64, f64)> + Clone {
        let interval = self.interval.map(|interval| [interval.low, interval.high]);
        let measures = self.y.into_iter().chain(interval.into_iter().flatten());
        let x = self.x;
        measures.map(move |y| (x, y))
    }
}

/// Splits places into the stretches without a gap.
fn contiguous_runs<T>(places: &[Option<T>]) -> impl Iterator<Item = Vec<T>>
where
    T: Copy,
{
    places
        .split(Option::is_none)
        .map(|run| run.iter().flatten().copied().collect::<Vec<T>>())
        .filter(|run| !run.is_empty())
}

/// Adds a corner between any two places: the height changes at the horizontal position of the next
/// place.
fn step_corners(places: &[(f64, f64)]) -> impl Iterator<Item = (f64, f64)> {
    let corners = places.windows(2).flat_map(|pair| {
        let [(_, height), (next, _)] = [pair[0], pair[1]];
        [pair[0], (next, height)]
    });
    corners.chain(places.last().copied())
}

/// Returns an SVG path through places.
pub(crate) fn polyline(places: impl Iterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    for (index, (x, y)) in places.enumerate() {
        let pen = if index == 0 { 'M' } else { 'L' };
        put(
            &mut path,
            format_args!("{pen}{} {}", PixelNumber(x), PixelNumber(y)),
        );
    }
    path
}

/// A place on the lower edge of a band, and the place above it on the upper edge.
type BandEnds = ((f64, f64), (f64, f64));

/// Returns the outline of a band, forward along the lower edge and back along the upper edge.
fn band_around(run: Vec<BandEnds>) -> String {
    let lower = run.iter().map(|ends| ends.0);
    let upper = run.iter().rev().map(|ends| ends.1);
    let mut outline = polyline(lower.chain(upper));
    outline.push('z');
    outline
}
