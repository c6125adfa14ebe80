//! Risk analysis plots, and the rankings that follow from them.

use tollgate_risk::{Objective, Ranking, Weights};
use tollgate_study::analysis::Ranked;
use tollgate_study::experiment::RiskPlot as Planned;
use tollgate_study::results::At;
use tollgate_study::{Analysis, Results};

use super::{Looks, measure, place};
use crate::axis::Extent;
use crate::page::{Block, Cell, Figure, Role, Section, Table};
use crate::risk_plot::{RiskPlot, RiskPoint, RiskSeries};

/// A combination of objectives that is to be plotted and ranked.
struct Combination {
    name: String,
    title: String,
    objectives: Vec<Objective>,
    weights: Weights,
}

/// A section a market and set.
pub(super) fn sections(
    results: &Results,
    looks: &Looks,
    weights: Option<&Weights>,
) -> Vec<Section> {
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
    results: &Results,
    looks: &Looks,
    (market, set): (usize, usize),
    mut combinations: Vec<Combination>,
) -> Option<Section> {
    let experiment = results.experiment();
    let analysis = Analysis::of(results, set, market, experiment.normalisation.0);
    // An objective that has a weight may mean nothing in this market.
    combinations.retain(|combination| analysis.points(0, &combination.weights).is_ok());
    if combinations.is_empty() {
        return None;
    }
    let extent = common_extent(&analysis, &combinations);
    let figures = combinations.iter().map(|combination| {
        let plot = combination.plot(results, &analysis, looks, extent);
        Figure::new(&combination.name, plot.to_svg())
    });
    let mut blocks = vec![
        Block::Text {
            text: format!(
                "Each mark is one scenario: performance is the mean, volatility the standard \
                 deviation of the normalised results ({}) as the setting varies. The best corner \
                 is the upper left one.",
                analysis.normalisation()
            ),
        },
        Block::Figures {
            figures: figures.collect(),
        },
        Block::Table(orders(&analysis, &combinations)),
    ];
    let widest = combinations
        .iter()
        .rev()
        .max_by_key(|combination| combination.objectives.len());
    for ranking in Ranking::ALL {
        blocks.extend(widest.and_then(|widest| details(&analysis, widest, ranking)));
    }
    let title = experiment.sets[set].title.as_str();
    let parts = [&place(experiment, set, market), title];
    let words: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let heading = if words.is_empty() {
        "Risk analysis".to_owned()
    } else {
        format!("Risk analysis: {}", words.join(", "))
    };
    Some(Section { heading, blocks })
}

/// The combinations that the experiment lists for a market and set; if it lists none for any,
/// each objective that was measured, and all of them.
fn combinations(results: &Results, market: usize, set: usize) -> Vec<Combination> {
    let experiment = results.experiment();
    if experiment.risk_plots.is_empty() {
        return every(results, market, set);
    }
    let here = |plot: &&Planned| {
        let named = experiment.market(plot.market).map(|market| market.name);
        plot.set == experiment.sets[set].name && named == Some(experiment.markets[market].name)
    };
    let plots = experiment.risk_plots.iter().filter(here);
    plots
        .filter_map(|plot| {
            let objectives: Vec<Objective> = plot.objectives.iter().map(|word| word.0).collect();
            Combination::new(plot.id.clone(), plot.title.clone(), objectives)
        })
        .collect()
}

fn every(results: &Results, market: usize, set: usize) -> Vec<Combination> {
    let measured: Vec<Objective> = Objective::ALL
        .into_iter()
        .filter(|&objective| {
            let rows = results.rows().iter();
            let mut here = rows.filter(|row| {
                let At {
                    set: s, market: m, ..
                } = row.planned.at();
                (s, m) == (set, market)
            });
            here.any(|row| row.figures.objective(objective).is_some())
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
            Combination::new(name, measure::objectives(&objectives), objectives)
        })
        .collect()
}

/// The objectives as the reader weighs them.
fn weighted(results: &Results, market: usize, set: usize, weights: &Weights) -> Combination {
    Combination {
        name: format!("{}-weighted", prefix(results, market, set)),
        title: format!("Weighted: {weights}"),
        objectives: weights.iter().map(|(objective, _)| objective).collect(),
        weights: weights.clone(),
    }
}

/// How the names of pictures of a market and set begin.
fn prefix(results: &Results, market: usize, set: usize) -> String {
    let experiment = results.experiment();
    format!(
        "risk-{}-{}",
        experiment.markets[market].name, experiment.sets[set].name
    )
}

/// Plots of one market and set have the same axes, so that they can be compared.
fn common_extent(analysis: &Analysis, combinations: &[Combination]) -> Extent {
    let points = combinations.iter().flat_map(|combination| {
        let policies = 0..analysis.policies().len();
        policies.flat_map(|policy| combination.points(analysis, policy))
    });
    let most = points.map(|point| point.1.volatility).fold(0.1, f64::max);
    Extent::AtLeast {
        low: 0.0,
        high: most,
    }
}

