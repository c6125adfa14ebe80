//! Risk analysis as tables.

use std::io::Write;

use tollgate_risk::{Objective, ProfileFigure, Ranking, Weights};

use crate::analysis::RiskAnalysis;
use crate::confidence::SeedMean;
use crate::results::{ResultsError, StudyResults};

/// Returns the sets of equally weighed objectives in the tables: each alone, all but one, and all.
fn combinations() -> Vec<Vec<Objective>> {
    let alone = Objective::ALL.iter().map(|&objective| vec![objective]);
    let without = |left_out: Objective| {
        let others = Objective::ALL.into_iter();
        others.filter(|&objective| objective != left_out).collect()
    };
    let but_one = Objective::ALL.into_iter().map(without);
    alone
        .chain(but_one)
        .chain([Objective::ALL.to_vec()])
        .collect()
}

/// Writes the points of the risk analysis plots: one row per set, market, combination of
/// objectives, policy and scenario. Markets without money have no profitability, so combinations
/// with it are skipped there.
pub(crate) fn risk(results: &StudyResults, out: impl Write) -> Result<(), ResultsError> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record([
        "set",
        "market",
        "normalisation",
        "objectives",
        "policy",
        "scenario",
        "performance",
        "performance_low",
        "performance_high",
        "performance_weeks_low",
        "performance_weeks_high",
        "volatility",
        "volatility_low",
        "volatility_high",
        "volatility_weeks_low",
        "volatility_weeks_high",
    ])?;
    let scenarios = &results.experiment().scenarios;
    for_each(results, |names, analysis, weights| {
        for (policy, word) in analysis.policies().iter().enumerate() {
            let Ok(points) = analysis.points(policy, weights) else {
                return Ok(());
            };
            for (point, scenario) in points.iter().zip(analysis.scenarios()) {
                let mut cells = names.to_vec();
                cells.extend([word.clone(), scenarios[*scenario].name.clone()]);
                cells.extend(numbers(&point.performance));
                cells.extend(numbers(&point.volatility));
                table.write_record(&cells)?;
            }
        }
        Ok(())
    })?;
    table.flush().map_err(csv::Error::from)?;
    Ok(())
}

/// Writes the rankings: one row per set, market, combination of objectives, choice of scenarios,
/// ranking and policy, the best first. The rows with the scenarios `all` are of every scenario,
/// those with `without-flat` of the scenarios that change the results of two policies or more. The
/// column `like_next` states whether a policy is indistinguishable from the next one.
pub(crate) fn rankings(results: &StudyResults, out: impl Write) -> Result<(), ResultsError> {
    let mut table = csv::Writer::from_writer(out);
    table.write_record([
        "set",
        "market",
        "normalisation",
        "objectives",
        "scenarios",
        "flat_scenarios",
        "ranking",
        "rank",
        "policy",
        "max_performance",
        "mean_performance",
        "min_performance",
        "min_volatility",
        "mean_volatility",
        "max_volatility",
        "performance_difference",
        "volatility_difference",
        "gradient",
        "decisive_scenarios",
        "mean_distance",
        "like_next",
    ])?;
    let scenarios = &results.experiment().scenarios;
    let joined = |places: &[usize]| {
        let names: Vec<&str> = places.iter().map(|&s| scenarios[s].name.as_str()).collect();
        names.join("+")
    };
    for_each(results, |names, analysis, weights| {
        let Ok(flat) = analysis.flat_scenarios(weights) else {
            return Ok(());
        };
        let without_flat = analysis.without(&flat);
        let choices = [
            ("all", Some(analysis)),
            ("without-flat", without_flat.as_ref()),
        ];
        for (choice, analysis) in choices {
            let Some(analysis) = analysis else { continue };
            for by in Ranking::ALL {
                let ranked = analysis
                    .ranking(by, weights)
                    .expect("the flat scenarios are known");
                for policy in ranked {
                    let profile = policy.profile;
                    let mut cells = names.to_vec();
                    cells.extend([
                        choice.to_owned(),
                        joined(&flat),
                        by.name().to_owned(),
                        policy.rank.to_string(),
                        analysis.policies()[policy.policy].clone(),
                    ]);
                    cells.extend(FIGURES.map(|figure| figure.of(&profile).to_string()));
                    cells.extend([
                        profile.gradient.to_string(),
                        joined(&policy.decisive_scenarios),
                        profile.mean_distance.to_string(),
                        policy
                            .indistinguishable_from_next
                            .map(|like| like.to_string())
                            .unwrap_or_default(),
                    ]);
                    table.write_record(&cells)?;
                }
            }
        }
        Ok(())
    })?;
    table.flush().map_err(csv::Error::from)?;
    Ok(())
}

/// The figures of a policy in the table of rankings, in the order of the columns.
const FIGURES: [ProfileFigure; 8] = [
    ProfileFigure::MaxPerformance,
    ProfileFigure::MeanPerformance,
    ProfileFigure::MinPerformance,
    ProfileFigure::MinVolatility,
    ProfileFigure::MeanVolatility,
    ProfileFigure::MaxVolatility,
    ProfileFigure::PerformanceDifference,
    ProfileFigure::VolatilityDifference,
];

/// Visits every set, market and combination of objectives, with the first cells of its rows.
fn for_each(
    results: &StudyResults,
    mut visit: impl FnMut(&[String], &RiskAnalysis, &Weights) -> Result<(), ResultsError>,
) -> Result<(), ResultsError> {
    let experiment = results.experiment();
    for (set, set_name) in experiment.sets.iter().map(|set| &set.name).enumerate() {
        for (market, plan) in experiment.markets.iter().enumerate() {
            let normalisation = experiment.normalisation;
            let analysis = RiskAnalysis::of(results, set, market, normalisation.0);
            for objectives in combinations() {
                let words: Vec<&str> = objectives.iter().map(|o| o.name()).collect();
                let names = [
                    set_name.clone(),
                    plan.name.to_string(),
                    normalisation.to_string(),
                    words.join("+"),
                ];
                let weights = Weights::equal(&objectives).expect("each objective once");
                visit(&names, &analysis, &weights)?;
            }
        }
    }
    Ok(())
}

/// Returns the cells of a mean, of its interval over seeds, and of that over weeks of the record.
fn numbers(estimate: &SeedMean) -> [String; 5] {
    let (interval, weeks) = (estimate.interval, estimate.by_weeks);
    let number = |number: Option<f64>| number.map(|n| n.to_string()).unwrap_or_default();
    [
        estimate.mean.to_string(),
        number(interval.map(|interval| interval.low)),
        number(interval.map(|interval| interval.high)),
        number(weeks.map(|interval| interval.low)),
        number(weeks.map(|interval| interval.high)),
    ]
}
