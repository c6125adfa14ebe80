//! Risk analysis plots, with volatility across and performance up.

use tollgate_risk::{Gradient, Risk};

use crate::axis::{AxisExtent, ChartAxis};
use crate::legend::{draw_line, draw_mark};
use crate::line_chart::polyline;
use crate::plot_area::{ChartDecor, PlotArea};
use crate::series_style::SeriesStyle;
use crate::svg::{SvgBuilder, put};

/// A plot with one point a scenario and one trend line a policy, as in Figures 1 and 3-8 of
/// Yeo & Buyya (2008). The best corner is the upper left one.
#[derive(Clone, Debug, PartialEq)]
pub struct RiskPlot {
    /// The text above the plot.
    pub title: String,
    /// The extent of the volatility axis. Plots that are to be compared need the same extent.
    pub volatility: AxisExtent,
    /// The series, one per policy. Later series are drawn over earlier series.
    pub series: Vec<RiskSeries>,
}

/// The points of one policy.
#[derive(Clone, Debug, PartialEq)]
pub struct RiskSeries {
    /// The name of the policy in the legend.
    pub name: String,
    /// The colour, marks and dashes of the policy.
    pub style: SeriesStyle,
    /// The points, in any order.
    pub points: Vec<RiskPoint>,
}

/// One policy in one scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct RiskPoint {
    /// The name of the scenario.
    pub scenario: String,
    /// The performance of the policy in the scenario, and its volatility. A point that is not
    /// finite is left out.
    pub risk: Risk,
}

impl RiskPlot {
    /// Returns the plot as an SVG document.
    pub fn to_svg(&self) -> String {
        let volatility = ChartAxis {
            label: "volatility, 0 is best".to_owned(),
            unit: None,
            extent: self.volatility,
        };
        let performance = ChartAxis {
            label: "performance, 1 is best".to_owned(),
            unit: None,
            extent: AxisExtent::AtLeast {
                low: 0.0,
                high: 1.0,
            },
        };
        let around = ChartDecor {
            title: &self.title,
            x: &volatility,
            y: &performance,
            names: self
                .series
                .iter()
                .map(|s| (s.name.as_str(), s.style))
                .collect(),
        };
        let points = self.series.iter().flat_map(|series| &series.points);
        let values = points.map(|point| (point.risk.volatility, point.risk.performance));
        let (mut svg, frame) = PlotArea::start(&around, values);
        for (order, series) in self.series.iter().enumerate() {
            svg.open(series.style.group());
            series.draw(&mut svg, &frame, order);
            svg.close();
        }
        svg.finish()
    }
}

impl RiskSeries {
    fn draw(&self, svg: &mut SvgBuilder, frame: &PlotArea, order: usize) {
        let risks: Vec<Risk> = self.points.iter().map(|point| point.risk).collect();
        if let Some(ends) = trend(&risks, frame.y.ends()) {
            let places = ends.into_iter().filter_map(|end| frame.position(end));
            draw_line(svg, self.style, &polyline(places));
        }
        for (place, words) in self.marks(frame) {
            draw_mark(svg, self.style, place, order, Some(&words));
        }
    }

    /// Returns the places of the marks and their tooltips. Scenarios with the same result of the
    /// policy share a mark.
    fn marks(&self, frame: &PlotArea) -> Vec<((f64, f64), String)> {
        let mut marks: Vec<((f64, f64), String)> = Vec::new();
        for point in &self.points {
            let Risk {
                performance,
                volatility,
            } = point.risk;
            let Some(place) = frame.position((volatility, performance)) else {
                continue;
            };
            match marks.iter_mut().find(|(other, _)| *other == place) {
                Some((_, words)) => put(words, format_args!("; {}", point.scenario)),
                None => marks.push((
                    place,
                    format!(
                        "{}, performance {performance:.3}, volatility {volatility:.3}: {}",
                        self.name, point.scenario
                    ),
                )),
            }
        }
        marks
    }
}

/// Returns the ends of the least-squares line of performance on volatility, as values of both axes.
/// The line runs from the least to the greatest volatility, as far as it stays within
/// `(lowest, highest)` performance. None if all volatilities are equal or too close together.
fn trend(points: &[Risk], (lowest, highest): (f64, f64)) -> Option<[(f64, f64); 2]> {
    let finite: Vec<Risk> = points
        .iter()
        .copied()
        .filter(|risk| risk.performance.is_finite() && risk.volatility.is_finite())
        .collect();
    if finite.is_empty() || Gradient::of(&finite) == Gradient::None {
        return None;
    }
    let count = finite.len() as f64;
    let mean_x = finite.iter().map(|risk| risk.volatility).sum::<f64>() / count;
    let mean_y = finite.iter().map(|risk| risk.performance).sum::<f64>() / count;
    let spread: f64 = finite
        .iter()
        .map(|risk| (risk.volatility - mean_x).powi(2))
        .sum();
    let joint: f64 = finite
        .iter()
        .map(|risk| (risk.volatility - mean_x) * (risk.performance - mean_y))
        .sum();
    let slope = joint / spread;
    let (mut from, mut to) = (f64::INFINITY, f64::NEG_INFINITY);
    for risk in &finite {
        (from, to) = (from.min(risk.volatility), to.max(risk.volatility));
    }
    if slope != 0.0 {
        let crossings = [lowest, highest].map(|end| mean_x + (end - mean_y) / slope);
        from = from.max(crossings[0].min(crossings[1]));
        to = to.min(crossings[0].max(crossings[1]));
    }
    let at = |x: f64| (x, mean_y + slope * (x - mean_x));
    Some([at(from), at(to)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn risks(points: &[(f64, f64)]) -> Vec<Risk> {
        let risk = |&(volatility, performance)| Risk {
            performance,
            volatility,
        };
        points.iter().map(risk).collect()
    }

    #[test]
    fn a_trend_runs_through_points_on_a_line() {
        let points = risks(&[(0.25, 0.5), (0.0, 1.0), (0.125, 0.75)]);
        assert_eq!(trend(&points, (0.0, 1.0)), Some([(0.0, 1.0), (0.25, 0.5)]));
    }

    #[test]
    fn a_trend_stays_in_the_plot() {
        let points = risks(&[(0.0, 0.0), (0.5, 1.0), (0.5, 1.0), (1.0, 1.0)]);
        let ends = trend(&points, (0.0, 1.0));
        assert!(
            ends.is_some_and(|ends| ends.iter().all(|&(_, y)| (-1e-9..=1.0 + 1e-9).contains(&y))),
            "{ends:?}"
        );
    }

    #[test]
    fn points_of_one_volatility_have_no_trend() {
        assert_eq!(trend(&risks(&[(0.1, 0.2), (0.1, 0.9)]), (0.0, 1.0)), None);
        assert_eq!(trend(&risks(&[(f64::NAN, 0.2)]), (0.0, 1.0)), None);
        assert_eq!(trend(&[], (0.0, 1.0)), None);
    }
}
