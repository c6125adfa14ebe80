//! Properties of every forest.

use proptest::prelude::*;
use tollgate_forest::{ForestSettings, RegressionForest, TrainingRows};

const SETTINGS: ForestSettings = ForestSettings {
    n_trees: 5,
    tried_features: 0.6,
    min_rows: 2,
};

type PlainRow = ([f32; 3], f32);

fn any_rows() -> impl Strategy<Value = Vec<PlainRow>> {
    let feature = prop_oneof![
        Just(0.0_f32),
        -5.0_f32..5.0,
        Just(f32::NAN),
        Just(f32::INFINITY),
        Just(f32::MAX),
        Just(f32::MIN)
    ];
    let outcome = prop_oneof![Just(0.0_f32), 0.0_f32..20.0, Just(-1.0), Just(1e30)];
    prop::collection::vec((prop::array::uniform3(feature), outcome), 1..40)
}

fn window(rows: &[PlainRow]) -> TrainingRows {
    let mut window = TrainingRows::new(3, 40);
    rows.iter().for_each(|row| window.push(&row.0, row.1));
    window
}

fn fitted(rows: &[PlainRow], seed: u64) -> RegressionForest {
    RegressionForest::fit(&SETTINGS, &window(rows), seed).expect("rows")
}

fn bytes(value: &impl serde::Serialize) -> Vec<u8> {
    postcard::to_stdvec(value).expect("serialisable")
}

proptest! {
    #[test]
    fn snapshot_round_trip_gives_the_same_bytes(rows in any_rows(), seed: u64) {
        let forest = fitted(&rows, seed);
        let stored = bytes(&forest);
        let mut restored: RegressionForest = postcard::from_bytes(&stored).expect("whole");
        prop_assert_eq!(&bytes(&restored), &stored);
        let mut forest = forest;
        forest.learn(&rows[0].0, 3.0);
        restored.learn(&rows[0].0, 3.0);
        prop_assert_eq!(bytes(&restored), bytes(&forest));
        let window = window(&rows);
        let restored: TrainingRows = postcard::from_bytes(&bytes(&window)).expect("whole");
        prop_assert_eq!(bytes(&restored), bytes(&window));
    }

    #[test]
    fn same_rows_and_seed_give_the_same_bytes(rows in any_rows(), seed: u64) {
        prop_assert_eq!(bytes(&fitted(&rows, seed)), bytes(&fitted(&rows, seed)));
    }

    #[test]
    fn order_of_rows_changes_no_forecast(rows in any_rows(), seed: u64) {
        // As long as no leaf forgets an outcome.
        let mut reversed = rows.clone();
        reversed.reverse();
        let (forest, other) = (fitted(&rows, seed), fitted(&reversed, seed));
        for row in &rows {
            prop_assert_eq!(forest.forecast(&row.0), other.forecast(&row.0));
        }
    }

    #[test]
    fn quantiles_ascend_with_the_level(rows in any_rows(), seed: u64) {
        let forest = fitted(&rows, seed);
        for row in &rows {
            let mixture = forest.forecast(&row.0);
            let quantiles = [0.0, 0.05, 0.1, 0.5, 0.9, 0.95, 1.0].map(|p| mixture.quantile(p));
            prop_assert!(quantiles.is_sorted(), "{:?}", quantiles);
            prop_assert!(quantiles.iter().all(|z| (0.0..=43.0).contains(z)));
        }
    }

    #[test]
    fn contributions_lead_from_the_base_to_the_mean_of_the_leaves(
        outcomes in prop::collection::vec(0.0_f32..20.0, 2..40), seed: u64
    ) {
        let numbered = outcomes.iter().enumerate();
        let rows: Vec<PlainRow> = numbered.map(|(n, z)| ([n as f32, 0.0, 1.0], *z)).collect();
        let forest = fitted(&rows, seed);
        let mean = outcomes.iter().sum::<f32>() / outcomes.len() as f32;
        let explained = forest.explain(&rows[0].0, &window(&rows), 3);
        prop_assert!((explained.base - f64::from(mean)).abs() < 1e-2);
        prop_assert_eq!(&explained.contributions[1..], &[0.0, 0.0]);
        let forecast = explained.base + explained.contributions[0];
        prop_assert!((-1e-2..20.1).contains(&forecast));
        // The row itself is in each of its leaves.
        prop_assert_eq!(explained.nearest[0].nearness, 1.0);
        prop_assert!(explained.nearest.is_sorted_by(|a, b| a.nearness >= b.nearness));
    }

    #[test]
    fn damaged_snapshot_is_refused_or_forecasts(rows in any_rows(), at: prop::sample::Index, byte: u8) {
        let mut stored = bytes(&fitted(&rows, 1));
        let at = at.index(stored.len());
        stored[at] = byte;
        if let Ok(forest) = postcard::from_bytes::<RegressionForest>(&stored) {
            // A damaged number of features gives a forest of other rows.
            let is_whole = bytes(&forest)[0] == 3;
            if is_whole {
                let _ = forest.forecast(&rows[0].0).quantile(0.9);
            }
        }
    }
}
