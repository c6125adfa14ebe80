//! The start rule against a slow and literal version of it: one number of free processors for each second,
//! each search from one end of time to the other.

use proptest::prelude::*;
use tollgate_model::{Instant, JobId, MaintenanceCalendar, ResourceCounts, Span, UserId};

use super::super::free_profile::RunningUntil;
use super::*;
use crate::plan::host_times::HostChoice;

/// Everything has ended by then, in seconds.
const HORIZON: usize = 400;

/// A waiting job: processors, run time at its level, more as reserved, more at guard, latest end.
type WaitingJobCase = (u32, usize, usize, usize, usize);

fn rule_job(id: usize, (procs, run, more, even_more, latest_end): WaitingJobCase) -> RuleJob {
    let secs = |secs: usize| Span::from_secs(secs as i64);
    RuleJob {
        id: JobId(id as u32),
        user: UserId(0),
        group: JobGroup {
            hosts: HostChoice::Any,
            restarts: 0,
            procs,
            count: 1,
            run: secs(run),
            reserved: secs(run + more),
            due: Instant::from_secs(latest_end as i64),
            one_host: false,
            host: None,
            devices: ResourceCounts::NONE,
            licences: ResourceCounts::NONE,
        },
        guard: secs(run + more + even_more),
        latest_end: Instant::from_secs(latest_end as i64),
    }
}

/// The free processors of each second.
#[derive(Clone)]
struct Seconds(Vec<u32>);

impl Seconds {
    fn fits(&self, at: usize, procs: u32, length: usize) -> bool {
        at + length <= HORIZON && self.0[at..at + length].iter().all(|&free| free >= procs)
    }

    fn earliest(&self, procs: u32, length: usize) -> Option<usize> {
        (0..HORIZON).find(|&at| self.fits(at, procs, length))
    }

    fn latest(&self, procs: u32, length: usize, end: usize) -> Option<usize> {
        let last = end.checked_sub(length)?;
        (0..=last).rev().find(|&at| self.fits(at, procs, length))
    }

    fn take(&mut self, at: usize, procs: u32, length: usize) {
        self.0[at..at + length]
            .iter_mut()
            .for_each(|free| *free -= procs);
    }

    fn give_back(&mut self, at: usize, procs: u32, length: usize) {
        self.0[at..at + length]
            .iter_mut()
            .for_each(|free| *free += procs);
    }
}

