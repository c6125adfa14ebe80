//! Benchmark: whole replays, from jobs in memory to outcomes in memory.
//!
//! `cargo bench -p tollgate-sim`. The embedded default workload always runs; `lublin_256`, copied
//! as the peers' figures need it, runs where `TOLLGATE_TRACES` names a directory that contains it.

use std::path::PathBuf;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tollgate_model::{Instant, Market, Span};
use tollgate_policies::builtin_registry;
use tollgate_policy::PolicySpec;
use tollgate_sim::{RecordLevel, ReplayConfig, TaskCoupling, replay};
use tollgate_trace::ReadOptions;
use tollgate_workload::{JobArrival, Workload, WorkloadGenerator};

fn run(choice: &PolicySpec, arrivals: &[JobArrival], nodes: u32, market: Market) {
    let settings = ReplayConfig {
        nodes,
        market,
        tasks: TaskCoupling::Independent,
        preemption_cost: Span::ZERO,
        record_level: RecordLevel::Outcomes,
        overrun: tollgate_sim::OverrunRule::Run,
        states_promises: false,
    };
    replay(arrivals.iter().copied(), choice.build(market), &settings).expect("nothing is checked");
}

/// Measures every policy on the embedded default workload, in the policy's first market.
fn default_workload(criterion: &mut Criterion) {
    let trace = Arc::new(WorkloadGenerator::default().trace());
    let mut group = criterion.benchmark_group("default");
    for choice in builtin_registry().policies() {
        let market = choice.markets()[0];
        let workload = Workload::new(trace.clone(), Default::default(), market).expect("defaults");
        let arrivals: Vec<JobArrival> = workload.arrivals().collect();
        group.throughput(Throughput::Elements(arrivals.len() as u64));
        group.sample_size(20);
        group.bench_function(choice.name(), |bencher| {
            bencher.iter(|| run(&choice, &arrivals, 128, market));
        });
    }
}

/// Measures EASY with exact estimates on copies that drain in between (1.2 times the span apart),
/// and on copies that follow each other at once, so that the queue grows.
fn easy_on_lublin(criterion: &mut Criterion) {
    let Some(folder) = std::env::var_os("TOLLGATE_TRACES").map(PathBuf::from) else {
        println!("lublin: skipped, TOLLGATE_TRACES is not set");
        return;
    };
    let path = folder.join("swf/lublin_256.swf.gz");
    let trace = tollgate_trace::open(&path, ReadOptions::default()).expect("the trace reads");
    let workload = Workload::new(Arc::new(trace), Default::default(), Market::None);
    let once: Vec<JobArrival> = workload.expect("defaults").arrivals().collect();
    let span = once[once.len() - 1].spec.submit.since(Instant::ZERO);
    let choice = builtin_registry().named("easy").expect("registered");
    let mut group = criterion.benchmark_group("easy-lublin");
    for (name, stretch) in [("drains", 1.2), ("overload", 1.0)] {
        for copies in [1, 10, 100] {
            let apart = Span::from_secs_f64(span.as_secs_f64() * stretch);
            let arrivals: Vec<JobArrival> = (0..copies)
                .flat_map(|copy| {
                    let shift = Span::from_micros(apart.as_micros() * copy);
                    once.iter().map(move |arrival| {
                        let mut arrival = *arrival;
                        arrival.spec.submit += shift;
                        arrival
                    })
                })
                .collect();
            group.throughput(Throughput::Elements(arrivals.len() as u64));
            group.sample_size(10);
            group.bench_with_input(
                BenchmarkId::new(name, arrivals.len()),
                &arrivals,
                |b, jobs| {
                    b.iter(|| run(&choice, jobs, 256, Market::None));
                },
            );
        }
    }
}

criterion_group!(benches, default_workload, easy_on_lublin);
criterion_main!(benches);
