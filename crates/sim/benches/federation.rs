//! Benchmark of the federation world: a hundred runs of 600 ticks, without moves and with the
//! paper's policy. The paper's experiment is ten times as many.

use criterion::{Criterion, criterion_group, criterion_main};
use rand_pcg::rand_core::SeedableRng;
use rand_pcg::{Pcg64, Pcg64Mcg};
use tollgate_sim::federation::{
    FederationConfig, FederationEnvironment, FederationStreams, MigrationDecider, run,
};

fn federation(criterion: &mut Criterion) {
    let setup = FederationConfig::default();
    let environments: Vec<FederationEnvironment> = (0..100)
        .map(|seed| FederationEnvironment::draw(&setup, &mut Pcg64::seed_from_u64(seed)))
        .collect();
    let streams = FederationStreams {
        dispatch: Pcg64Mcg::seed_from_u64(1),
        network: Pcg64Mcg::seed_from_u64(2),
    };
    let mut group = criterion.benchmark_group("federation");
    group.sample_size(10);
    for name in ["none", "paper", "marginal"] {
        let decider = MigrationDecider::parse(name).expect("a name from the list");
        group.bench_function(format!("100 runs, {name}"), |bencher| {
            bencher.iter(|| {
                let outcomes = environments.iter().map(|environment| {
                    run(&setup, environment, &decider, streams.clone()).user_jobs
                });
                outcomes.sum::<f64>()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, federation);
criterion_main!(benches);
