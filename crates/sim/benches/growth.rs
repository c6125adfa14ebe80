//! Benchmark: replays whose cost grows with the queue, or with the number of nodes.
//!
//! `cargo bench -p tollgate-sim --bench growth`. The page on performance has tables with what these
//! cost, and the goals:
//!
//! - *conservative*: twenty times more work than the machine can do, so that the queue grows to most of
//!   the jobs. The goal is 10,000 jobs in 0.5 s.
//! - *wide*: jobs of 1 to 8,192 processors on 93,312 nodes, 30 % used. The goal is a decision whose cost does
//!   not grow with all nodes: 20,000 jobs in 3 s with libra and libra-risk, in 5 s with tail-risk. It is
//!   reached. Nodes that hold equal tasks form groups, and a task of a job is an event once a group. `libra`
//!   and `libra-risk` still ask some 2,000 groups at each submission.

use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tollgate_model::Market;
use tollgate_policies::builtin_registry;
use tollgate_sim::{ReplayConfig, replay};
use tollgate_workload::{
    GeneratedMachine, JobArrival, Workload, WorkloadConfig, WorkloadGenerator,
};

/// The nodes of the wide machine, those of CEA Curie.
const WIDE_NODES: u32 = 93_312;

const WIDE_MACHINE: GeneratedMachine = GeneratedMachine::LogUniform {
    nodes: WIDE_NODES,
    max_width: 8192,
    load: 0.3,
};

fn measure(criterion: &mut Criterion, name: &str, policy: &str, jobs: &[JobArrival], nodes: u32) {
    let choice = builtin_registry().named(policy).expect("registered");
    let settings = ReplayConfig::new(nodes, Market::None);
    let mut group = criterion.benchmark_group(name);
    group.throughput(Throughput::Elements(jobs.len() as u64));
    group.sample_size(10);
    group.bench_function(BenchmarkId::new(policy, jobs.len()), |bencher| {
        bencher.iter(|| {
            let policy = choice.build(Market::None);
            replay(jobs.iter().copied(), policy, &settings).expect("nothing is checked")
        });
    });
}

fn arrivals(generator: &WorkloadGenerator, config: WorkloadConfig) -> Vec<JobArrival> {
    let workload = Workload::new(Arc::new(generator.trace()), config, Market::None);
    workload.expect("legal settings").arrivals().collect()
}

fn conservative(criterion: &mut Criterion) {
    for jobs in [2_500, 5_000, 10_000] {
        let generator = WorkloadGenerator {
            jobs,
            ..WorkloadGenerator::default()
        };
        let config = WorkloadConfig {
            arrival_factor: 0.1,
            ..WorkloadConfig::default()
        };
        let jobs = arrivals(&generator, config);
        measure(criterion, "growth", "conservative", &jobs, 128);
    }
}

fn wide(criterion: &mut Criterion) {
    for jobs in [1_000, 4_000] {
        let generator = WorkloadGenerator {
            jobs,
            machine: WIDE_MACHINE,
            ..WorkloadGenerator::default()
        };
        let jobs = arrivals(&generator, WorkloadConfig::default());
        for policy in ["libra", "libra-risk", "tail-risk"] {
            measure(criterion, "wide", policy, &jobs, WIDE_NODES);
        }
    }
}

criterion_group!(benches, conservative, wide);
criterion_main!(benches);
