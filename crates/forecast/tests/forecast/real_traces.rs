//! Promises over archived traces: a quantile must be kept as often as its level states, even when
//! feedback comes late.

use tollgate_forecast::baseline::BaselineMethod;
use tollgate_forecast::{
    BeliefModel, EvaluationConfig, Expert, FeedbackTiming, ForecastEvaluation, ForecastMethod,
    Forecaster, ScoredForecast, evaluate,
};
use tollgate_model::distribution::LEVELS;

use crate::archive;

/// The indices of the levels 0.90 and 0.95.
const PROMISED: [usize; 2] = [9, 10];
/// Minimum number of jobs of a class whose coverage is checked separately.
const MIN_JOBS: usize = 160;
const TRACE: &str = "SDSC-SP2-1998-4.2-cln.swf.gz";

fn evaluation(timing: FeedbackTiming) -> Option<ForecastEvaluation> {
    let config = EvaluationConfig {
        timing,
        min_jobs: MIN_JOBS,
    };
    let records = archive::records(TRACE)?;
    Some(evaluate(
        Forecaster::default(),
        BeliefModel::default(),
        &records,
        config,
        |_| 0,
        &mut (),
    ))
}

/// One test of all that one evaluation shows: it takes long.
#[test]
fn promises_over_sdsc_sp2_are_kept_and_forecasts_beat_the_baselines() {
    let Some(evaluation) = evaluation(FeedbackTiming::Causal) else {
        return;
    };
    promises_are_kept(&evaluation);
    forecasts_beat_the_baselines(&evaluation, 42.0);
}

#[test]
fn forecasts_over_sdsc_sp2_beat_the_baselines_where_each_run_is_known_at_once() {
    if let Some(evaluation) = evaluation(FeedbackTiming::OneStep) {
        forecasts_beat_the_baselines(&evaluation, 27.0);
    }
}

fn promises_are_kept(evaluation: &ForecastEvaluation) {
    for stated in evaluation.aggregate.levels.iter().zip(LEVELS) {
        let (coverage, nominal) = (stated.0.coverage().unwrap(), stated.1.as_f64());
        assert!((coverage - nominal).abs() <= 0.02, "{nominal}: {coverage}");
    }
    let held = evaluation.class_forecast.levels;
    // What is stated is better than the forecast of the class.
    for level in PROMISED {
        let [stated, class] = [evaluation.aggregate.levels, held].map(|of| of[level].pinball());
        let ratio = stated.unwrap() / class.unwrap();
        println!("pinball: {ratio:.3} of that of the class");
        assert!(ratio < 0.92, "{ratio}");
    }
    for level in PROMISED {
        let (nominal, coverage) = (LEVELS[level].as_f64(), held[level].coverage().unwrap());
        let within = evaluation
            .classes_within(ScoredForecast::Classes, level, 0.04)
            .unwrap();
        println!(
            "{nominal}: kept {coverage:.4}, ratio {:.2}, {within:.2} of the classes",
            held[level].bound_ratio().unwrap()
        );
        assert!((coverage - nominal).abs() <= 0.01, "{nominal}: {coverage}");
        assert!(within >= 0.9, "{nominal}: {within}");
    }
    assert!(held[9].bound_ratio().unwrap() <= 2.2);
    assert!(held[10].bound_ratio().unwrap() <= 2.9);
}

/// Checks the score of the class forecast, whose median absolute error is at most `most_mdape` percent, beside the others'.
fn forecasts_beat_the_baselines(evaluation: &ForecastEvaluation, most_mdape: f64) {
    let together = evaluation.class_forecast.score;
    println!("{together:?}");
    assert!(together.mdape_pct.unwrap() <= most_mdape);
    for method in [
        ForecastMethod::Expert(Expert::Last),
        ForecastMethod::Baseline(BaselineMethod::Tsafrir),
    ] {
        let better = evaluation
            .classes_better_than(ScoredForecast::Classes, method)
            .unwrap();
        println!("better than {} in {better:.2} of the classes", method.key());
        assert!(better >= 0.85, "{}: {better}", method.key());
        let alone = evaluation.method(method).score;
        assert!(together.mdape_pct < alone.mdape_pct, "{}", method.key());
        assert!(together.mean_abs_ln < alone.mean_abs_ln, "{}", method.key());
    }
}
