//! Risk analysis plots, and the rankings that follow from them.

use tollgate_risk::{Objective, Ranking, Weights};
use tollgate_study::analysis::RankedPolicy;
use tollgate_study::experiment::RiskPlotSpec;
use tollgate_study::results::ExperimentPoint;
use tollgate_study::{RiskAnalysis, StudyResults};

use super::policy_label::policy_name;
use super::{PolicyStyles, figure_title, metric, set_and_market};
use crate::axis::AxisExtent;
use crate::page::{CellRole, PageBlock, PageCell, PageFigure, PageSection, PageTable};
use crate::risk_plot::{RiskPlot, RiskPoint, RiskSeries};

/// A combination of objectives to be plotted and ranked.
struct ObjectiveCombination {
    name: String,
    title: String,
    objectives: Vec<Objective>,
    weights: Weights,
}

/// Builds one section per market and set.
pub(super) fn sections(
    results: &StudyResults,
    looks: &PolicyStyles,
    weights: Option<&Weights>,
) -> Vec<PageSection> {
    let experiment = results.experiment();
    let markets = 0..experiment.markets.len();
    let places =
        markets.flat_map(|market| (0..experiment.sets.len()).map(move |set| (market, set)));
    places
        .filter_map(|(market, set)| {
            let mut combinations = combinations(results, market, set);
            combinations.extend(weights.map(|weights| weighted(results, market, set, weights)));
            section(results, looks, (market, set), combinations)
        })
        .collect()
}

fn section(
    results: &StudyResults,
    looks: &PolicyStyles,
    (market, set): (usize, usize),
    mut combinations: Vec<ObjectiveCombination>,
) -> Option<PageSection> {
    let experiment = results.experiment();
    let analysis = RiskAnalysis::of(results, set, market, experiment.normalisation.0);
    // An objective that has a weight may have no meaning in this market.
    combinations.retain(|combination| analysis.points(0, &combination.weights).is_ok());
    if combinations.is_empty() {
        return None;
    }
    let extent = common_extent(&analysis, &combinations);
    let figures = combinations.iter().map(|combination| {
        let plot = combination.plot(results, &analysis, looks, extent);
        PageFigure::new(&combination.name, plot.to_svg())
    });
    let mut blocks = vec![
        PageBlock::Text {
            text: format!(
                "Each mark is one scenario: performance is the mean, volatility the standard \
                 deviation of the normalised results ({}) as the setting varies. The best corner \
                 is the upper left one.",
                analysis.normalisation()
            ),
        },
        PageBlock::Figures {
            figures: figures.collect(),
        },
        PageBlock::Table(rankings(results, &analysis, &combinations)),
    ];
    let widest = combinations
        .iter()
        .rev()
        .max_by_key(|combination| combination.objectives.len());
    for ranking in Ranking::ALL {
        blocks.extend(widest.and_then(|widest| details(results, &analysis, widest, ranking)));
    }
    let title = experiment.sets[set].title.as_str();
    let parts = [&set_and_market(experiment, set, market), title];
    let words: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let heading = if words.is_empty() {
        "Risk analysis".to_owned()
    } else {
        format!("Risk analysis: {}", words.join(", "))
    };
    Some(PageSection { heading, blocks })
}

/// Returns the combinations that the experiment lists for a market and set. If the experiment lists
/// no combination at all, the result is each measured objective alone and all of them together.
fn combinations(results: &StudyResults, market: usize, set: usize) -> Vec<ObjectiveCombination> {
    let experiment = results.experiment();
    if experiment.risk_plots.is_empty() {
        return default_combinations(results, market, set);
    }
    let here = |plot: &&RiskPlotSpec| {
        let named = experiment.market(plot.market).map(|market| market.name);
        plot.set == experiment.sets[set].name && named == Some(experiment.markets[market].name)
    };
    let plots = experiment.risk_plots.iter().filter(here);
    plots
        .filter_map(|plot| {
            let objectives: Vec<Objective> = plot.objectives.iter().map(|word| word.0).collect();
            ObjectiveCombination::new(plot.id.clone(), plot.title.clone(), objectives)
        })
        .collect()
}

