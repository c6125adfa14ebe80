//! The start of a job if every job takes as long as its user estimates: what `squeue --start` prints.
//!
//! As the backfill scheduler of Slurm, jobs are planned in order of submission, each at the first hole, and no later
//! job delays an earlier one.

use tollgate_model::{Instant, Span};
use tollgate_policy::toolkit::CapacityProfile;

use crate::wait::job::WaitJob;
use crate::wait::queue_state::QueueState;

/// The largest number of waiting jobs that are planned. With more, the last one has no planned start.
const MAX_PLANNED: usize = 1_000;

/// Returns the planned start of a job that is submitted now. None if too many jobs wait, or the job is wider than the
/// machine or has no estimate.
pub(in crate::wait) fn planned_start(
    state: &QueueState,
    now: Instant,
    job: &WaitJob,
) -> Option<Instant> {
    let length = job.request?;
    if state.waiting.len() > MAX_PLANNED {
        return None;
    }
    let mut profile = CapacityProfile::of_steps(&free_steps(state, now));
    for queued in state.waiting.values() {
        let Some(length) = queued.planned_run else {
            continue;
        };
        place(&mut profile, now, queued.job.procs, length);
    }
    place(&mut profile, now, job.procs, length)
}

/// Reserves the first hole for a job and returns its begin.
fn place(profile: &mut CapacityProfile, now: Instant, procs: u32, length: Span) -> Option<Instant> {
    let length = length.max(Span::TICK);
    let start = profile.earliest(now, procs, length)?;
    profile.reserve(start, procs, length);
    Some(start)
}

/// Returns the free processors from now on by the expected ends of running jobs. A job past its end is expected to
/// end at once.
fn free_steps(state: &QueueState, now: Instant) -> Vec<(Instant, u32)> {
    let capacity = state.capacity.procs();
    let ends: Vec<(Instant, u32)> = state.left_by_request.ends().collect();
    let in_time: u64 = ends.iter().map(|(_, procs)| u64::from(*procs)).sum();
    let step = |free: u64| u32::try_from(free).unwrap_or(u32::MAX);
    let mut steps = vec![(now, step(capacity.saturating_sub(state.procs_in_use)))];
    let mut free = capacity.saturating_sub(in_time);
    if state.procs_in_use > in_time {
        steps.push((now + Span::TICK, step(free)));
    }
    for (end, procs) in ends {
        free += u64::from(procs);
        match steps.last_mut() {
            Some(last) if last.0 == end => last.1 = step(free),
            _ => steps.push((end, step(free))),
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(procs: u32, request_s: i64) -> WaitJob {
        WaitJob {
            user: Some(1),
            queue: None,
            procs,
            request: Some(Span::from_secs(request_s)),
        }
    }

    #[test]
    fn job_is_planned_behind_and_beside_earlier_ones() {
        let mut state = QueueState::default();
        let at = Instant::from_secs;
        for (id, procs, request_s) in [(0, 6, 100), (1, 4, 300)] {
            state.add(at(0), id, job(procs, request_s));
            state.start(at(0), id);
        }
        // The whole machine from 300 on.
        state.add(at(1), 2, job(10, 50));
        let planned = |procs, request_s| planned_start(&state, at(1), &job(procs, request_s));
        assert_eq!(planned(6, 150), Some(at(100)));
        assert_eq!(planned(6, 250), Some(at(350)));
        assert_eq!(planned(11, 10), None);
    }
}
