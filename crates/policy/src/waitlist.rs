//! Jobs that wait under a time-shared policy: those that were taken off their nodes keep their promise
//! and start again as soon as nodes suit; those without a deadline, for which there was no room,
//! start in order of submission as soon as there is.

use std::collections::BTreeSet;

use tollgate_model::{Credits, Instant, JobId, JobSpec, Reason, Sla, Span};

use crate::policy::AdmissionDecision;
use crate::state::{JobPhase, JobSlot, View};

/// Jobs that wait, in order of submission.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waitlist {
    jobs: BTreeSet<(u64, JobId)>,
    /// How many of them have a deadline.
    n_with_deadline: usize,
}

impl Waitlist {
    /// Every job that waits.
    pub(crate) fn of(view: View<'_>) -> Self {
        let mut all = Self::default();
        for (id, job) in view.jobs() {
            if job.phase == JobPhase::Queued {
                all.insert(view, id);
            }
        }
        all
    }

    pub(crate) fn insert(&mut self, view: View<'_>, job: JobId) {
        let JobSlot { sequence, spec, .. } = view.job(job);
        if self.jobs.insert((*sequence, job)) {
            self.n_with_deadline += usize::from(spec.sla.deadline.is_some());
        }
    }

    pub(crate) fn remove(&mut self, view: View<'_>, job: JobId) {
        let JobSlot { sequence, spec, .. } = view.job(job);
        if self.jobs.remove(&(*sequence, job)) {
            self.n_with_deadline -= usize::from(spec.sla.deadline.is_some());
        }
    }

    /// Whether none of them can make a difference to a job with this wish. One without a deadline
    /// has no share: where it starts beside a job that has one, shares are set anew a little
    /// earlier than without it, and that is all, as long as the job is not late.
    pub(crate) fn cannot_affect(&self, sla: &Sla) -> bool {
        self.jobs.is_empty() || self.n_with_deadline == 0 && sla.deadline.is_some()
    }

    /// What a job is told at the door. One without a deadline waits for room, and behind those that
    /// wait for it; to one with a deadline nothing can be promised then.
    pub(crate) fn decide_arrival(
        &self,
        view: View<'_>,
        spec: &JobSpec,
        admitted: Result<Credits, Reason>,
    ) -> AdmissionDecision {
        let may_wait = spec.sla.deadline.is_none();
        let line = view.is_limited() && self.jobs.len() > self.n_with_deadline;
        match admitted {
            Ok(_) if may_wait && line => AdmissionDecision::Queue,
            Ok(price) => AdmissionDecision::Run { price },
            Err(Reason::NodeFull) if may_wait => AdmissionDecision::Queue,
            Err(reason) => AdmissionDecision::Reject(reason),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.jobs.len()
    }

    /// All of them, in order.
    pub(crate) fn jobs(&self) -> Vec<JobId> {
        self.jobs.iter().map(|&(_, job)| job).collect()
    }
}

/// Whether a job that waits will not be let in however long it waits, because of what it would
/// cost, by the reason for which it cannot start now.
pub(crate) fn can_never_start(job: &JobSlot, reason: Reason) -> bool {
    let too_dear = matches!(reason, Reason::OverBudget | Reason::PriceOverBudget);
    too_dear && job.accepted.is_none()
}

/// Those who wait for room without a deadline, one behind the other: nobody overtakes the first, or
/// a wide job would wait for ever.
#[derive(Debug, Default)]
pub(crate) struct HeadOfLine {
    blocked: bool,
}

impl HeadOfLine {
    /// Whether somebody before this job found no room.
    pub(crate) fn is_blocked(&self, spec: &JobSpec) -> bool {
        self.blocked && spec.sla.deadline.is_none()
    }

    /// Takes note of why a job could not start.
    pub(crate) fn note_rejection(&mut self, spec: &JobSpec, reason: Reason) {
        self.blocked |= reason == Reason::NodeFull && spec.sla.deadline.is_none();
    }
}

/// The job as it would be handed in at `now` to be run from its start: with the time that is left to
/// its deadline, or without a deadline once that has passed. One that was let in keeps its price.
pub(crate) fn remaining_spec(job: &JobSlot, now: Instant) -> JobSpec {
    let spec = &job.spec;
    let left = spec.due().map(|due| due.since(now));
    let sla = Sla {
        deadline: left.filter(|&left| left > Span::TICK),
        budget: spec.sla.budget.filter(|_| job.accepted.is_none()),
        ..spec.sla
    };
    JobSpec {
        submit: now,
        sla,
        ..*spec
    }
}
