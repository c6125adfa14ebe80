//! Charts of measures over the varied settings.

use tollgate_risk::{Interval, Objective};
use tollgate_study::StudyResults;
use tollgate_study::chart::AxisSpacing;
use tollgate_study::confidence::SeedMean;
use tollgate_study::experiment::{CurvePlotSpec, Scenario};
use tollgate_study::metric::{RunMetric, StudyMetric};
use tollgate_study::results::ExperimentPoint;

use super::policy_label::policy_name;
use super::{PolicyStyles, figure_title, metric, set_and_market};
use crate::axis::{AxisExtent, ChartAxis};
use crate::line_chart::{LineChart, LineInterpolation, LinePoint, LineSeries};
use crate::page::{PageBlock, PageFigure, PageSection};
use crate::series_style::SeriesStyle;

/// A chart that is to be drawn.
struct CurveChart {
    name: String,
    title: String,
    set: usize,
    market: usize,
    scenario: usize,
    measure: RunMetric,
    spacing: AxisSpacing,
    /// The policies of the chart. Empty for all policies.
    policies: Vec<String>,
}

/// Builds the section with all curves, scenario by scenario. None if there are no curves. Curves
/// that the experiment lists are visible, and the other curves are folded.
pub(super) fn section(results: &StudyResults, looks: &PolicyStyles) -> Option<PageSection> {
    let curves = results.experiment().curves.iter();
    let listed: Vec<CurveChart> = curves
        .filter_map(|curves| listed(results, curves))
        .collect();
    let has_list = !listed.is_empty();
    let all = if has_list {
        listed
    } else {
        all_objectives(results)
    };
    let mut blocks = Vec::new();
    for (scenario, varied) in results.experiment().scenarios.iter().enumerate() {
        let of_scenario = all.iter().filter(|chart| chart.scenario == scenario);
        let figures: Vec<PageFigure> = of_scenario
            .map(|chart| {
                let compared = all.iter().filter(|other| chart.is_comparable(other));
                let range = common_range(results, compared).unwrap_or((0.0, 0.0));
                let chart = (&chart.name, chart.line_chart(results, looks, range));
                PageFigure::new(chart.0, chart.1.to_svg())
            })
            .collect();
        let heading = heading(varied);
        if figures.is_empty() {
            continue;
        }
        if has_list {
            blocks.push(PageBlock::Heading { heading });
            blocks.push(PageBlock::Figures { figures });
        } else {
            blocks.push(PageBlock::Folded { heading, figures });
        }
    }
    (!blocks.is_empty()).then(|| PageSection {
        heading: "Curves".to_owned(),
        blocks,
    })
}

/// Returns the description of the varied setting from the experiment, or else its name.
fn heading(scenario: &Scenario) -> String {
    match scenario.title.as_str() {
        "" => format!("{} ({})", scenario.name, scenario.vary),
        title => title.to_owned(),
    }
}

/// Returns a chart of the experiment's own list.
fn listed(results: &StudyResults, curves: &CurvePlotSpec) -> Option<CurveChart> {
    let experiment = results.experiment();
    let market = experiment.market(curves.market)?;
    let StudyMetric::Run(measure) = experiment.measure(&curves.measure)? else {
        return None;
    };
    Some(CurveChart {
        name: curves.id.clone(),
        title: curves.title.clone(),
        set: experiment
            .sets
            .iter()
            .position(|set| set.name == curves.set)?,
        market: experiment
            .markets
            .iter()
            .position(|other| other.name == market.name)?,
        scenario: experiment
            .scenarios
            .iter()
            .position(|scenario| scenario.name == curves.scenario)?,
        measure,
        spacing: curves.spacing.0,
        policies: curves.policies.clone(),
    })
}

/// Returns a chart of every objective in every scenario, set and market.
fn all_objectives(results: &StudyResults) -> Vec<CurveChart> {
    let experiment = results.experiment();
    let mut charts = Vec::new();
    for (scenario, varied) in experiment.scenarios.iter().enumerate() {
        for (market, plan) in experiment.markets.iter().enumerate() {
            for (set, variant) in experiment.sets.iter().enumerate() {
                charts.extend(Objective::ALL.map(|objective| {
                    let measure = metric::of_objective(objective);
                    let what = metric::label(measure);
                    CurveChart {
                        name: format!(
                            "curves-{}-{}-{}-{objective}",
                            plan.name, variant.name, varied.name
                        ),
                        title: match set_and_market(experiment, set, market).as_str() {
                            "" => what.to_owned(),
                            place => format!("{}: {place}", metric::objective(objective)),
                        },
                        set,
                        market,
                        scenario,
                        measure,
                        spacing: AxisSpacing::Linear,
                        policies: Vec::new(),
                    }
                }));
            }
        }
    }
    charts.retain(|chart| chart.is_measured(results));
    charts
}

impl CurveChart {
    fn shows(&self, policy: &str) -> bool {
        self.policies.is_empty() || self.policies.iter().any(|words| words == policy)
    }

