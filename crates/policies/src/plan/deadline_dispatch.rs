//! The promised jobs in the order in which they are dispatched by deadline: the plan by which promises were made.

use tollgate_model::{Instant, JobId};
use tollgate_policy::HostPart;

use super::free_profile::PlannedPlace;
use super::machine::PlanMachine;
use super::promise_test::{PlanInput, PromiseTest};
use super::start_rule::{RuleJob, StartDecision};
use super::timetable::JobGroup;

/// The dispatch by deadline from an instant on, after some jobs have started out of turn.
#[derive(Debug)]
pub(super) struct DeadlineDispatch {
    pub(super) machine: PlanMachine,
    /// The promised jobs that wait, in the order of dispatch.
    pub(super) waiting: Vec<RuleJob>,
}

impl DeadlineDispatch {
    /// Starts a job at a place if every promise that is kept without it is kept with it; returns whether it
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
        let may_start = others.is_empty() || self.test(&others).is_kept_on(&machine);
        if may_start {
            self.machine = machine;
            self.waiting = others;
        }
        may_start
    }

    /// Returns the jobs that start by deadline, with their hosts where these matter. The first job without a
    /// promise keeps its place where no promise suffers from that.
    pub(super) fn into_starts(
        self,
        decision: &StartDecision,
    ) -> Vec<(JobId, Option<Vec<HostPart>>)> {
        let place = decision.held.and_then(|(held, at)| Some((held, at?)));
        let kept = place.and_then(|(held, at)| {
            let kept = self.machine.with_kept(held.group.procs, at + held.guard)?;
            self.test(&self.waiting).is_kept_on(&kept).then_some(kept)
        });
        let groups: Vec<JobGroup> = self.waiting.iter().map(|job| job.group).collect();
        let mut starts = Vec::new();
        kept.unwrap_or(self.machine)
            .dispatch(groups, |group, hosts| {
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
