//! An independent verifier of finished schedules: reads outcomes and placements, and does not trust
//! the gate.

use tollgate_gate::InvariantViolation;
use tollgate_model::outcome::RunInterval;
use tollgate_model::{Instant, Outcome, Span};

use crate::cluster::{ReplayConfig, ReplayResult};

/// Verifies a whole schedule. No job started before its submission or ended before it ran, every accepted job
/// has finished and no rejected job ran. No job ran on nodes that do not exist, and no node did more work
/// than there was time.
///
/// The caller guarantees that every job has exactly one outcome: outcomes are per job.
///
/// # Errors
/// Returns the first violation.
pub fn schedule(replay: &ReplayResult, settings: &ReplayConfig) -> Result<(), InvariantViolation> {
    for (job, outcome) in replay.outcomes.iter().enumerate() {
        check_outcome(outcome).map_err(|what| InvariantViolation(format!("job {job} {what}")))?;
    }
    capacity(replay, settings)
}

fn check_outcome(outcome: &Outcome) -> Result<(), &'static str> {
    match (outcome.decision.is_admitted(), outcome.ran) {
        (true, Some(ran)) if ran.start < outcome.submit => Err("started before it was submitted"),
        (true, Some(ran)) if ran.finish + Span::TICK < ran.start + outcome.runtime => {
            Err("finished before it had run")
        }
        (true, Some(_)) | (false, None) => Ok(()),
        (true, None) => Err("was admitted and never finished"),
        (false, Some(_)) => Err("was rejected and ran"),
    }
}

/// Verifies that jobs that overlap in time on a node had enough time together. In each busy period, the sum
/// of their run times on this node is at most its length. On nodes that are alike, two exclusive jobs can
/// only overlap by breaking this.
fn capacity(replay: &ReplayResult, settings: &ReplayConfig) -> Result<(), InvariantViolation> {
    let Some(placements) = &replay.placements else {
        return Ok(());
    };
    let mut nodes: Vec<Vec<NodeRun>> = vec![Vec::new(); settings.nodes as usize];
    for (job, outcome) in replay.outcomes.iter().enumerate() {
        let wide: u32 = placements.of(job).iter().map(|range| range.len).sum();
        if outcome.ran.is_some() && wide != outcome.procs {
            let procs = outcome.procs;
            return Err(InvariantViolation(format!(
                "job {job} ran on {wide} nodes, not {procs}"
            )));
        }
        let slowest = settings.speeds.slowest_of(placements.of(job));
        for id in placements.of(job).iter().flat_map(|range| range.nodes()) {
            let Some(node) = nodes.get_mut(id.index()) else {
                return Err(InvariantViolation(format!(
                    "job {job} ran on a node that is not there"
                )));
            };
            if let Some(ran) = outcome.ran {
                // The run time is that on the slowest node of the job.
                let speed = settings.speeds.of(id).relative_to(slowest);
                let work = speed.time_for(outcome.runtime);
                node.push(NodeRun { ran, work });
            }
        }
    }
    nodes
        .iter_mut()
        .enumerate()
        .try_for_each(|(node, runs)| busy_periods(node, runs, !settings.speeds.is_default()))
}

/// The run of a job on one of its nodes.
#[derive(Clone, Copy)]
struct NodeRun {
    ran: RunInterval,
    /// The run time on this node.
    work: Span,
}

/// A period in which the jobs that ran on a node overlapped.
struct BusyPeriod {
    from: Instant,
    to: Instant,
    work: Span,
    jobs: i64,
}

fn busy_periods(
    node: usize,
    runs: &mut [NodeRun],
    has_speeds: bool,
) -> Result<(), InvariantViolation> {
    runs.sort_by_key(|run| run.ran.start);
    let mut periods: Vec<BusyPeriod> = Vec::new();
    for &mut NodeRun { ran, work } in runs {
        match periods.last_mut() {
            Some(period) if ran.start < period.to => {
                period.to = period.to.max(ran.finish);
                period.work += work;
                period.jobs += 1;
            }
            Some(_) | None => periods.push(BusyPeriod {
                from: ran.start,
                to: ran.finish,
                work,
                jobs: 1,
            }),
        }
    }
    for period in periods {
        // The end of each job on a shared node is rounded to a microsecond, and may be one
        // microsecond early because of an arrival. On a node of another speed the run time of each job
        // was rounded twice: for its own nodes, and here.
        let translated = if has_speeds { 2 * period.jobs } else { 0 };
        let rounding = Span::from_micros(2 * (period.jobs - 1) + translated);
        if period.work > period.to.since(period.from) + rounding {
            return Err(InvariantViolation(format!(
                "node {node} did {} s of work from {} to {}",
                period.work, period.from, period.to
            )));
        }
    }
    Ok(())
}
