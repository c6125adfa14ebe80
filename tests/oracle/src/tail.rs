//! Time-shared admission by the tail of distributions. The task due first runs, and a job is admitted where
//! every promise is kept when each task needs its quantile at the level 1 - bound. Estimates only: no oracle
//! forecasts.

mod node;

use tollgate_model::outcome::RunInterval;
use tollgate_model::{Credits, Decision, Instant, Market, NodeId, Reason};

use crate::{OracleJob, OracleOutcome};
use node::OracleTailNode;

/// The parameters of the policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OracleTailSettings {
    /// Maximum probability with which promises on a node may break.
    pub bound: f64,
    /// True if a deadline is assumed to be long enough for its job.
    pub trusted: bool,
    /// The market.
    pub market: Market,
}

/// Runs `jobs` on `nodes` nodes and returns the outcomes in the order of `jobs`.
///
/// # Panics
///
/// If a job has no deadline.
pub fn run(jobs: &[OracleJob], nodes: u32, settings: &OracleTailSettings) -> Vec<OracleOutcome> {
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
    settings: &OracleTailSettings,
) -> Vec<OracleOutcome> {
    let nodes = speeds.iter().map(|&speed| OracleTailNode::of_speed(speed));
    let mut cluster: Vec<OracleTailNode> = nodes.collect();
    let mut finishes: Vec<Instant> = jobs.iter().map(|job| job.spec.submit).collect();
    let mut answers: Vec<Option<Result<OracleTailOffer, Reason>>> =
        jobs.iter().map(|_| None).collect();
    let mut coming: Vec<usize> = (0..jobs.len()).collect();
    coming.sort_by_key(|&job| jobs[job].spec.submit);
    for job in coming {
        let now = jobs[job].spec.submit;
        for node in &mut cluster {
            node.advance(now, settings, &mut finishes);
        }
        let answer = decide(&jobs[job], &cluster, now, settings);
        if let Ok(offer) = &answer {
            for &node in &offer.nodes {
                cluster[node].add(job, &jobs[job], now);
            }
        }
        answers[job] = Some(answer);
    }
    for node in &mut cluster {
        node.drain(settings, &mut finishes);
    }
    let outcomes = answers.into_iter().zip(jobs).zip(finishes);
    outcomes
        .map(|((answer, job), finish)| {
            let answer = answer.expect("every job is decided at its submission");
            outcome(answer, job, finish, settings.market)
        })
        .collect()
}

/// The nodes of an admitted job, in ascending order, and its price.
struct OracleTailOffer {
    nodes: Vec<usize>,
    price: Credits,
}

fn decide(
    job: &OracleJob,
    cluster: &[OracleTailNode],
    now: Instant,
    settings: &OracleTailSettings,
) -> Result<OracleTailOffer, Reason> {
    let procs = job.spec.procs as usize;
    if procs > cluster.len() {
        return Err(Reason::TooManyProcs);
    }
    let deadline = job.spec.sla.deadline.expect("a deadline").as_secs_f64();
    let estimate = job.spec.estimate.as_secs_f64();
    let price = match settings.market {
        Market::Commodity => Credits::from_f64(estimate + estimate / deadline),
        Market::None | Market::Bid => Credits::ZERO,
    };
    if job.cannot_pay(price) {
        return Err(Reason::OverBudget);
    }
    let mut nodes: Vec<usize> = (0..cluster.len())
        .filter(|&node| cluster[node].keeps_promises_with(job, now, settings))
        .collect();
    if nodes.len() < procs {
        return Err(Reason::DeadlineRisk);
    }
    // Least work first, in milliseconds.
    nodes.sort_by_key(|&node| (cluster[node].load(now, settings) * 1e3).round() as i64);
    nodes.truncate(procs);
    nodes.sort();
    Ok(OracleTailOffer { nodes, price })
}

fn outcome(
    answer: Result<OracleTailOffer, Reason>,
    job: &OracleJob,
    finish: Instant,
    market: Market,
) -> OracleOutcome {
    let start = job.spec.submit;
    match answer {
        Err(reason) => OracleOutcome::rejected(reason, start),
        Ok(OracleTailOffer { nodes, price }) => OracleOutcome {
            decision: Decision::Accepted,
            decided: start,
            ran: Some(RunInterval { start, finish }),
            price,
            utility: job.utility(market, price, finish),
            nodes: nodes.into_iter().map(|node| NodeId(node as u32)).collect(),
        },
    }
}
