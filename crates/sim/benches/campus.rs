//! Benchmark: full-size years on the campus, and the construction of one.
//!
//! `cargo bench -p tollgate-sim --bench campus`.

use criterion::{Criterion, criterion_group, criterion_main};
use tollgate_sim::campus::{CampusConfig, CampusEnvironment, CampusPolicies, run_campus};

fn years(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("campus");
    group.sample_size(10);
    for (name, settings) in [
        ("simulation", CampusConfig::default()),
        ("history", CampusConfig::history()),
    ] {
        let draw = || CampusEnvironment::draw(&settings).expect("the defaults make sense");
        group.bench_function(format!("{name}/make"), |bencher| bencher.iter(draw));
        let campus = draw();
        for (retry, select) in [("x0", "c1"), ("n2:3", "c2"), ("d1:100,90h,3+n2", "c5")] {
            let policies = CampusPolicies {
                retry: retry.parse().expect("a retry policy"),
                select: select.parse().expect("a select policy"),
            };
            group.bench_function(format!("{name}/{retry}/{select}"), |bencher| {
                bencher.iter(|| run_campus(&campus, &policies));
            });
        }
    }
}

criterion_group!(benches, years);
criterion_main!(benches);
