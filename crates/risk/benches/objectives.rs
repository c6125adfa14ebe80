//! Benchmark: the time to measure a million outcomes.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use tollgate_model::outcome::RunInterval;
use tollgate_model::{Credits, Decision, Instant, Market, Outcome, Reason, Span};
use tollgate_risk::Objectives;

const JOBS: usize = 1_000_000;

fn outcomes() -> Vec<Outcome> {
    let mut rng = Pcg64::seed_from_u64(1);
    (0..JOBS).map(|job| outcome(job, &mut rng)).collect()
}

/// Returns an outcome. A job arrives every 1,000 s; one in five is rejected, the others wait for at
/// most a day.
fn outcome(job: usize, rng: &mut Pcg64) -> Outcome {
    let submit = Instant::from_secs(job as i64 * 1_000);
    let runtime = Span::from_micros(rng.random_range(1_000_000..40_000_000_000));
    let start = submit + Span::from_micros(rng.random_range(0..86_400_000_000));
    let accepted = rng.random_ratio(4, 5);
    Outcome {
        unpredictable: false,
        submit,
        runtime,
        task_runtime: runtime,
        planned_run: runtime,
        procs: rng.random_range(1..=128),
        decision: if accepted {
            Decision::Accepted
        } else {
            Decision::Rejected(Reason::DeadlineUnreachable)
        },
        decided: start,
        ran: accepted.then(|| RunInterval {
            start,
            finish: start + runtime,
        }),
        due: Some(submit + Span::from_secs(60_000)),
        budget: Credits::from_f64(9_000.0),
        price: Credits::from_f64(8_000.0),
        utility: Credits::from_f64(7_000.5),
        killed: false,
    }
}

fn objectives(criterion: &mut Criterion) {
    let outcomes = outcomes();
    let mut group = criterion.benchmark_group("objectives");
    group.throughput(Throughput::Elements(JOBS as u64));
    group.sample_size(20);
    group.bench_function("a million outcomes", |bencher| {
        bencher.iter(|| Objectives::of(black_box(&outcomes), 128, Market::Bid));
    });
    group.finish();
}

criterion_group!(benches, objectives);
criterion_main!(benches);