fn default_combinations(
    results: &StudyResults,
    market: usize,
    set: usize,
) -> Vec<ObjectiveCombination> {
    let measured: Vec<Objective> = Objective::ALL
        .into_iter()
        .filter(|&objective| {
            let rows = results.rows().iter();
            let mut here = rows.filter(|row| {
                let ExperimentPoint {
                    set: s, market: m, ..
                } = row.planned.point();
                (s, m) == (set, market)
            });
            here.any(|row| row.measurements.objective(objective).is_some())
        })
        .collect();
    let alone = measured.iter().map(|&objective| vec![objective]);
    let together = (measured.len() > 1).then(|| measured.clone());
    let prefix = prefix(results, market, set);
    alone
        .chain(together)
        .filter_map(|objectives| {
            let names: Vec<&str> = objectives
                .iter()
                .map(|objective| objective.name())
                .collect();
            let name = format!("{prefix}-{}", names.join("-"));
            ObjectiveCombination::new(name, metric::objectives(&objectives), objectives)
        })
        .collect()
}

/// Returns the combination of objectives with the reader's weights.
fn weighted(
    results: &StudyResults,
    market: usize,
    set: usize,
    weights: &Weights,
) -> ObjectiveCombination {
    ObjectiveCombination {
        name: format!("{}-weighted", prefix(results, market, set)),
        title: format!("Weighted: {weights}"),
        objectives: weights.iter().map(|(objective, _)| objective).collect(),
        weights: weights.clone(),
    }
}

/// Returns the prefix of the picture names of a market and set.
fn prefix(results: &StudyResults, market: usize, set: usize) -> String {
    let experiment = results.experiment();
    format!(
        "risk-{}-{}",
        experiment.markets[market].name, experiment.sets[set].name
    )
}

/// Returns the common axes of the plots of one market and set, so that the plots can be compared.
fn common_extent(analysis: &RiskAnalysis, combinations: &[ObjectiveCombination]) -> AxisExtent {
    let points = combinations.iter().flat_map(|combination| {
        let policies = 0..analysis.policies().len();
        policies.flat_map(|policy| combination.points(analysis, policy))
    });
    let most = points.map(|point| point.1.volatility).fold(0.1, f64::max);
    AxisExtent::AtLeast {
        low: 0.0,
        high: most,
    }
}

impl ObjectiveCombination {
    /// Creates a combination. None if an objective is named twice, which checked experiments never
    /// do.
    fn new(name: String, title: String, objectives: Vec<Objective>) -> Option<Self> {
        let weights = Weights::equal(&objectives).ok()?;
        Some(Self {
            name,
            title,
            objectives,
            weights,
        })
    }

    /// Names the combined objectives, with their weights unless all weights are equal.
    fn describe(&self) -> String {
        let equal = Weights::equal(&self.objectives);
        if equal.as_ref() == Ok(&self.weights) {
            metric::objectives(&self.objectives)
        } else {
            self.weights.to_string()
        }
    }

    /// Returns the points of a policy by scenario. The result is empty if an objective was not
    /// measured.
    fn points(&self, analysis: &RiskAnalysis, policy: usize) -> Vec<(usize, tollgate_risk::Risk)> {
        let points = analysis.points(policy, &self.weights).unwrap_or_default();
        let means = points.iter().map(|point| point.mean());
        analysis.scenarios().iter().copied().zip(means).collect()
    }

    fn plot(
        &self,
        results: &StudyResults,
        analysis: &RiskAnalysis,
        looks: &PolicyStyles,
        extent: AxisExtent,
    ) -> RiskPlot {
        let scenarios = &results.experiment().scenarios;
        let policies = analysis.policies().iter().enumerate();
        let series = policies.map(|(policy, name)| RiskSeries {
            name: policy_name(results.experiment(), name),
            style: looks.style(name),
            points: self
                .points(analysis, policy)
                .into_iter()
                .map(|(scenario, risk)| RiskPoint {
                    scenario: scenarios[scenario].name.clone(),
                    risk,
                })
                .collect(),
        });
        RiskPlot {
            title: figure_title(&self.name, &self.title),
            volatility: extent,
            series: series.collect(),
        }
    }
}