impl Combination {
    /// None if an objective is named twice, which checked experiments never do.
    fn new(name: String, title: String, objectives: Vec<Objective>) -> Option<Self> {
        let weights = Weights::equal(&objectives).ok()?;
        Some(Self {
            name,
            title,
            objectives,
            weights,
        })
    }

    /// What it combines, with the weights unless all count the same.
    fn words(&self) -> String {
        let equal = Weights::equal(&self.objectives);
        if equal.as_ref() == Ok(&self.weights) {
            measure::objectives(&self.objectives)
        } else {
            self.weights.to_string()
        }
    }

    /// The points of a policy by scenario; none if an objective was not measured.
    fn points(&self, analysis: &Analysis, policy: usize) -> Vec<(usize, tollgate_risk::Risk)> {
        let points = analysis.points(policy, &self.weights).unwrap_or_default();
        let means = points.iter().map(|point| point.mean());
        analysis.scenarios().iter().copied().zip(means).collect()
    }

    fn plot(
        &self,
        results: &Results,
        analysis: &Analysis,
        looks: &Looks,
        extent: Extent,
    ) -> RiskPlot {
        let scenarios = &results.experiment().scenarios;
        let policies = analysis.policies().iter().enumerate();
        let series = policies.map(|(policy, name)| RiskSeries {
            name: name.clone(),
            look: looks.look(name),
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
            title: self.title.clone(),
            volatility: extent,
            series: series.collect(),
        }
    }
}

/// Both rankings of every combination, a line each.
fn orders(analysis: &Analysis, combinations: &[Combination]) -> Table {
    let rows = combinations.iter().map(|combination| {
        let order = |by| {
            let ranked = analysis.ranking(by, &combination.weights);
            Cell::words(
                ranked.map_or_else(|_| String::new(), |ranked| in_a_line(analysis, &ranked)),
            )
        };
        vec![
            Cell::words(combination.words()),
            order(Ranking::BestPerformance),
            order(Ranking::BestVolatility),
        ]
    });
    Table {
        caption: "Rankings, the best first. Policies with \u{2248} between them cannot be told \
                  apart at 95 %; those with = tie."
            .to_owned(),
        head: ["objectives", "by best performance", "by best volatility"]
            .map(Cell::words)
            .to_vec(),
        rows: rows.collect(),
    }
}

/// Policies with a sign between neighbours: `=` for a tie, U+2248 where they cannot be told
/// apart, `>` otherwise.
fn in_a_line(analysis: &Analysis, ranked: &[Ranked]) -> String {
    let mut line = String::new();
    for (position, one) in ranked.iter().enumerate() {
        line.push_str(&analysis.policies()[one.policy]);
        line.push_str(match (ranked.get(position + 1), one.like_next) {
            (None, _) => "",
            (Some(next), _) if next.rank == one.rank => " = ",
            (Some(_), Some(true)) => " \u{2248} ",
            (Some(_), Some(false) | None) => " > ",
        });
    }
    line
}

/// One ranking with all figures that it goes by, as in Tables III and IV of Yeo & Buyya (2008).
fn details(analysis: &Analysis, combination: &Combination, by: Ranking) -> Option<Block> {
    let ranked = analysis.ranking(by, &combination.weights).ok()?;
    let rows = ranked.iter().map(|one| row(analysis, one, by));
    let first = match by {
        Ranking::BestPerformance => "performance",
        Ranking::BestVolatility => "volatility",
    };
    let mut head = vec![Cell::number("rank"), Cell::words("policy")];
    head.extend(by_weight(by, HEADS).map(Cell::number));
    head.push(Cell::words("gradient"));
    head.push(Cell::number("mean distance"));
    head.push(Cell::words("next one"));
    let objectives = combination.words();
    Some(Block::Table(Table {
        caption: format!("Ranking by best {first}: {objectives}"),
        head,
        rows: rows.collect(),
    }))
}

/// The heads of the figures in the order of Table III.
const HEADS: [&str; 4] = [
    "max. performance",
    "min. volatility",
    "performance difference",
    "volatility difference",
];

/// Four figures given in the order of Table III, in the order in which a ranking weighs them.
fn by_weight<T>(by: Ranking, [a, b, c, d]: [T; 4]) -> [T; 4] {
    match by {
        Ranking::BestPerformance => [a, b, c, d],
        Ranking::BestVolatility => [b, a, d, c],
    }
}

fn row(analysis: &Analysis, one: &Ranked, by: Ranking) -> Vec<Cell> {
    let profile = &one.profile;
    let figures = [
        profile.max_performance,
        profile.min_volatility,
        profile.performance_difference(),
        profile.volatility_difference(),
    ];
    let figure = |figure: f64| Cell::number(format!("{figure:.3}"));
    let mut row = vec![
        Cell::number(one.rank.to_string()),
        Cell::words(&analysis.policies()[one.policy]),
    ];
    row.extend(by_weight(by, figures).map(figure));
    row.push(Cell::words(profile.gradient.to_string()));
    row.push(figure(profile.mean_distance));
    row.push(match one.like_next {
        Some(true) => Cell::of(Role::Unsure, "cannot be told apart"),
        Some(false) => Cell::words("is worse"),
        None => Cell::words(""),
    });
    row
}
