//! Benchmark: the cost of a forecast, of an outcome and of a fit.
//!
//! `cargo bench -p tollgate-forest`.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use tollgate_forest::{ForestSettings, RegressionForest, TrainingRows};

/// Number of features, as for waits.
const FEATURES: usize = 28;
/// Number of rows of a fit.
const ROWS: usize = 10_000;

fn rows() -> TrainingRows {
    let mut random = Pcg64::seed_from_u64(1);
    let mut rows = TrainingRows::new(FEATURES, ROWS);
    for _ in 0..ROWS {
        let features: [f32; FEATURES] = std::array::from_fn(|_| random.random());
        let noise: f32 = random.random();
        rows.push(&features, 6.0 * features[0] + 3.0 * features[1] + noise);
    }
    rows
}

fn forest_benches(c: &mut Criterion) {
    let rows = rows();
    let settings = ForestSettings::default();
    let mut forest = RegressionForest::fit(&settings, &rows, 1).expect("rows");
    let size = postcard::to_stdvec(&forest).map_or(0, |bytes| bytes.len());
    println!("snapshot of the forest: {size} bytes");
    let features: Vec<Vec<f32>> = rows.iter().map(|(row, _)| row.to_vec()).collect();
    let mut features = features.into_iter().cycle();
    let mut next = move || features.next().expect("endless");
    let mut group = c.benchmark_group("forest");
    group.bench_function("forecast", |b| {
        b.iter_batched(
            &mut next,
            |row: Vec<f32>| forest.forecast(black_box(&row)).quantile(0.9),
            criterion::BatchSize::SmallInput,
        );
    });
    group.bench_function("learn", |b| {
        b.iter_batched(
            &mut next,
            |row: Vec<f32>| forest.learn(black_box(&row), 3.0),
            criterion::BatchSize::SmallInput,
        );
    });
    group.sample_size(10);
    group.bench_function("fit", |b| {
        b.iter(|| RegressionForest::fit(&settings, black_box(&rows), 1));
    });
    group.finish();
}

criterion_group!(benches, forest_benches);
criterion_main!(benches);