    fn point(&self, value: usize, policy: usize) -> ExperimentPoint {
        ExperimentPoint {
            set: self.set,
            market: self.market,
            scenario: self.scenario,
            value,
            policy,
        }
    }

    /// Returns the mean over the seeds that have a value, with its intervals.
    fn estimate(&self, results: &StudyResults, value: usize, policy: usize) -> Option<SeedMean> {
        let at = self.point(value, policy);
        let values = |results: &StudyResults| -> Vec<f64> {
            let values = results.values(at, self.measure);
            values.into_iter().flatten().collect()
        };
        let parts = results.without_parts().iter();
        let estimate = SeedMean::of(&values(results), &format!("{:?} {at:?}", self.measure))?;
        let (low, high) = self.measure.range();
        let estimate = estimate.with_parts(parts.map(|part| Some(values(part))));
        Some(estimate.within(low, high))
    }

    fn is_measured(&self, results: &StudyResults) -> bool {
        let values = results.experiment().scenarios[self.scenario].values.len();
        let policies = results.experiment().markets[self.market].policies.len();
        let mut places = (0..values).flat_map(|value| (0..policies).map(move |p| (value, p)));
        places.any(|(value, policy)| {
            let seeds = results.values(self.point(value, policy), self.measure);
            seeds.iter().any(Option::is_some)
        })
    }

    /// Returns whether two charts show the same measure over the same setting, so that they are
    /// compared.
    fn is_comparable(&self, other: &Self) -> bool {
        (self.scenario, self.measure) == (other.scenario, other.measure)
    }

    /// Returns the policies of the chart, as indices into the market, with an estimate a value.
    fn curves(&self, results: &StudyResults) -> Vec<(usize, Vec<Option<SeedMean>>)> {
        let experiment = results.experiment();
        let scenario = &experiment.scenarios[self.scenario];
        let policies = experiment.markets[self.market].policies.iter().enumerate();
        let shown =
            policies.filter(|(_, policy)| scenario.runs_policy(policy) && self.shows(policy));
        shown
            .map(|(policy, _)| {
                let values = 0..scenario.values.len();
                let estimates = values.map(|value| self.estimate(results, value, policy));
                (policy, estimates.collect())
            })
            .collect()
    }

    /// Draws the chart. Its axis reaches as far as the estimates of the charts that it is compared
    /// with, `least` to `greatest`.
    fn line_chart(
        &self,
        results: &StudyResults,
        looks: &PolicyStyles,
        (least, greatest): (f64, f64),
    ) -> LineChart {
        let experiment = results.experiment();
        let scenario = &experiment.scenarios[self.scenario];
        let policies = &experiment.markets[self.market].policies;
        let scaled = metric::scaled(self.measure, greatest);
        let point = |(&x, estimate): (&f64, Option<SeedMean>)| LinePoint {
            x,
            y: estimate.map(|estimate| estimate.mean / scaled.per),
            interval: estimate
                .and_then(|estimate| estimate.widest())
                .map(|interval| Interval {
                    low: interval.low / scaled.per,
                    high: interval.high / scaled.per,
                }),
        };
        let series =
            self.curves(results)
                .into_iter()
                .enumerate()
                .map(|(nth, (policy, estimates))| LineSeries {
                    name: policy_name(experiment, &policies[policy]),
                    // If a chart shows only some of many policies, styles could repeat in it.
                    style: match self.policies.is_empty() && scenario.policies.is_empty() {
                        true => looks.style(&policies[policy]),
                        false => SeriesStyle(nth),
                    },
                    interpolation: LineInterpolation::Marked,
                    points: scenario.values.iter().zip(estimates).map(point).collect(),
                    labels: Vec::new(),
                });
        LineChart {
            title: figure_title(&self.name, &self.title),
            x: ChartAxis {
                label: heading(scenario),
                unit: None,
                extent: AxisExtent::Fitted,
                spacing: scenario.spacing.0,
            },
            series: series.collect(),
            y: ChartAxis {
                spacing: self.spacing,
                extent: scaled
                    .axis
                    .extent
                    .including(least / scaled.per, greatest / scaled.per),
                ..scaled.axis.clone()
            },
        }
    }
}

/// Returns the least and the greatest estimate of charts that are compared, with their intervals.
/// None if nothing was measured.
fn common_range<'c>(
    results: &StudyResults,
    charts: impl Iterator<Item = &'c CurveChart>,
) -> Option<(f64, f64)> {
    let estimates = charts.flat_map(|chart| chart.curves(results));
    let estimates = estimates.flat_map(|(_, estimates)| estimates).flatten();
    let ends = estimates.flat_map(|estimate| match estimate.widest() {
        Some(interval) => [interval.low, interval.high],
        None => [estimate.mean; 2],
    });
    ends.filter(|end| end.is_finite())
        .map(|end| (end, end))
        .reduce(|(low, high), (l, h)| (low.min(l), high.max(h)))
}
