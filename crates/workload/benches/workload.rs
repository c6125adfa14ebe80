//! Measures the time to generate a trace, and to turn a trace into arrivals.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tollgate_model::Market;
use tollgate_workload::rng::{StreamFamily, StreamPurpose};
use tollgate_workload::{Workload, WorkloadConfig, WorkloadGenerator};

fn main_benches(c: &mut Criterion) {
    c.bench_function("generate/5000", |b| {
        b.iter(|| black_box(WorkloadGenerator::default()).trace())
    });
    draws(c);
    arrivals(c);
}

fn draws(c: &mut Criterion) {
    let family = StreamFamily::new(1, StreamPurpose::Deadline);
    let mut job = 0;
    c.bench_function("draw/normal", |b| {
        b.iter(|| {
            job += 1;
            family.stream(black_box(job)).normal()
        });
    });
}

fn arrivals(c: &mut Criterion) {
    let trace = Arc::new(WorkloadGenerator::default().trace());
    let mut group = c.benchmark_group("arrivals");
    for market in Market::ALL {
        let run = Workload::new(trace.clone(), WorkloadConfig::default(), market)
            .expect("the defaults are valid");
        group.throughput(Throughput::Elements(run.len() as u64));
        group.bench_function(market.name(), |b| {
            b.iter(|| run.arrivals().map(black_box).count());
        });
    }
    group.finish();
}

criterion_group!(benches, main_benches);
criterion_main!(benches);
