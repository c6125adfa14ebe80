//! Benchmark: replays whose cost grows with the queue, or with the number of nodes.
//!
//! `cargo bench -p tollgate-sim --bench growth`. The page on performance has a table with what these
//! cost before and now, and the goals:
//!
//! - *conservative*: twenty times more work than the machine can do, so that the queue grows to most of
//!   the jobs. The goal is 10,000 jobs in 0.5 s; it is not reached.
//! - *wide*: jobs of 1 to 8,192 processors on 93,312 nodes, 30 % used. The goal is a decision whose cost
//!   does not grow with all nodes: 20,000 jobs in 3 s with libra and libra-risk, in 5 s with tail-risk. It
//!   is not reached: each task of a job is an event of its own.

use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tollgate_model::{Instant, JobSpec, Market, Sla, Span, UserId};
use tollgate_policies::builtin_registry;
use tollgate_sim::{ReplayConfig, replay};
use tollgate_workload::{JobArrival, Workload, WorkloadConfig, WorkloadGenerator};

/// The nodes of the wide machine, those of CEA Curie.
const WIDE_NODES: u32 = 93_312;

/// The widest job of the wide machine.
const WIDEST: f64 = 8192.0;

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
        let workload = Workload::new(Arc::new(generator.trace()), config, Market::None);
        let jobs: Vec<JobArrival> = workload.expect("a legal factor").arrivals().collect();
        measure(criterion, "growth", "conservative", &jobs, 128);
    }
}

/// Returns jobs whose widths are evenly distributed over the powers of two, and whose run times over the
/// powers of ten from a minute to a day. Estimates are two to four times too long, deadlines four times as
/// long as estimates.
fn wide_jobs(count: usize) -> Vec<JobArrival> {
    // A low-discrepancy sequence: the same jobs everywhere, without clusters.
    let drawn = |step: f64, job: usize| (step * job as f64).fract();
    let (mut submit, mut arrivals) = (Instant::ZERO, Vec::with_capacity(count));
    for job in 1..=count {
        let procs = WIDEST.powf(drawn(0.754_877_666, job)) as u32;
        let runtime_s = (60.0 * 1440_f64.powf(drawn(0.569_840_290, job))).round();
        let estimate = Span::from_secs_f64(runtime_s * (2.0 + 2.0 * drawn(0.618_033_989, job)));
        arrivals.push(JobArrival {
            spec: JobSpec {
                submit,
                estimate,
                procs,
                memory: 0,
                needs: Default::default(),
                user: UserId(0),
                sla: Sla {
                    deadline: Some(Span::from_micros(4 * estimate.as_micros())),
                    ..Sla::default()
                },
            },
            runtime: Span::from_secs_f64(runtime_s),
        });
        // 30 % of the nodes are used.
        submit += Span::from_secs_f64(f64::from(procs) * runtime_s / (0.3 * f64::from(WIDE_NODES)));
    }
    arrivals
}

fn wide(criterion: &mut Criterion) {
    for jobs in [1_000, 4_000].map(wide_jobs) {
        for policy in ["libra", "libra-risk", "tail-risk"] {
            measure(criterion, "wide", policy, &jobs, WIDE_NODES);
        }
    }
}

criterion_group!(benches, conservative, wide);
criterion_main!(benches);
