//! The forest forecasts as the slow reference does.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use tollgate_forest::{ForestSettings, RegressionForest, TrainingRows};

use crate::reference::{PlainForest, PlainRow};

const LEVELS: [f64; 5] = [0.051, 0.101, 0.501, 0.901, 0.951];

/// Draws rows with a constant feature, a feature of few values and a noisy outcome. Outcomes are multiples of 2⁻¹²,
/// which fixed point represents exactly.
fn draw(random: &mut Pcg64, n_rows: usize) -> Vec<PlainRow> {
    let row = |random: &mut Pcg64| {
        let few = f32::from(random.random_range(0..3_u8));
        let features = vec![random.random(), few, 7.0, random.random::<f32>().ln_1p()];
        let outcome = 4.0 * features[0] + few + random.random::<f32>();
        (features, (outcome * 4_096.0).floor() / 4_096.0)
    };
    (0..n_rows).map(|_| row(random)).collect()
}

#[test]
fn forest_forecasts_as_the_reference() {
    for seed in 0..20 {
        let mut random = Pcg64::seed_from_u64(seed);
        let settings = ForestSettings {
            n_trees: 7,
            tried_features: 0.6,
            min_rows: 1 + (seed % 5) as u16,
        };
        let n_rows = 20 + 15 * seed as usize;
        let first = draw(&mut random, n_rows);
        let mut rows = TrainingRows::new(4, n_rows);
        first.iter().for_each(|row| rows.push(&row.0, row.1));
        let mut forest = RegressionForest::fit(&settings, &rows, seed).expect("rows");
        let mut plain = PlainForest::fit(&settings, &first, seed);
        for row in draw(&mut random, 200) {
            let forecast = forest.forecast(&row.0);
            for level in LEVELS {
                let bin = plain.quantile_bin(&row.0, level) as f64;
                let quantile = forecast.quantile(level) * 12.0;
                assert!(
                    bin - 1e-6 <= quantile && quantile <= bin + 1.0 + 1e-6,
                    "seed {seed}, level {level}: {quantile} of bin {bin}"
                );
            }
            forest.learn(&row.0, row.1);
            plain.learn(&row);
        }
    }
}