/// Returns the jobs that start, and the one that is held with the start of its place.
fn literal(
    free: &Seconds,
    planned: &[WaitingJobCase],
    fair: &[Result<usize, (usize, WaitingJobCase)>],
) -> (Vec<usize>, Option<(usize, Option<usize>)>) {
    let guard = |job: &WaitingJobCase| job.1 + job.2 + job.3;
    let mut order: Vec<usize> = (0..planned.len()).collect();
    order.sort_by_key(|&job| std::cmp::Reverse((planned[job].4, job)));
    let mut is_due = vec![false; planned.len()];
    let mut places = Vec::new();
    let mut plan = free.clone();
    for round in 1..=3 {
        plan = free.clone();
        places = vec![None; planned.len()];
        let place_due =
            |is_due: &[bool], places: &mut Vec<Option<(usize, usize)>>, plan: &mut Seconds| {
                for job in 0..planned.len() {
                    let (procs, run, ..) = planned[job];
                    if is_due[job]
                        && places[job].is_none()
                        && let Some(at) = plan.earliest(procs, run)
                    {
                        plan.take(at, procs, run);
                        places[job] = Some((at, run));
                    }
                }
            };
        place_due(&is_due, &mut places, &mut plan);
        let before = is_due.clone();
        for &job in &order {
            let length = guard(&planned[job]);
            let (procs, .., latest_end) = planned[job];
            if before[job] {
                continue;
            }
            match plan.latest(procs, length, latest_end) {
                Some(at) => {
                    plan.take(at, procs, length);
                    places[job] = Some((at, length));
                }
                None => is_due[job] = true,
            }
        }
        if is_due == before {
            break;
        }
        if round == 3 {
            place_due(&is_due, &mut places, &mut plan);
        }
    }
    let mut left = free.clone();
    let mut starts = Vec::new();
    for job in 0..planned.len() {
        if let Some((0, length)) = places[job]
            && is_due[job]
        {
            left.take(0, planned[job].0, length);
            starts.push(job);
        }
    }
    let mut held = None;
    for job in fair {
        match *job {
            Ok(job) => {
                let length = guard(&planned[job]);
                if starts.contains(&job) || is_due[job] {
                    continue;
                }
                let procs = planned[job].0;
                let own = places[job].expect("a job without a place is due");
                plan.give_back(own.0, procs, own.1);
                if plan.fits(0, procs, length) && left.0[0] >= procs {
                    plan.take(0, procs, length);
                    left.take(0, procs, length);
                    starts.push(job);
                } else {
                    plan.take(own.0, procs, own.1);
                }
            }
            Err((id, job)) => {
                let length = guard(&job);
                if left.0[0] == 0 {
                    break;
                }
                if plan.fits(0, job.0, length) {
                    plan.take(0, job.0, length);
                    left.take(0, job.0, length);
                    starts.push(id);
                } else if held.is_none() {
                    let at = plan.earliest(job.0, length);
                    if let Some(at) = at {
                        plan.take(at, job.0, length);
                        left.take(at, job.0, length);
                    }
                    held = Some((id, at));
                }
            }
        }
        if left.0[0] == 0 {
            break;
        }
    }
    (starts, held)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn start_rule_decides_as_it_is_written_down(
        idle in 0u32..5,
        running in prop::collection::vec((1u32..4, 1usize..40), 0..5),
        waiting in prop::collection::vec(
            ((1u32..6, 1usize..20, 0usize..6, 0usize..6, 1usize..120), any::<bool>(), 1usize..4),
            0..12,
        ),
        order in any::<u64>(),
    ) {
        let ends: Vec<RunningUntil> = running
            .iter()
            .enumerate()
            .map(|(id, &(_, end))| (JobId(id as u32), Instant::from_secs(end as i64)))
            .collect();
        let released = |id: JobId| running[id.index()].0;
        let calendar = MaintenanceCalendar::default();
        let free = FreeProfile::of_pool(Instant::ZERO, idle, &ends, released, calendar);
        let freed = |second: usize| {
            let ended = running.iter().filter(|(_, end)| *end <= second);
            idle + ended.map(|(procs, _)| procs).sum::<u32>()
        };
        let seconds = Seconds((0..HORIZON).map(freed).collect());
        // Jobs that are alike stand together, as the tasks of an array do.
        let all: Vec<(WaitingJobCase, bool)> = waiting
            .iter()
            .flat_map(|&(job, is_planned, count)| vec![(job, is_planned); count])
            .collect();
        let mut planned: Vec<WaitingJobCase> =
            all.iter().filter(|(_, is_planned)| *is_planned).map(|(job, _)| *job).collect();
        planned.sort_by_key(|job| job.4);
        let unplanned = all.iter().filter(|(_, is_planned)| !is_planned).map(|(job, _)| *job);
        let mut fair: Vec<Result<usize, (usize, WaitingJobCase)>> = (0..planned.len()).map(Ok).collect();
        fair.extend(unplanned.enumerate().map(|(at, job)| Err((1000 + at, job))));
        let rotated = order as usize % fair.len().max(1);
        fair.rotate_left(rotated);
        let rules: Vec<RuleJob> =
            planned.iter().enumerate().map(|(id, &job)| rule_job(id, job)).collect();
        let in_order = fair.iter().map(|job| match job {
            Ok(index) => FairJob::Planned(*index),
            Err((id, job)) => FairJob::Unplanned(rule_job(*id, *job)),
        });
        let found = decide(&free, &rules, in_order, &mut |_, _| true);
        let starts: Vec<usize> = found.starts.iter().map(|(id, _)| id.index()).collect();
        let held = found.held.map(|(id, at)| {
            (id.id.index(), at.map(|at| (at.as_micros() / 1_000_000) as usize))
        });
        let (expected, expected_held) = literal(&seconds, &planned, &fair);
        prop_assert_eq!((starts, held), (expected, expected_held));
    }
}
