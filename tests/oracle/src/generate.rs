//! Strategies for small adversarial cases: everything ties, nothing fits, every estimate is wrong.

use proptest::collection::vec;
use proptest::prelude::*;
use tollgate_model::{Credits, CreditsPerSecond, Instant, JobSpec, Sla, Span, UserId};

use crate::OracleJob;

/// Jobs for a small cluster.
#[derive(Clone, Debug)]
pub struct OracleCase {
    /// Number of nodes of the cluster.
    pub nodes: u32,
    /// At least one job; job order is the order of submission.
    pub jobs: Vec<OracleJob>,
}

/// Generates cases of up to `most_jobs` jobs (at least 1) in whole seconds on few nodes: events,
/// deadlines, shares and prices tie often.
pub fn tied(most_jobs: usize) -> impl Strategy<Value = OracleCase> {
    cases(most_jobs, whole_job())
}

/// Generates cases of up to `most_jobs` jobs (at least 1) with random fractions of a second: almost
/// nothing ties.
pub fn fractional(most_jobs: usize) -> impl Strategy<Value = OracleCase> {
    cases(most_jobs, fractional_job())
}

/// Generates cases of either kind.
pub fn any_case(most_jobs: usize) -> impl Strategy<Value = OracleCase> {
    prop_oneof![tied(most_jobs).boxed(), fractional(most_jobs).boxed()]
}

/// Returns the same case with every estimate exact.
pub fn with_exact_estimates(mut case: OracleCase) -> OracleCase {
    for job in &mut case.jobs {
        job.spec.estimate = job.runtime;
    }
    case
}

/// Returns the same case with no job past its estimate.
pub fn with_safe_estimates(mut case: OracleCase) -> OracleCase {
    for job in &mut case.jobs {
        job.spec.estimate = job.spec.estimate.max(job.runtime);
    }
    case
}

fn cases(
    most_jobs: usize,
    job: impl Strategy<Value = OracleJob>,
) -> impl Strategy<Value = OracleCase> {
    (1u32..6, vec(job, 1..=most_jobs)).prop_map(|(nodes, mut jobs)| {
        jobs.sort_by_key(|job| job.spec.submit);
        OracleCase { nodes, jobs }
    })
}

fn whole_job() -> impl Strategy<Value = OracleJob> {
    let times = (0i64..30, 1i64..13)
        .prop_flat_map(|(submit, runtime)| (Just(submit), Just(runtime), whole_estimate(runtime)))
        .prop_flat_map(|(submit, runtime, estimate)| {
            let deadline = whole_deadline(runtime, estimate);
            (Just(submit), Just(runtime), Just(estimate), deadline)
        });
    times.prop_flat_map(|(submit, runtime, estimate, deadline)| {
        let bid = near_a_price(estimate as f64, deadline as f64);
        let penalty = prop::sample::select(vec![0.0, 0.0, 0.5, 1.0, 1.0, 2.0, 8.0]);
        (1u32..4, bid, penalty).prop_map(move |(procs, bid, penalty)| OracleJob {
            spec: JobSpec {
                restarts: 0,
                submit: Instant::from_secs(submit),
                estimate: Span::from_secs(estimate),
                procs,
                memory: 0,
                needs: Default::default(),
                user: UserId(0),
                sla: sla(Span::from_secs(deadline), bid, penalty),
            },
            runtime: Span::from_secs(runtime),
        })
    })
}

fn whole_estimate(runtime: i64) -> impl Strategy<Value = i64> {
    prop_oneof![
        3 => Just(runtime),
        2 => Just((runtime / 2).max(1)),
        2 => Just(runtime * 2),
        2 => 1i64..20,
        1 => Just(runtime + 40),
    ]
}

fn whole_deadline(runtime: i64, estimate: i64) -> impl Strategy<Value = i64> {
    prop_oneof![
        2 => Just(estimate),
        2 => Just(runtime),
        2 => Just(estimate * 2),
        3 => 1i64..60,
        1 => Just(30),
    ]
}

/// Generates a budget at, just above or just below one of the specification's prices, or far off.
fn near_a_price(estimate: f64, deadline: f64) -> impl Strategy<Value = f64> {
    let with_incentive = estimate + estimate / deadline;
    prop::sample::select(vec![
        estimate,
        estimate - 0.5,
        with_incentive,
        with_incentive - 0.000_001,
        estimate * 1.3,
        estimate * 1.6,
        estimate * 25.0,
        estimate * 200.0,
    ])
}

fn fractional_job() -> impl Strategy<Value = OracleJob> {
    let micros = (0..30_000_000i64, 500_000..15_000_000i64);
    let factors = (0.3..3.0f64, 0.8..8.0f64, 0.5..60.0f64);
    let request = (1u32..4, 0.0..9.0f64);
    (micros, factors, request).prop_map(|((submit, runtime), (guess, slack, value), request)| {
        let (procs, penalty) = request;
        let runtime = Span::from_micros(runtime);
        let times_runtime = |factor: f64| Span::from_secs_f64(runtime.as_secs_f64() * factor);
        let bid = runtime.as_secs_f64() * value;
        OracleJob {
            spec: JobSpec {
                restarts: 0,
                submit: Instant::from_micros(submit),
                estimate: times_runtime(guess),
                procs,
                memory: 0,
                needs: Default::default(),
                user: UserId(0),
                sla: sla(times_runtime(slack), bid, penalty),
            },
            runtime,
        }
    })
}

fn sla(deadline: Span, bid: f64, penalty: f64) -> Sla {
    Sla {
        deadline: Some(deadline),
        budget: Some(Credits::from_f64(bid)),
        penalty: CreditsPerSecond::from_f64(penalty),
        ..Sla::default()
    }
}
