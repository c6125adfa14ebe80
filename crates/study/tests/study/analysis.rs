//! Risk analysis over made-up results.

use crate::common::{small, study};
use tollgate_model::Market;
use tollgate_risk::{Normalisation, Objective, Objectives, Ranking, Weights};
use tollgate_study::plan::PlannedRow;
use tollgate_study::{RiskAnalysis, RunMeasurements, RunPlan, Study, StudyResults};

fn results(study: &Study, sla: impl Fn(&PlannedRow) -> f64) -> StudyResults {
    let plan = RunPlan::of(study.experiment());
    let figures = plan.rows.iter().map(|row| {
        RunMeasurements::from(Objectives {
            sla_pct: sla(row),
            profitability_pct: Some(50.0),
            ..Objectives::of(&[], 1, Market::Bid)
        })
    });
    let figures = figures.collect();
    StudyResults::new(study.experiment().clone(), &plan, figures)
}

#[test]
fn points_are_means_over_seeds_normalised_within_each() {
    // Values are between 0 and 100 under seed 1, between 0 and 10 under seed 2; the scores are the
    // same.
    let scale = |row: &PlannedRow| if row.seed == 1 { 50.0 } else { 5.0 };
    let results = results(&small(), |row| scale(row) * (row.value * row.policy) as f64);
    let analysis = RiskAnalysis::of(&results, 0, 1, Normalisation::MinMax);
    let sla = Weights::equal(&[Objective::Sla]).unwrap();
    let points = analysis.points(1, &sla).unwrap();
    assert_eq!(points.len(), 2);
    for point in points {
        assert!((point.performance.mean - 0.5).abs() < 1e-12);
        assert!((point.volatility.mean - (1.0f64 / 6.0).sqrt()).abs() < 1e-12);
        let range = point.performance.interval.unwrap();
        assert!(range.high - range.low < 1e-12);
    }
    let percent = RiskAnalysis::of(&results, 0, 1, Normalisation::Percent);
    let point = percent.points(1, &sla).unwrap()[0];
    assert!((point.performance.mean - (0.5 + 0.05) / 2.0).abs() < 1e-12);
}

#[test]
fn neighbours_that_differ_by_chance_are_indistinguishable() {
    let sla = Weights::equal(&[Objective::Sla]).unwrap();
    let ranking = |lead: fn(&PlannedRow) -> f64| {
        let results = results(&small(), lead);
        let analysis = RiskAnalysis::of(&results, 0, 1, Normalisation::Percent);
        analysis.ranking(Ranking::BestPerformance, &sla).unwrap()
    };
    let clear = ranking(|row| 50.0 + row.policy as f64);
    let names: Vec<usize> = clear.iter().map(|ranked| ranked.policy).collect();
    assert_eq!(names, [1, 0]);
    assert_eq!(clear[0].indistinguishable_from_next, Some(false));
    assert_eq!(clear[1].indistinguishable_from_next, None);
    let chance = ranking(|row| 50.0 + row.policy as f64 * [4.0, -3.0][row.seed as usize - 1]);
    assert_eq!(chance[0].indistinguishable_from_next, Some(true));
    assert_eq!(ranking(|_| 50.0)[0].indistinguishable_from_next, Some(true));
}

#[test]
fn without_a_market_there_is_no_profitability() {
    let free = study(
        &crate::common::SMALL
            .replace("name = \"commodity\"", "name = \"none\"")
            .replace("market = \"commodity\"", "market = \"none\""),
    );
    let plan = RunPlan::of(free.experiment());
    let nothing = RunMeasurements::from(Objectives::of(&[], 1, Market::None));
    let figures = vec![nothing; plan.rows.len()];
    let results = StudyResults::new(free.experiment().clone(), &plan, figures);
    let analysis = RiskAnalysis::of(&results, 0, 0, Normalisation::MinMax);
    let all = Weights::equal(&Objective::ALL).unwrap();
    assert!(analysis.points(0, &all).is_err());
    let sla = Weights::equal(&[Objective::Sla]).unwrap();
    assert_eq!(analysis.points(0, &sla).unwrap().len(), 2);
}
