//! Small cases made to hurt: everything ties, nothing fits, every estimate is wrong.

use proptest::collection::vec;
use proptest::prelude::*;
use tollgate_model::{Credits, CreditsPerSecond, Instant, JobSpec, Sla, Span};

use crate::OracleJob;

/// Jobs for a small cluster.
#[derive(Clone, Debug)]
pub struct Case {
    /// Nodes of the cluster.
    pub nodes: u32,
    /// At least one job, in job order; submissions need not ascend.
    pub jobs: Vec<OracleJob>,
}

/// Cases of up to `most_jobs` jobs (at least 1) in whole seconds on few nodes: events, dues,
/// shares and prices tie often.
pub fn tied(most_jobs: usize) -> impl Strategy<Value = Case> {
    cases(most_jobs, whole_job())
}

/// Cases of up to `most_jobs` jobs (at least 1) with random fractions of a second: next to
/// nothing ties.
pub fn fractional(most_jobs: usize) -> impl Strategy<Value = Case> {
    cases(most_jobs, fractional_job())
}

/// Either of both.
pub fn any_case(most_jobs: usize) -> impl Strategy<Value = Case> {
    prop_oneof![tied(most_jobs).boxed(), fractional(most_jobs).boxed()]
}

/// The same case with every estimate exact.
pub fn with_exact_estimates(mut case: Case) -> Case {
    for job in &mut case.jobs {
        job.spec.estimate = job.runtime;
    }
    case
}

/// The same case with no job past its estimate.
pub fn with_safe_estimates(mut case: Case) -> Case {
    for job in &mut case.jobs {
        job.spec.estimate = job.spec.estimate.max(job.runtime);
    }
    case
}

fn cases(most_jobs: usize, job: impl Strategy<Value = OracleJob>) -> impl Strategy<Value = Case> {
    (1u32..6, vec(job, 1..=most_jobs)).prop_map(|(nodes, jobs)| Case { nodes, jobs })
}

fn whole_job() -> impl Strategy<Value = OracleJob> {
    let estimate = |runtime: i64| {
        prop_oneof![
            3 => Just(runtime),
            2 => Just((runtime / 2).max(1)),
            2 => Just(runtime * 2),
            2 => 1i64..20,
            1 => Just(runtime + 40),
        ]
    };
    let times = (0i64..30, 1i64..13)
        .prop_flat_map(move |(submit, runtime)| (Just(submit), Just(runtime), estimate(runtime)));
    let deadline = |estimate: i64, runtime: i64| {
        prop_oneof![
            2 => Just(estimate),
            2 => Just(runtime),
            2 => Just(estimate * 2),
            3 => 1i64..60,
            1 => Just(30),
        ]
    };
    let times = times.prop_flat_map(move |(submit, runtime, estimate)| {
        let deadline = deadline(estimate, runtime);
        (Just(submit), Just(runtime), Just(estimate), deadline)
    });
    (times, 1u32..4, any::<u8>()).prop_flat_map(|(times, procs, budget_side)| {
        let (submit, runtime, estimate, deadline) = times;
        let budget = near_a_price(estimate as f64, deadline as f64, budget_side);
        let penalty = prop_oneof![
            Just(0.0),
            Just(1.0),
            Just(0.5),
            (1u32..9).prop_map(f64::from)
        ];
        penalty.prop_map(move |penalty| OracleJob {
            spec: JobSpec {
                submit: Instant::from_secs(submit),
                estimate: Span::from_secs(estimate),
                procs,
                sla: Sla {
                    deadline: Some(Span::from_secs(deadline)),
                    budget: Some(Credits::from_f64(budget)),
                    penalty: CreditsPerSecond::from_f64(penalty),
                },
            },
            runtime: Span::from_secs(runtime),
        })
    })
}

/// A budget at, just above or just below one of the prices in the specification, or far off.
fn near_a_price(estimate: f64, deadline: f64, side: u8) -> f64 {
    match side % 8 {
        0 => estimate,
        1 => (estimate - 0.5).max(0.0),
        2 => estimate + estimate / deadline,
        3 => estimate + estimate / deadline - 0.000_001,
        4 => estimate * 1.3,
        5 => estimate * 1.6,
        6 => estimate * 25.0,
        _ => estimate * 200.0,
    }
}

fn fractional_job() -> impl Strategy<Value = OracleJob> {
    let times = (
        0..30_000_000i64,
        500_000..15_000_000i64,
        0.3..3.0f64,
        0.8..8.0f64,
    );
    let asked = (1u32..4, 0.0..60.0f64, 0.0..9.0f64);
    (times, asked).prop_map(|((submit, runtime, guess, slack), (procs, bid, penalty))| {
        let estimate = Span::from_micros((runtime as f64 * guess) as i64);
        let deadline = Span::from_micros((runtime as f64 * slack) as i64);
        OracleJob {
            spec: JobSpec {
                submit: Instant::from_micros(submit),
                estimate,
                procs,
                sla: Sla {
                    deadline: Some(deadline),
                    budget: Some(Credits::from_f64(bid)),
                    penalty: CreditsPerSecond::from_f64(penalty),
                },
            },
            runtime: Span::from_micros(runtime),
        }
    })
}
