//! The promised jobs in the order in which they are dispatched by deadline: the plan by which promises were made.

use std::collections::BTreeMap;

use tollgate_model::{Instant, JobId};
use tollgate_policy::HostPart;

use super::free_profile::PlannedPlace;
use super::machine::PlanMachine;
use super::promise_test::{PlanInput, PromiseTest};
use super::start_rule::{RuleJob, StartDecision};
use super::timetable::JobGroup;

/// A job that starts, with its hosts where these matter.
type DispatchedStart = (JobId, Option<Vec<HostPart>>);

/// The dispatch by deadline from an instant on, after some jobs have started out of turn.
#[derive(Debug)]
pub(super) struct DeadlineDispatch {
    pub(super) machine: PlanMachine,
    /// The promised jobs that wait, in groups, in the order of dispatch.
    pub(super) waiting: Vec<RuleJob>,
}

impl DeadlineDispatch {
    /// Starts a job of a group at a place if every promise that is kept as long as it waits is kept; returns
    /// whether it does.
    pub(super) fn start(&mut self, job: &RuleJob, place: &PlannedPlace) -> bool {
        let group = JobGroup {
            count: 1,
            run: place.work,
            reserved: job.group.reserved.max(place.work),
            ..job.group
        };
        let machine = self.machine.with_started(&group, &place.parts);
        let others = self.without(&[(job.id, 1)].into());
        let may_start = self.are_kept_on(&machine, &others);
        if may_start {
            self.machine = machine;
            self.waiting = others;
        }
        may_start
    }

    /// Returns the jobs that start by deadline, with their hosts where these matter. The first job without a
    /// promise keeps its place where no promise suffers from that.
    pub(super) fn into_starts(self, decision: &StartDecision) -> Vec<DispatchedStart> {
        let held = decision.held.and_then(|(held, at)| Some((held, at?)));
        let beside_held = held.and_then(|(held, at)| {
            let kept = self.machine.with_kept(held.group.procs, at + held.guard)?;
            let is_kept = self.test(&self.waiting).is_kept_on(&kept);
            let starts = is_kept.then(|| self.starts_on(kept))?;
            // The place may be another one at the next pass: what starts must be right without it, too.
            let mut started: BTreeMap<JobId, u32> = BTreeMap::new();
            for (id, _) in &starts {
                *started.entry(*id).or_default() += 1;
            }
            let mut machine = self.machine.clone();
            for job in &self.waiting {
                for _ in 0..started.get(&job.id).copied().unwrap_or(0) {
                    machine = machine.with_started(&job.group, &[]);
                }
            }
            let others = self.without(&started);
            self.are_kept_on(&machine, &others).then_some(starts)
        });
        beside_held.unwrap_or_else(|| self.starts_on(self.machine.clone()))
    }

    /// Returns the waiting jobs without those that start: the first ones of their groups.
    fn without(&self, started: &BTreeMap<JobId, u32>) -> Vec<RuleJob> {
        let left = self.waiting.iter().filter_map(|job| {
            let count = job.group.count - started.get(&job.id).copied().unwrap_or(0);
            let group = JobGroup { count, ..job.group };
            (count > 0).then_some(RuleJob { group, ..*job })
        });
        left.collect()
    }

    /// Returns whether every promise to `others` that is kept now is also kept on another machine. On that
    /// machine the rest of the waiting jobs has started, or a job without a promise.
    fn are_kept_on(&self, machine: &PlanMachine, others: &[RuleJob]) -> bool {
        let test = self.test(others);
        let n_jobs = |jobs: &[RuleJob]| -> u64 { jobs.iter().map(RuleJob::n_jobs).sum() };
        if n_jobs(others) == n_jobs(&self.waiting) {
            return test.is_kept_on(machine);
        }
        // A dispatch without the jobs that have started is no measure: it may keep fewer promises, as others
        // then fill other gaps.
        test.keeps_all_on(machine) || {
            let firsts = first_alike(&self.waiting);
            let kept = kept_jobs(machine, others, &firsts);
            let kept_now = kept_jobs(&self.machine, &self.waiting, &firsts);
            let (left, before) = (n_alike(others, &firsts), n_alike(&self.waiting, &firsts));
            let of = |counts: &BTreeMap<JobId, u32>, id| counts.get(id).copied().unwrap_or(0);
            // Promises to jobs that are alike count together, and those that have started count as kept.
            left.iter().all(|(first, &n_left)| {
                let n_started = of(&before, first) - n_left;
                of(&kept, first) + n_started >= of(&kept_now, first)
            })
        }
    }

    /// Returns the jobs that a dispatch starts now.
    fn starts_on(&self, machine: PlanMachine) -> Vec<DispatchedStart> {
        let groups: Vec<JobGroup> = self.waiting.iter().map(|job| job.group).collect();
        let mut starts = Vec::new();
        machine.dispatch(groups, |group, hosts| {
            starts.push((self.waiting[group].id, hosts));
        });
        starts
    }

    fn test(&self, waiting: &[RuleJob]) -> PromiseTest {
        // Only the order counts.
        let groups = waiting.iter().map(|job| (Instant::MAX, job.group));
        PromiseTest::new(PlanInput::new(Instant::ZERO, self.machine.clone(), groups))
    }
}

/// Returns of each group the first one in an unbroken row of groups of one user that are alike.
fn first_alike(waiting: &[RuleJob]) -> BTreeMap<JobId, JobId> {
    let rows = waiting.chunk_by(|job, next| job.user == next.user && job.is_like(next));
    let firsts = rows.flat_map(|row| row.iter().map(|job| (job.id, row[0].id)));
    firsts.collect()
}

/// Returns the number of jobs that are alike, by the first group of each row.
fn n_alike(jobs: &[RuleJob], firsts: &BTreeMap<JobId, JobId>) -> BTreeMap<JobId, u32> {
    let mut counts = BTreeMap::new();
    for job in jobs {
        *counts.entry(firsts[&job.id]).or_default() += job.group.count;
    }
    counts
}

/// Returns of how many jobs that are alike, by the first group of each row, a dispatch by deadline keeps the promises.
fn kept_jobs(
    machine: &PlanMachine,
    waiting: &[RuleJob],
    firsts: &BTreeMap<JobId, JobId>,
) -> BTreeMap<JobId, u32> {
    let groups: Vec<JobGroup> = waiting.iter().map(|job| job.group).collect();
    let mut kept = BTreeMap::new();
    machine.play(&groups, |start| {
        let in_time = start.n_ended_by(groups[start.group].due);
        *kept.entry(firsts[&waiting[start.group].id]).or_default() += in_time;
        true
    });
    kept
}
