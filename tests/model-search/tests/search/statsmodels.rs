//! Comparison of models with statsmodels; `fixtures/make.py` of `crates/forecast/tests` computes the figures.

use tollgate_model_search::{AutoArima, AutoEts, EtsForm, EtsModel, kpss};

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
fn exponential_smoothing_and_its_constants_agree() {
    for ([trend, damped], series, expected) in cases(include_str!("../../fixtures/ets.csv")) {
        let [alpha, beta, phi, level, slope, squares, ahead] = expected[..] else {
            panic!("seven values");
        };
        let model = EtsModel {
            alpha,
            beta,
            phi,
            level,
            trend: slope,
        };
        let (found, states) = model.smooth(&series);
        assert_near(
            &[found, model.forecast_next(states)],
            &[squares, ahead],
            1e-8,
        );
        let form = match (trend as u8, damped as u8) {
            (0, _) => EtsForm::Level,
            (_, 0) => EtsForm::Trend,
            (_, _) => EtsForm::Damped,
        };
        let ours = EtsModel::fit(&series, form).expect("a model");
        let (found, _) = ours.smooth(&series);
        assert!(
            found <= 1.005 * squares,
            "{form:?}: {found}, there {squares}"
        );
    }
}

#[test]
fn the_unit_root_test_agrees() {
    for (_, series, expected) in cases(include_str!("../../fixtures/kpss.csv")) {
        assert_near(&[kpss(&series)], &expected, 1e-8);
    }
}

#[test]
fn selected_models_suit_the_series() {
    let flat: Vec<f64> = (0..100).map(|job| f64::from(job * 7919 % 11)).collect();
    let level = AutoEts::choose(&flat).expect("a model").model().trend;
    assert_eq!(level, 0.0);
    let rising: Vec<f64> = flat
        .iter()
        .enumerate()
        .map(|(job, noise)| job as f64 + 0.1 * noise)
        .collect();
    let ahead = AutoEts::choose(&rising).expect("a model").forecast();
    assert!((ahead - 100.5).abs() < 1.0, "{ahead}");
    let model = AutoArima::choose(&rising).expect("a model");
    let ahead = model.forecast(&rising).expect("a forecast");
    assert!((ahead - 100.5).abs() < 1.5, "{ahead}");
    assert_eq!(AutoEts::choose(&[1.0; 9]), None);
    assert_eq!(AutoArima::choose(&[1.0; 40]), None);
}
