//! Time-shared policies: a node runs many tasks at once, each at its share.
//!
//! Work and shares are seconds in `f64`; only the instants at which something happens are
//! rounded, upward, to microseconds.

mod admission;
mod node;
mod settings;
#[cfg(test)]
mod stepping;

use tollgate_model::outcome::RunInterval;
use tollgate_model::{Credits, Decision, Instant, NodeId, Reason};

use crate::{OracleJob, OracleOutcome};
use admission::OracleShareOffer;
use node::{OracleShareNode, OracleShareTask};
pub use settings::{OracleFit, OracleShareRule, OracleShareSettings};

/// Runs `jobs` on `nodes` nodes and returns the outcomes in the order of `jobs`.
///
/// # Panics
///
/// If a job has no deadline: its share would be undefined.
pub fn run(jobs: &[OracleJob], nodes: u32, settings: &OracleShareSettings) -> Vec<OracleOutcome> {
    run_at_speeds(jobs, &vec![1.0; nodes as usize], settings)
}

/// Runs `jobs` on nodes of these speeds, the lowest of which is 1, as [`run`] does.
///
/// # Panics
///
/// If a job has no deadline.
pub fn run_at_speeds(
    jobs: &[OracleJob],
    speeds: &[f64],
    settings: &OracleShareSettings,
) -> Vec<OracleOutcome> {
    let mut cluster: Vec<OracleShareNode> = speeds
        .iter()
        .map(|&speed| OracleShareNode::of_speed(speed, Instant::ZERO))
        .collect();
    let mut outcomes: Vec<Option<OracleOutcome>> = vec![None; jobs.len()];
    let mut finishes: Vec<Instant> = jobs.iter().map(|job| job.spec.submit).collect();
    let mut coming: Vec<usize> = (0..jobs.len()).collect();
    coming.sort_by_key(|&job| jobs[job].spec.submit);
    for job in coming {
        let now = jobs[job].spec.submit;
        for node in &mut cluster {
            node.advance(now, settings, &mut finishes);
        }
        let decided = admission::decide(&jobs[job], &cluster, now, settings);
        if let Ok(offer) = &decided {
            for &node in &offer.nodes {
                let there = jobs[job].at_speed(speeds[node]);
                cluster[node].add(OracleShareTask::new(job, &there), now, settings);
            }
        }
        outcomes[job] = Some(answer(decided, now));
    }
    for node in &mut cluster {
        node.drain(settings, &mut finishes);
    }
    let answered = outcomes.into_iter().zip(jobs).zip(finishes);
    answered
        .map(|((outcome, job), finish)| {
            let outcome = outcome.expect("every job is decided at its submission");
            finished(outcome, job, finish, settings)
        })
        .collect()
}

/// Returns the part of a job's outcome that is known at its submission.
fn answer(decided: Result<OracleShareOffer, Reason>, now: Instant) -> OracleOutcome {
    match decided {
        Err(reason) => OracleOutcome::rejected(reason, now),
        Ok(offer) => OracleOutcome {
            decision: Decision::Accepted,
            decided: now,
            ran: None,
            price: offer.price,
            utility: Credits::ZERO,
            nodes: offer
                .nodes
                .iter()
                .map(|&node| NodeId(node as u32))
                .collect(),
        },
    }
}

/// Returns the outcome of a job whose last task ended at `finish`.
fn finished(
    outcome: OracleOutcome,
    job: &OracleJob,
    finish: Instant,
    settings: &OracleShareSettings,
) -> OracleOutcome {
    match outcome.decision {
        Decision::Rejected(_) => outcome,
        Decision::Accepted | Decision::Unpromised => OracleOutcome {
            ran: Some(RunInterval {
                start: job.spec.submit,
                finish,
            }),
            utility: job.utility(settings.market, outcome.price, finish),
            ..outcome
        },
    }
}
