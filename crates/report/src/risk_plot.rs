//! Risk analysis plots, with volatility across and performance up.

use tollgate_risk::{Gradient, Risk};
use tollgate_study::chart::AxisSpacing;

use crate::axis::{AxisExtent, ChartAxis};
use crate::font;
use crate::legend::{draw_line, draw_mark};
use crate::line_chart::polyline;
use crate::plot_area::{ChartDecor, PlotArea};
use crate::series_style::SeriesStyle;
use crate::svg::{SvgBuilder, TextAnchor, put};

/// A plot with one point a scenario and one trend line a policy, as in Figures 1 and 3-8 of
/// Yeo & Buyya (2008). The best corner is the upper left one.
///
/// The marks bear the numbers of their scenarios, or a count where many marks share a place. The
/// notes below the plot say which scenario has which number, and which policies share a place.
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
            spacing: AxisSpacing::Linear,
        };
        let performance = ChartAxis {
            label: "performance, 1 is best".to_owned(),
            unit: None,
            extent: AxisExtent::AtLeast {
                low: 0.0,
                high: 1.0,
            },
            spacing: AxisSpacing::Linear,
        };
        let numbers = self.numbers();
        let clusters = self.clusters(&numbers);
        let names: Vec<String> = self.series.iter().map(RiskSeries::legend).collect();
        let around = ChartDecor {
            title: &self.title,
            x: &volatility,
            y: &performance,
            names: names
                .iter()
                .zip(&self.series)
                .map(|(name, series)| (name.as_str(), series.style))
                .collect(),
            notes: self.notes(&numbers, &clusters),
        };
        let points = self.series.iter().flat_map(|series| &series.points);
        let values = points.map(|point| (point.risk.volatility, point.risk.performance));
        let (mut svg, frame) = PlotArea::start(&around, values);
        for (order, series) in self.series.iter().enumerate() {
            svg.open(series.style.group());
            series.draw(&mut svg, &frame, order);
            svg.close();
        }
        draw_labels(&mut svg, &frame, &clusters);
        svg.finish()
    }

    /// Returns the scenarios in the order of their numbers, from 1.
    fn numbers(&self) -> Vec<&str> {
        let mut numbers: Vec<&str> = Vec::new();
        for point in self.series.iter().flat_map(|series| &series.points) {
            if !numbers.contains(&point.scenario.as_str()) {
                numbers.push(&point.scenario);
            }
        }
        numbers
    }

    /// Groups the points that a plot shows at one place. Clusters are in the order of their first
    /// points.
    fn clusters(&self, numbers: &[&str]) -> Vec<PointCluster> {
        let mut clusters: Vec<PointCluster> = Vec::new();
        for (policy, series) in self.series.iter().enumerate() {
            for point in &series.points {
                let number = numbers.iter().position(|name| *name == point.scenario);
                let member = (policy, number.map_or(0, |place| place + 1));
                let near = |cluster: &&mut PointCluster| {
                    let x = point.risk.volatility - cluster.at.volatility;
                    let y = point.risk.performance - cluster.at.performance;
                    x.hypot(y) < SAME_PLACE
                };
                match clusters.iter_mut().find(near) {
                    Some(cluster) => cluster.members.push(member),
                    None => clusters.push(PointCluster {
                        at: point.risk,
                        members: vec![member],
                    }),
                }
            }
        }
        clusters
    }

    /// Returns the notes below the plot: the numbers of the scenarios, the largest clusters of
    /// several policies, and the meaning of the sign at a line that one point decides.
    fn notes(&self, numbers: &[&str], clusters: &[PointCluster]) -> Vec<String> {
        let scenarios: Vec<String> = (1..)
            .zip(numbers)
            .map(|(number, name)| format!("{number}\u{a0}{}", name.replace(' ', "\u{a0}")))
            .collect();
        let mut notes = Vec::new();
        if numbers.len() > 1 {
            notes.push(format!("Scenarios: {}", scenarios.join(", ")));
        }
        let mut shared: Vec<&PointCluster> = clusters
            .iter()
            .filter(|cluster| cluster.members.len() > LABELLED_NUMBERS && cluster.is_shared())
            .collect();
        shared.sort_by_key(|cluster| std::cmp::Reverse(cluster.members.len()));
        notes.extend(shared.into_iter().take(NOTED_CLUSTERS).map(|cluster| {
            let Risk {
                performance,
                volatility,
            } = cluster.at;
            let counts = self
                .series
                .iter()
                .enumerate()
                .filter_map(|(policy, series)| {
                    let own = cluster.members.iter().filter(|member| member.0 == policy);
                    let count = own.count();
                    (count > 0).then(|| format!("{}\u{a0}{count}", series.name))
                });
            let counts: Vec<String> = counts.collect();
            let total = cluster.members.len();
            let counts = counts.join(", ");
            format!("\u{d7}{total} at ({volatility:.2}, {performance:.2}): {counts}")
        }));
        if self.series.iter().any(RiskSeries::hinges_on_one_point) {
            notes.push("* One scenario alone decides the direction of the line.".to_owned());
        }
        notes
    }
}

