//! The waiting jobs of a time-shared policy. Evicted jobs keep their promise and restart as soon as
//! nodes suit. Jobs without a deadline for which no node had capacity start in order of submission
//! as soon as a node has.

use std::collections::BTreeSet;

use tollgate_model::{Credits, Instant, JobId, JobSpec, Reason, Sla, Span};

use crate::policy::AdmissionDecision;
use crate::state::{JobPhase, JobSlot, View};

/// The waiting jobs of a time-shared policy, in order of submission.
///
/// ```
/// use tollgate_model::{Credits, Instant, JobSpec, Reason, Sla, Span, UserId};
/// use tollgate_policy::toolkit::Waitlist;
/// use tollgate_policy::{AdmissionDecision, ClusterState, View};
///
/// let mut state = ClusterState::default();
/// state.add_nodes(1);
/// state.set_task_limit(Some(1));
/// let without_deadline = JobSpec {
///     submit: Instant::ZERO,
///     estimate: Span::from_secs(60),
///     procs: 1,
///     memory: 0,
///     needs: Default::default(),
///     restarts: 0,
///     user: UserId(0),
///     sla: Sla::default(),
/// };
/// let job = state.insert(without_deadline);
/// let view = View::new(&state, Instant::ZERO);
/// let mut waitlist = Waitlist::default();
/// let full = Err(Reason::NodeFull);
/// let answer = waitlist.decide_arrival(view, &without_deadline, full);
/// assert_eq!(answer, AdmissionDecision::Queue);
/// waitlist.insert(view, job);
///
/// // The next one waits behind it, although a node has become free; a promise is made now or not
/// // at all.
/// let free = Ok(Credits::ZERO);
/// let answer = waitlist.decide_arrival(view, &without_deadline, free);
/// assert_eq!(answer, AdmissionDecision::Queue);
/// let with_deadline = JobSpec {
///     sla: Sla { deadline: Some(Span::from_secs(90)), ..Sla::default() },
///     ..without_deadline
/// };
/// let answer = waitlist.decide_arrival(view, &with_deadline, full);
/// assert_eq!(answer, AdmissionDecision::Reject(Reason::NodeFull));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Waitlist {
    jobs: BTreeSet<(u64, JobId)>,
    /// Number of waiting jobs with a deadline.
    n_with_deadline: usize,
}

impl Waitlist {
    /// Collects every waiting job.
    pub fn of(view: View<'_>) -> Self {
        let mut all = Self::default();
        for (id, job) in view.jobs() {
            if job.phase == JobPhase::Queued {
                all.insert(view, id);
            }
        }
        all
    }

    /// Adds a job, if it is not there already.
    pub fn insert(&mut self, view: View<'_>, job: JobId) {
        let JobSlot { sequence, spec, .. } = view.job(job);
        if self.jobs.insert((*sequence, job)) {
            self.n_with_deadline += usize::from(spec.sla.deadline.is_some());
        }
    }

    /// Removes a job, if it is there.
    pub fn remove(&mut self, view: View<'_>, job: JobId) {
        let JobSlot { sequence, spec, .. } = view.job(job);
        if self.jobs.remove(&(*sequence, job)) {
            self.n_with_deadline -= usize::from(spec.sla.deadline.is_some());
        }
    }

    /// Returns true if no waiting job can affect a job with this SLA. A job without a deadline has
    /// no share. As long as the other job is not late, starting the waiting job beside it
    /// only causes shares to be recomputed a little earlier.
    pub fn cannot_affect(&self, sla: &Sla) -> bool {
        self.is_empty() || self.n_with_deadline == 0 && sla.deadline.is_some()
    }

    /// Returns the admission decision for a newly submitted job, given the price at which it could
    /// start now, or the reason for which it cannot. A job without a deadline queues
    /// for capacity behind the jobs that already wait; a job with a deadline is rejected then.
    pub fn decide_arrival(
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

    /// Returns the number of waiting jobs.
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Returns true if no job waits.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Returns all waiting jobs, in order.
    pub fn jobs(&self) -> Vec<JobId> {
        self.jobs.iter().map(|&(_, job)| job).collect()
    }
}

/// Returns true if a waiting job can never be admitted because of its cost, given the reason for
/// which it cannot start now.
pub fn can_never_start(job: &JobSlot, reason: Reason) -> bool {
    let over_price = matches!(reason, Reason::OverBudget | Reason::PriceOverBudget);
    over_price && job.accepted.is_none()
}

/// The strict order of the waiting jobs without a deadline during a pass: no job overtakes the
/// first, or a wide job would starve.
#[derive(Debug, Default)]
pub struct HeadOfLine {
    blocked: bool,
}

impl HeadOfLine {
    /// Returns true if an earlier job found no capacity.
    pub fn is_blocked(&self, spec: &JobSpec) -> bool {
        self.blocked && spec.sla.deadline.is_none()
    }

    /// Records why a job could not start.
    pub fn note_rejection(&mut self, spec: &JobSpec, reason: Reason) {
        self.blocked |= reason == Reason::NodeFull && spec.sla.deadline.is_none();
    }
}

/// Returns the job as if submitted at `now` to run from its start: with the time that is left to
/// its deadline, or without a deadline once that has passed. An admitted job keeps its price.
pub fn remaining_spec(job: &JobSlot, now: Instant) -> JobSpec {
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