/// Builds a list of the rankings of every combination, one line each, and a second line over the
/// scenarios that are not flat if others are.
fn rankings(
    results: &StudyResults,
    analysis: &RiskAnalysis,
    combinations: &[ObjectiveCombination],
) -> PageTable {
    let rows = combinations.iter().flat_map(|combination| {
        let row = |analysis: &RiskAnalysis, scenarios: String| {
            let mut row = vec![
                PageCell::text(combination.describe()),
                PageCell::text(scenarios),
            ];
            row.extend(Ranking::ALL.map(|by| {
                let ranked = analysis.ranking(by, &combination.weights);
                let ranked = ranked.unwrap_or_default();
                PageCell::text(inline_ranking(results, analysis, &ranked))
            }));
            row
        };
        let flat = analysis.flat_scenarios(&combination.weights);
        let flat = flat.unwrap_or_default();
        let without_flat = (!flat.is_empty()).then(|| match analysis.without(&flat) {
            Some(others) => row(&others, format!("without {}", scenarios(results, &flat))),
            None => vec![
                PageCell::text(combination.describe()),
                PageCell::text("all are flat"),
            ],
        });
        [row(analysis, "all".to_owned())]
            .into_iter()
            .chain(without_flat)
    });
    let mut head = vec![PageCell::text("objectives"), PageCell::text("scenarios")];
    head.extend(Ranking::ALL.map(|by| PageCell::text(format!("by {}", title(by)))));
    PageTable {
        caption: "Rankings, the best first. Policies with \u{2248} between them cannot be told \
                  apart at 95 %; those with = tie. A flat scenario changes the results of one policy \
                  at most: in it volatility is 0, and the ranking by best volatility is one by best \
                  performance. Best performance and best volatility compare the best points of the \
                  policies (section 4.3 of the paper), the others all points or the worst ones."
            .to_owned(),
        head,
        rows: rows.collect(),
    }
}

/// Joins the names of scenarios.
fn scenarios(results: &StudyResults, places: &[usize]) -> String {
    let all = &results.experiment().scenarios;
    let names: Vec<&str> = places.iter().map(|&s| all[s].name.as_str()).collect();
    names.join(", ")
}

/// Returns the words for the first figure of a ranking.
const fn title(by: Ranking) -> &'static str {
    match by {
        Ranking::BestPerformance => "best performance",
        Ranking::BestVolatility => "best volatility",
        Ranking::MeanPerformance => "mean performance",
        Ranking::WorstPoint => "worst point",
    }
}

/// Joins the names of the policies with a sign between neighbours: `=` for a tie, U+2248 for
/// policies that cannot be told apart, `>` otherwise.
fn inline_ranking(
    results: &StudyResults,
    analysis: &RiskAnalysis,
    ranked: &[RankedPolicy],
) -> String {
    let mut line = String::new();
    for (position, one) in ranked.iter().enumerate() {
        let policy = &analysis.policies()[one.policy];
        line.push_str(&policy_name(results.experiment(), policy));
        line.push_str(
            match (ranked.get(position + 1), one.indistinguishable_from_next) {
                (None, _) => "",
                (Some(next), _) if next.rank == one.rank => " = ",
                (Some(_), Some(true)) => " \u{2248} ",
                (Some(_), Some(false) | None) => " > ",
            },
        );
    }
    line
}

/// Builds one ranking with all the values that decide it, as in Tables III and IV of Yeo & Buyya
/// (2008).
fn details(
    results: &StudyResults,
    analysis: &RiskAnalysis,
    combination: &ObjectiveCombination,
    by: Ranking,
) -> Option<PageBlock> {
    let ranked = analysis.ranking(by, &combination.weights).ok()?;
    let rows = ranked.iter().map(|one| row(results, analysis, one, by));
    let mut head = vec![PageCell::number("rank"), PageCell::text("policy")];
    head.extend(by.figures().map(|figure| PageCell::number(figure.label())));
    head.push(PageCell::text("gradient"));
    head.push(PageCell::text("decided by one of"));
    head.push(PageCell::number("mean distance"));
    head.push(PageCell::text("next one"));
    let objectives = combination.describe();
    Some(PageBlock::Table(PageTable {
        caption: format!(
            "Ranking by {}: {objectives}. A gradient is decided by a scenario if it is another, or \
             none, without that scenario.",
            title(by)
        ),
        head,
        rows: rows.collect(),
    }))
}

fn row(
    results: &StudyResults,
    analysis: &RiskAnalysis,
    one: &RankedPolicy,
    by: Ranking,
) -> Vec<PageCell> {
    let profile = &one.profile;
    let figure = |figure: f64| PageCell::number(format!("{figure:.3}"));
    let mut row = vec![
        PageCell::number(one.rank.to_string()),
        PageCell::text(policy_name(
            results.experiment(),
            &analysis.policies()[one.policy],
        )),
    ];
    row.extend(by.figures().map(|metric| figure(metric.of(profile))));
    row.push(PageCell::text(profile.gradient.to_string()));
    row.push(PageCell::text(scenarios(results, &one.decisive_scenarios)));
    row.push(figure(profile.mean_distance));
    row.push(match one.indistinguishable_from_next {
        Some(true) => PageCell::of(CellRole::Unsure, "cannot be told apart"),
        Some(false) => PageCell::text("is worse"),
        None => PageCell::text(""),
    });
    row
}
