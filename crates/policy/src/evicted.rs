//! Jobs of a time-shared policy that were taken off their nodes: they keep their promise and start
//! again as soon as nodes suit.

use std::collections::BTreeSet;

use tollgate_model::{Instant, JobId, JobSpec, Sla, Span};

use crate::state::{Phase, View};

/// Evicted jobs, in order of submission.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evicted(BTreeSet<(u64, JobId)>);

impl Evicted {
    /// Every job that waits: nobody else does under a time-shared policy.
    pub(crate) fn of(view: View<'_>) -> Self {
        let waiting = view.jobs().filter(|(_, job)| job.phase == Phase::Queued);
        Self(waiting.map(|(id, job)| (job.sequence, id)).collect())
    }

    pub(crate) fn insert(&mut self, view: View<'_>, job: JobId) {
        self.0.insert((view.job(job).sequence, job));
    }

    pub(crate) fn remove(&mut self, view: View<'_>, job: JobId) {
        self.0.remove(&(view.job(job).sequence, job));
    }

    /// All of them, in order.
    pub(crate) fn all(&self) -> Vec<JobId> {
        self.0.iter().map(|&(_, job)| job).collect()
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
