//! The promised jobs in the order in which they are dispatched by deadline: the plan by which promises were made.

use std::collections::BTreeSet;

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
    /// The promised jobs that wait, in the order of dispatch.
    pub(super) waiting: Vec<RuleJob>,
}

impl DeadlineDispatch {
    /// Starts a job at a place if every promise that is kept as long as it waits is kept; returns whether it
    /// does.
    pub(super) fn start(&mut self, job: &RuleJob, place: &PlannedPlace) -> bool {
        let group = JobGroup {
            run: place.length,
            reserved: job.group.reserved.max(place.length),
            ..job.group
        };
        let machine = self.machine.with_started(&group, &place.parts);
        let is_other = |other: &&RuleJob| other.id != job.id;
        let others: Vec<RuleJob> = self.waiting.iter().filter(is_other).copied().collect();
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
            let is_started = |job: &&RuleJob| starts.iter().any(|(id, _)| *id == job.id);
            let (started, others): (Vec<RuleJob>, Vec<RuleJob>) =
                self.waiting.iter().partition(is_started);
            let machine = started.iter().fold(self.machine.clone(), |machine, job| {
                machine.with_started(&job.group, &[])
            });
            self.are_kept_on(&machine, &others).then_some(starts)
        });
        beside_held.unwrap_or_else(|| self.starts_on(self.machine.clone()))
    }

    /// Returns whether every promise to `others` that is kept now is kept on a machine on which the rest of the
    /// waiting jobs has started, or a job without a promise.
    fn are_kept_on(&self, machine: &PlanMachine, others: &[RuleJob]) -> bool {
        let test = self.test(others);
        if others.len() == self.waiting.len() {
            return test.is_kept_on(machine);
        }
        // A dispatch without the jobs that have started is no measure: it may keep fewer promises, as others
        // then fill other gaps.
        test.keeps_all_on(machine) || {
            let kept = kept_jobs(machine, others);
            let kept_now = kept_jobs(&self.machine, &self.waiting);
            let mut others = others.iter().map(|other| other.id);
            others.all(|id| kept.contains(&id) || !kept_now.contains(&id))
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

/// Returns the jobs whose promises a dispatch by deadline keeps.
fn kept_jobs(machine: &PlanMachine, waiting: &[RuleJob]) -> BTreeSet<JobId> {
    let groups: Vec<JobGroup> = waiting.iter().map(|job| job.group).collect();
    let mut kept = BTreeSet::new();
    machine.play(&groups, |start| {
        if start.end <= groups[start.group].due {
            kept.insert(waiting[start.group].id);
        }
        true
    });
    kept
}
