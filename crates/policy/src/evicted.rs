//! Jobs of a time-shared policy that were taken off their nodes: they keep their promise and start
//! again as soon as nodes suit.

use std::collections::BTreeSet;

use tollgate_model::{Instant, JobId, JobSpec, Sla, Span};

use crate::state::{Job, Phase, View};

/// Evicted jobs, in order of submission.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evicted {
    jobs: BTreeSet<(u64, JobId)>,
    /// How many of them have a deadline.
    due: usize,
}

impl Evicted {
    /// Every job that waits: nobody else does under a time-shared policy.
    pub(crate) fn of(view: View<'_>) -> Self {
        let mut all = Self::default();
        for (id, job) in view.jobs() {
            if job.phase == Phase::Queued {
                all.insert(view, id);
            }
        }
        all
    }

    pub(crate) fn insert(&mut self, view: View<'_>, job: JobId) {
        let Job { sequence, spec, .. } = view.job(job);
        if self.jobs.insert((*sequence, job)) {
            self.due += usize::from(spec.sla.deadline.is_some());
        }
    }

    pub(crate) fn remove(&mut self, view: View<'_>, job: JobId) {
        let Job { sequence, spec, .. } = view.job(job);
        if self.jobs.remove(&(*sequence, job)) {
            self.due -= usize::from(spec.sla.deadline.is_some());
        }
    }

    /// Whether none of them can make a difference to a job with this wish. One without a deadline
    /// has no share: it takes nothing from a job that has one, as long as that is not late.
    pub(crate) fn spares(&self, sla: &Sla) -> bool {
        self.jobs.is_empty() || self.due == 0 && sla.deadline.is_some()
    }

    pub(crate) fn len(&self) -> usize {
        self.jobs.len()
    }

    /// All of them, in order.
    pub(crate) fn all(&self) -> Vec<JobId> {
        self.jobs.iter().map(|&(_, job)| job).collect()
    }
}

/// The job as it would be handed in at `now` to be run from its start again: with the time that
/// is left to its deadline, or without a deadline once that has passed.
pub(crate) fn what_is_left(spec: &JobSpec, now: Instant) -> JobSpec {
    let left = spec.due().map(|due| due.since(now));
    let sla = Sla {
        deadline: left.filter(|&left| left > Span::TICK),
        budget: None,
        ..spec.sla
    };
    JobSpec {
        submit: now,
        sla,
        ..*spec
    }
}
