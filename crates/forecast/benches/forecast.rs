//! Benchmark: the cost of a forecast, of an update, of judging, and of an evaluation.
//!
//! `cargo bench -p tollgate-forecast`.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, LogNormal};
use rand_pcg::Pcg64;
use tollgate_forecast::{
    BeliefJob, BeliefModel, ClassId, CompletedJob, EvaluationConfig, FeedbackTiming, ForecastJob,
    Forecaster, OnlineForecaster, evaluate, learn_beliefs,
};
use tollgate_model::{Instant, Span, UserId};

/// Jobs of a site: enough for every class to be well known.
const JOBS: usize = 20_000;
/// Number of users.
const CLASSES: u32 = 50;

fn main_benches(c: &mut Criterion) {
    let mut group = c.benchmark_group("forecast");
    for (name, noise) in [("steady", 0.2), ("noisy", 1.5)] {
        let records = site(noise);
        let mut known = Forecaster::default();
        for record in &records {
            known.learn_without_forecast(record).expect("it ran");
        }
        group.throughput(Throughput::Elements(1));
        group.bench_function(format!("forecast_and_learn/{name}"), |b| {
            let mut forecaster = known.clone();
            let mut jobs = records.iter().cycle();
            b.iter(|| {
                let record = jobs.next().expect("endless");
                let forecast = forecaster.forecast(black_box(&record.job));
                forecaster.learn(record, &forecast).expect("it ran")
            });
        });
    }
    group.finish();
    records_benches(c, &site(0.2));
    belief_benches(c, &site(0.2));
}

/// Beliefs by batches: one statement, and all events of a site.
fn belief_benches(c: &mut Criterion, records: &[CompletedJob]) {
    let jobs: Vec<(BeliefJob, CompletedJob)> = records
        .iter()
        .map(|record| {
            (
                BeliefJob::new(UserId(record.job.class.0), &record.job),
                *record,
            )
        })
        .collect();
    let mut known = BeliefModel::default();
    learn_beliefs(&mut known, &jobs);
    let now = records.last().expect("jobs").finish;
    let mut group = c.benchmark_group("beliefs");
    group.throughput(Throughput::Elements(1));
    group.bench_function("state", |b| {
        let mut jobs = jobs.iter().cycle();
        b.iter(|| known.belief(black_box(&jobs.next().expect("endless").0), now));
    });
    group.sample_size(10);
    group.throughput(Throughput::Elements(records.len() as u64));
    group.bench_function("learn", |b| {
        b.iter(|| {
            let mut model = BeliefModel::default();
            learn_beliefs(&mut model, &jobs);
            model
        });
    });
    group.finish();
}

/// Whole records: all forecasts, updates and judgements of a site, and their evaluation.
fn records_benches(c: &mut Criterion, records: &[CompletedJob]) {
    let mut group = c.benchmark_group("records");
    group.sample_size(10);
    group.throughput(Throughput::Elements(records.len() as u64));
    group.bench_function("learn", |b| {
        b.iter(|| {
            let mut online = OnlineForecaster::new(Forecaster::default(), FeedbackTiming::Causal);
            for record in records {
                online.submit(record, |_| {}).expect("it ran");
            }
            online.finish(|_| {})
        });
    });
    let config = EvaluationConfig {
        timing: FeedbackTiming::Causal,
        min_jobs: 160,
    };
    group.bench_function("evaluate", |b| {
        b.iter(|| {
            evaluate(
                Forecaster::default(),
                BeliefModel::default(),
                records,
                config,
                |_| 0,
                &mut (),
            )
        });
    });
    group.finish();
}

/// Builds a trace of users whose jobs change every few hundred jobs, with this noise of ln run
/// time.
fn site(noise: f64) -> Vec<CompletedJob> {
    let mut rng = Pcg64::seed_from_u64(2005);
    let around = LogNormal::new(0.0, noise).expect("a spread");
    let jobs = (0..JOBS).map(|idx| {
        let class = rng.random_range(0..CLASSES);
        let mode = f64::from(class) + (idx / 5000) as f64;
        let runtime = (4.0 + mode % 7.0).exp() * around.sample(&mut rng);
        let submit = Instant::from_secs(idx as i64 * 60);
        let runtime = Span::from_secs_f64(runtime.max(1.0));
        CompletedJob {
            job: ForecastJob {
                class: ClassId(class),
                procs: 1 << (class % 5),
                request: Some(Span::from_secs(36_000)),
                context: tollgate_forecast::JobAttributes::default(),
            },
            submit,
            finish: submit + runtime,
            runtime,
        }
    });
    jobs.collect()
}

criterion_group!(benches, main_benches);
criterion_main!(benches);