/// Points that a plot of usual size shows at one place.
struct PointCluster {
    /// The first of the points.
    at: Risk,
    /// The policies and the numbers of the scenarios of the points.
    members: Vec<(usize, usize)>,
}

/// The distance below which two points count as one place, in units of both axes.
const SAME_PLACE: f64 = 0.012;
/// The maximum number of scenarios that the label of a place names. A place with more has a count.
const LABELLED_NUMBERS: usize = 2;
/// The maximum number of clusters in the notes.
const NOTED_CLUSTERS: usize = 3;
/// The font size of labels in the plot, in pixels.
const LABEL_SIZE: f64 = 8.5;
/// The opacity of a line whose direction one point decides.
const FAINT: f64 = 0.45;

impl PointCluster {
    /// Returns whether points of several policies lie here.
    fn is_shared(&self) -> bool {
        self.members
            .iter()
            .any(|member| member.0 != self.members[0].0)
    }

    /// Returns the numbers of the scenarios, or the count of the points if there are many.
    fn label(&self) -> String {
        let mut numbers: Vec<usize> = self.members.iter().map(|member| member.1).collect();
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.len() > LABELLED_NUMBERS {
            return format!("\u{d7}{}", self.members.len());
        }
        let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
        numbers.join(",")
    }
}

/// Labels the places of a plot, those with the most points first. A label that finds no room at any
/// corner of its mark is left out.
fn draw_labels(svg: &mut SvgBuilder, frame: &PlotArea, clusters: &[PointCluster]) {
    let mut order: Vec<&PointCluster> = clusters.iter().collect();
    order.sort_by_key(|cluster| std::cmp::Reverse(cluster.members.len()));
    let place =
        |cluster: &PointCluster| frame.position((cluster.at.volatility, cluster.at.performance));
    let marks: Vec<(f64, f64)> = clusters.iter().filter_map(place).collect();
    let mut taken: Vec<(f64, f64, f64, f64)> = marks
        .iter()
        .map(|&(x, y)| (x - 2.0, y - 2.0, x + 2.0, y + 2.0))
        .collect();
    svg.open("class=\"ink\" color=\"#222222\" fill=\"currentColor\"");
    for cluster in order {
        let Some((x, y)) = place(cluster) else {
            continue;
        };
        let label = cluster.label();
        let width = font::width(&label, LABEL_SIZE);
        let corners = [
            (5.0, -3.0),
            (5.0, 9.0),
            (-5.0 - width, -3.0),
            (-5.0 - width, 9.0),
        ];
        let room = corners.into_iter().find_map(|(right, down)| {
            let (left, base) = (x + right, y + down);
            let area = (left, base - LABEL_SIZE * 0.8, left + width, base);
            let is_free = taken.iter().all(|other| {
                area.0 >= other.2 || other.0 >= area.2 || area.1 >= other.3 || other.1 >= area.3
            });
            is_free.then_some((area, (left, base)))
        });
        if let Some((area, place)) = room {
            taken.push(area);
            svg.text(place, TextAnchor::Start, LABEL_SIZE, &label);
        }
    }
    svg.close();
}

impl RiskSeries {
    /// Returns the points that a plot can show.
    fn risks(&self) -> Vec<Risk> {
        let risks = self.points.iter().map(|point| point.risk);
        risks
            .filter(|risk| risk.performance.is_finite() && risk.volatility.is_finite())
            .collect()
    }

    /// Returns whether one point alone decides the direction of the trend line.
    fn hinges_on_one_point(&self) -> bool {
        !Gradient::decisive_points(&self.risks()).is_empty()
    }

    /// Returns the name in the legend, with a sign if one point alone decides the line.
    fn legend(&self) -> String {
        let sign = if self.hinges_on_one_point() {
            "\u{a0}*"
        } else {
            ""
        };
        format!("{}{sign}", self.name)
    }

    fn draw(&self, svg: &mut SvgBuilder, frame: &PlotArea, order: usize) {
        if let Some(ends) = trend(&self.risks(), frame.y.ends()) {
            let places = ends.into_iter().filter_map(|end| frame.position(end));
            let opacity = if self.hinges_on_one_point() {
                FAINT
            } else {
                1.0
            };
            draw_line(svg, self.style, &polyline(places), opacity);
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
/// `(lowest, highest)` performance. None if there is no line.
fn trend(finite: &[Risk], (lowest, highest): (f64, f64)) -> Option<[(f64, f64); 2]> {
    if Gradient::of(finite) == Gradient::None {
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
    for risk in finite {
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
        let series = |points: &[(f64, f64)]| RiskSeries {
            name: "libra".to_owned(),
            style: SeriesStyle(0),
            points: risks(points)
                .into_iter()
                .map(|risk| RiskPoint {
                    scenario: "load".to_owned(),
                    risk,
                })
                .collect(),
        };
        assert_eq!(series(&[(f64::NAN, 0.2)]).risks(), []);
        assert_eq!(trend(&[], (0.0, 1.0)), None);
    }
}
