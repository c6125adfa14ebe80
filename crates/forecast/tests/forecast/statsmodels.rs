//! Comparison of models and smoothers with statsmodels; `fixtures/make.py` computes the figures.

use tollgate_forecast::expert::{ArmaModel, ArmaOrder};
use tollgate_forecast::lowess;

/// Returns the two settings, the series and the expected values of each line.
fn cases(csv: &str) -> impl Iterator<Item = ([f64; 2], Vec<f64>, Vec<f64>)> {
    let lines = csv.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| {
        let (given, expected) = line.split_once(",expected,").expect("both parts");
        let numbers = |text: &str| -> Vec<f64> {
            text.split(',')
                .map(|x| x.parse().expect("a number"))
                .collect()
        };
        let given = numbers(given);
        ([given[0], given[1]], given[2..].to_vec(), numbers(expected))
    })
}

fn assert_near(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        let scale = expected.abs().max(1.0);
        assert!(
            (found - expected).abs() <= tolerance * scale,
            "{found} is not {expected}"
        );
    }
}

#[test]
fn hannan_rissanen_agrees() {
    for ([p, q], series, expected) in cases(include_str!("../fixtures/arma.csv")) {
        let (ar, ma) = (p as usize, q as usize);
        let model = ArmaModel::fit(&series, ArmaOrder { ar, ma }).expect("a model");
        let ahead = model.forecast(&series).expect("a forecast");
        let found = [model.ar(), model.ma(), &[ahead]].concat();
        assert_near(&found, &expected, 1e-8);
    }
}

#[test]
fn lowess_agrees() {
    for ([fraction, rounds], series, expected) in cases(include_str!("../fixtures/lowess.csv")) {
        let smooth = lowess(&series, fraction, rounds as usize);
        assert_near(&smooth, &expected, 1e-8);
    }
}

#[test]
fn a_constant_series_has_no_model() {
    let order = ArmaOrder { ar: 1, ma: 1 };
    assert_eq!(ArmaModel::fit(&[5.0; 100], order), None);
    assert_eq!(ArmaModel::fit(&[5.0, 6.0], order), None);
    assert_eq!(lowess(&[], 0.5, 3), Vec::<f64>::new());
    assert_eq!(lowess(&[5.0], 0.5, 3), [5.0]);
}

#[test]
fn integrated_models_agree() {
    for ([p, q], series, expected) in cases(include_str!("../fixtures/arima.csv")) {
        let (ar, ma) = (p as usize, q as usize);
        let model = ArmaModel::fit_differences(&series, ArmaOrder { ar, ma }).expect("a model");
        let ahead = model.forecast_integrated(&series).expect("a forecast");
        assert_near(&[ahead], &expected, 1e-8);
    }
}
