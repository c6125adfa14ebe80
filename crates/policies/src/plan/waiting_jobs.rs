//! The waiting jobs, in the orders in which the policy goes through them.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_model::{Instant, JobId};
use tollgate_policy::{View, WaitOrder};

use super::fair_order::FairQueue;
use super::planned_job::{PlannedJob, WaitingClass};

/// The key of a job in the order of deadlines.
pub(super) type PlanKey = (Instant, u64);

/// The waiting jobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct WaitingJobs {
    /// The jobs with a promise or a place, in the order of the plan.
    pub(super) planned: BTreeMap<PlanKey, PlannedJob>,
    /// The other jobs with a deadline, in the order of their deadlines.
    pub(super) unpromised: BTreeMap<PlanKey, PlannedJob>,
    /// The other jobs without a deadline, in the order of submission.
    pub(super) free: BTreeMap<u64, PlannedJob>,
    /// All jobs that may start.
    pub(super) fair: FairQueue,
    /// Number of them for which it matters on which hosts they run.
    n_with_needs: usize,
}

impl WaitingJobs {
    pub(super) fn insert(&mut self, job: PlannedJob) {
        match job.waiting_class {
            WaitingClass::Promised | WaitingClass::Placed => {
                self.planned.insert(job.key(), job);
            }
            WaitingClass::Unpromised | WaitingClass::Waitlisted => {
                self.unpromised.insert(job.key(), job);
            }
            WaitingClass::Free => {
                self.free.insert(job.sequence, job);
            }
        }
        if job.waiting_class != WaitingClass::Waitlisted {
            self.fair.insert(job);
            self.n_with_needs += usize::from(job.needs_hosts());
        }
    }

    pub(super) fn remove(&mut self, job: &PlannedJob) {
        match job.waiting_class {
            WaitingClass::Promised | WaitingClass::Placed => self.planned.remove(&job.key()),
            WaitingClass::Unpromised | WaitingClass::Waitlisted => {
                self.unpromised.remove(&job.key())
            }
            WaitingClass::Free => self.free.remove(&job.sequence),
        };
        if job.waiting_class != WaitingClass::Waitlisted {
            self.fair.remove(job);
            self.n_with_needs -= usize::from(job.needs_hosts());
        }
    }

    /// Returns the planned jobs in the order in which they are dispatched, and behind them the hopeless ones
    /// in the order of submission.
    pub(super) fn by_deadline(&self, now: Instant) -> (Vec<PlannedJob>, Vec<PlannedJob>) {
        let all = self.planned.values().copied();
        let (hopeless, planned): (Vec<_>, Vec<_>) = all.partition(|job| job.is_hopeless(now));
        let mut hopeless = hopeless;
        hopeless.sort_unstable_by_key(|job| job.sequence);
        (planned, hopeless)
    }

    /// Returns the same with planned tasks of a batch that are alike and neighbours as one group each, which stands for all
    /// jobs from its key on.
    pub(super) fn groups_by_deadline(&self, view: View<'_>) -> (Vec<PlannedJob>, Vec<PlannedJob>) {
        let batch = |job: &PlannedJob| view.kinship(job.id).map(|kinship| kinship.batch);
        let is_one = |group: &PlannedJob, next: &PlannedJob| {
            group.is_followed_by(next) && batch(next).is_some() && batch(group) == batch(next)
        };
        let (mut planned, mut hopeless): (Vec<PlannedJob>, Vec<PlannedJob>) = Default::default();
        for job in self.planned.values() {
            match planned.last_mut() {
                _ if job.is_hopeless(view.now) => hopeless.push(*job),
                Some(group) if is_one(group, job) => group.count += job.count,
                Some(_) | None => planned.push(*job),
            }
        }
        hopeless.sort_unstable_by_key(|job| job.sequence);
        (planned, hopeless)
    }

    /// Returns whether a job may start for which it matters on which hosts it runs.
    pub(super) fn needs_hosts(&self) -> bool {
        self.n_with_needs > 0
    }

    /// Returns whether a job has a place and no promise.
    pub(super) fn has_placed(&self) -> bool {
        let mut planned = self.planned.values();
        planned.any(|job| job.waiting_class == WaitingClass::Placed)
    }

    /// Returns what stands before a job in the fair order, and the planned jobs that have to start now; None of a job that
    /// may not start.
    pub(super) fn order_before(&self, view: View<'_>, id: JobId) -> Option<WaitOrder> {
        let mut before = Vec::new();
        let job = self.fair.in_order(view).find(|job| {
            before.push((job.count, job.user));
            job.id == id
        })?;
        before.pop();
        let has_to_start = |other: &&PlannedJob| other.latest_end() - other.guard <= view.now;
        let planned = || self.planned.values().filter(|other| other.id != id);
        let due_now = planned().filter(has_to_start).map(|job| job.count).sum();
        let own = before.iter().filter(|(_, user)| *user == job.user);
        let own = own.map(|(count, _)| count);
        let others = before.iter().map(|(_, user)| user);
        let others: BTreeSet<_> = others.filter(|user| **user != job.user).collect();
        Some(WaitOrder {
            due_now,
            planned: planned().map(|job| job.count).sum(),
            users_before: others.len() as u32,
            own_before: own.sum(),
            is_hopeless: job.is_hopeless(view.now),
        })
    }

    /// Returns the number of waiting jobs and groups.
    pub(super) fn len(&self) -> usize {
        self.planned.len() + self.unpromised.len() + self.free.len()
    }
}
