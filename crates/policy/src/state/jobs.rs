//! Jobs in their slots: submission, admission and removal.

use serde::{Deserialize, Serialize};
use tollgate_model::{
    Credits, HostSlowdown, Instant, JobId, JobSpec, NodeRange, RuntimeBelief, WorkProgress,
};

use super::{ClusterState, HeldDevices};
use crate::toolkit::BlockEntry;

/// The phase of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum JobPhase {
    /// The slot holds no job.
    Vacant,
    /// The job waits for a start.
    Queued,
    /// The job is held by its user; no policy has it in its queue.
    Held,
    /// At least one task of the job runs.
    Running,
    /// The job was rejected, cancelled, lost or has finished; the slot is recycled after the pass.
    Closed,
}

/// The admission of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Admission {
    /// The instant of admission.
    pub at: Instant,
    /// The price.
    pub price: Credits,
    /// The instant by which the policy plans the job's end, if that is not its deadline. Such a job takes the
    /// place in the order of deadlines that this instant gives it.
    pub due: Option<Instant>,
    /// False if the job has a deadline that is not promised: it runs where no promise suffers.
    pub is_promised: bool,
    /// Whether the promise counts on hosts that were not there when it was made.
    pub on_expected: bool,
}

/// A job in its slot, or a group of equal jobs that wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobSlot {
    /// The user's specification.
    pub spec: JobSpec,
    /// Number of equal jobs that wait in the slot, which were submitted together and have had one fate so far. At
    /// least 1, and 1 unless the slot is queued or held: whichever starts has a slot of its own.
    pub count: u32,
    /// The place in the order of submission of the job, or of the first of the group, whose places follow each other;
    /// breaks ties.
    pub sequence: u64,
    /// The job's phase.
    pub phase: JobPhase,
    /// Number of the present or last attempt. No slot uses a number twice, so that (slot, attempt)
    /// identifies an attempt for good.
    pub attempt: u32,
    /// The admission; None if the job is not admitted.
    pub accepted: Option<Admission>,
    /// The start of the present attempt.
    pub start: Option<Instant>,
    /// The start for which a policy last reserved processors. A plan, not a promise.
    pub planned: Option<Instant>,
    /// True if an operator lets the job be promised beyond its user's share.
    pub granted: bool,
    /// True if the user cancelled the job while it runs.
    pub cancelling: bool,
    pub(super) placement: Vec<NodeRange>,
    pub(super) devices: Vec<HeldDevices>,
    pub(super) tasks_left: u32,
    /// The progress of the present attempt at the last change of its speed; None if it has run at full speed since its
    /// start, or shares nodes.
    pub(super) slowed: Option<WorkProgress>,
    /// The speed of the tasks, if they run in step. Only simulations have such jobs; no snapshot has it.
    #[serde(skip)]
    pub(super) speed_in_step: f64,
}

impl JobSlot {
    /// Returns whether the job has a promise: of its deadline, or of nothing if it has none.
    pub fn is_promised(&self) -> bool {
        self.accepted.is_some_and(|admission| admission.is_promised)
    }

    /// Returns the nodes of the present attempt, including nodes whose task has ended already, in
    /// ascending order.
    pub fn placement(&self) -> &[NodeRange] {
        &self.placement
    }

    /// Returns the end of the job if its estimate is right; None while it does not run.
    pub fn estimated_end(&self) -> Option<Instant> {
        self.start.map(|start| start + self.spec.estimate)
    }

    /// Returns the progress of the present attempt, which has its nodes to itself. It begins at [`Instant::ZERO`] if the job
    /// does not run.
    pub fn progress(&self) -> WorkProgress {
        let start = self.start.unwrap_or(Instant::ZERO);
        let unslowed = WorkProgress::from_start(start, HostSlowdown::NONE);
        self.slowed.unwrap_or(unslowed)
    }

    pub(super) fn begin_attempt(&mut self, now: Instant, price: Credits) {
        assert_eq!(self.count, 1, "a group does not start as one");
        self.phase = JobPhase::Running;
        self.attempt += 1;
        self.accepted.get_or_insert(Admission {
            at: now,
            price,
            due: None,
            is_promised: true,
            on_expected: false,
        });
        self.start = Some(now);
        self.slowed = None;
        self.tasks_left = self.spec.procs;
    }

    pub(super) fn running_job(&self) -> RunningJob {
        RunningJob {
            end: self.estimated_end().unwrap_or(Instant::MAX),
            sequence: self.sequence,
            procs: self.spec.procs,
        }
    }
}

/// A running space-shared job, ordered by estimated end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunningJob {
    pub(crate) end: Instant,
    pub(super) sequence: u64,
    pub(crate) procs: u32,
}

impl BlockEntry for RunningJob {
    type Key = (Instant, u64);
    type Summary = u32;

    fn key(&self) -> (Instant, u64) {
        (self.end, self.sequence)
    }

    fn summary(block: &[Self]) -> u32 {
        block.iter().map(|runner| runner.procs).sum()
    }

    fn include(&self, sum: &mut u32) {
        *sum += self.procs;
    }

    fn exclude(&self, sum: &mut u32, _: &[Self]) {
        *sum -= self.procs;
    }

    fn merge(sum: &mut u32, more: &u32) {
        *sum += more;
    }
}

/// Submission and removal of jobs.
impl ClusterState {
    /// Adds a job to a slot, queued.
    pub fn insert(&mut self, spec: JobSpec) -> JobId {
        self.insert_group(spec, 1)
    }

    /// Adds equal jobs to one slot, queued.
    pub fn insert_group(&mut self, spec: JobSpec, count: u32) -> JobId {
        let sequence = self.submitted;
        self.submitted += u64::from(count);
        self.insert_at(spec, count, sequence)
    }

    /// Gives the first `n` jobs of a group a slot of their own, which is returned; the others stay.
    ///
    /// # Panics
    /// If the group has no more than `n` jobs, or does not wait.
    pub fn split(&mut self, id: JobId, n: u32) -> JobId {
        let group = &mut self.jobs[id.index()];
        assert!(
            n > 0 && n < group.count,
            "{id:?} has {} jobs, not {n} and more",
            group.count
        );
        let JobSlot {
            spec,
            sequence,
            phase,
            accepted,
            planned,
            granted,
            ..
        } = *group;
        group.count -= n;
        group.sequence += u64::from(n);
        let first = self.insert_at(spec, n, sequence);
        self.jobs[first.index()] = JobSlot {
            phase,
            accepted,
            planned,
            granted,
            ..self.jobs[first.index()].clone()
        };
        if let Some(forecast) = self.belief(id).copied() {
            self.set_forecast(first, forecast);
        }
        first
    }

    /// Takes the last `n` jobs out of a group, of which more are left.
    pub fn shrink(&mut self, id: JobId, n: u32) {
        let group = &mut self.jobs[id.index()];
        assert!(
            n < group.count,
            "{id:?} has {} jobs, not {n} and more",
            group.count
        );
        group.count -= n;
    }

    fn insert_at(&mut self, spec: JobSpec, count: u32, sequence: u64) -> JobId {
        if let Some(id) = self.vacant.pop() {
            let job = &mut self.jobs[id.index()];
            job.spec = spec;
            job.count = count;
            job.sequence = sequence;
            job.phase = JobPhase::Queued;
            return id;
        }
        let id = JobId(u32::try_from(self.jobs.len()).expect("fewer than 2^32 jobs at a time"));
        self.jobs.push(JobSlot {
            spec,
            count,
            sequence,
            phase: JobPhase::Queued,
            attempt: 0,
            accepted: None,
            start: None,
            planned: None,
            granted: false,
            cancelling: false,
            placement: Vec::new(),
            devices: Vec::new(),
            tasks_left: 0,
            slowed: None,
            speed_in_step: 0.0,
        });
        id
    }

    /// Records what is believed of the run time of the job in a slot.
    pub fn set_forecast(&mut self, id: JobId, forecast: RuntimeBelief) {
        if id.index() >= self.forecasts.len() {
            self.forecasts.resize(id.index() + 1, None);
        }
        self.forecasts[id.index()] = Some(forecast);
    }

    /// Admits a job. A job that was admitted before, and waits again, keeps its price and gets the place that it
    /// did not have. One that was admitted without a promise gets it now.
    pub fn accept(&mut self, id: JobId, now: Instant, price: Credits, due: Option<Instant>) {
        let job = &mut self.jobs[id.index()];
        assert!(
            matches!(job.phase, JobPhase::Queued | JobPhase::Running),
            "{id:?} is {:?} and cannot be accepted",
            job.phase
        );
        let promise = Admission {
            at: now,
            price,
            due,
            is_promised: true,
            on_expected: false,
        };
        let admission = job.accepted.get_or_insert(promise);
        match admission.is_promised {
            true => admission.due = admission.due.or(due),
            false => {
                *admission = Admission {
                    price: admission.price,
                    ..promise
                }
            }
        }
    }

    /// Notes that the promise of a job counts on hosts that are not there yet.
    pub fn note_expected(&mut self, id: JobId) {
        if let Some(admission) = &mut self.jobs[id.index()].accepted {
            admission.on_expected = admission.is_promised;
        }
    }

    /// Admits a job without a promise of its deadline, or plans the end of one that was admitted so.
    pub fn admit_unpromised(
        &mut self,
        id: JobId,
        now: Instant,
        price: Credits,
        due: Option<Instant>,
    ) {
        let job = &mut self.jobs[id.index()];
        assert_eq!(job.phase, JobPhase::Queued, "{id:?}");
        let admission = job.accepted.get_or_insert(Admission {
            at: now,
            price,
            due,
            is_promised: false,
            on_expected: false,
        });
        assert!(!admission.is_promised, "{id:?} has a promise");
        admission.due = admission.due.or(due);
    }

    /// Takes the deadline off a job that is not admitted.
    pub fn drop_deadline(&mut self, id: JobId) {
        let job = &mut self.jobs[id.index()];
        assert!(job.accepted.is_none(), "{id:?} is admitted");
        job.spec.sla.deadline = None;
    }

    /// Lets a queued job run only on hosts without users.
    pub fn dedicate(&mut self, id: JobId) {
        self.jobs[id.index()].spec.needs.dedicated = true;
    }

    /// Lets a job be promised beyond its user's share.
    pub fn grant(&mut self, id: JobId) {
        self.jobs[id.index()].granted = true;
    }

    /// Records when a policy means to start a queued job.
    pub fn set_planned_start(&mut self, id: JobId, at: Instant) {
        self.jobs[id.index()].planned = Some(at);
    }

    /// Holds a queued job, or releases it.
    pub fn set_held(&mut self, id: JobId, held: bool) {
        let job = &mut self.jobs[id.index()];
        let (from, to) = if held {
            (JobPhase::Queued, JobPhase::Held)
        } else {
            (JobPhase::Held, JobPhase::Queued)
        };
        assert_eq!(job.phase, from, "{id:?}");
        job.phase = to;
    }

    /// Marks a running job as being cancelled.
    pub fn set_cancelling(&mut self, id: JobId) {
        self.jobs[id.index()].cancelling = true;
    }

    /// Ends a job that does not run: rejected, cancelled, lost, finished.
    pub fn close(&mut self, id: JobId) {
        let job = &mut self.jobs[id.index()];
        assert!(
            matches!(job.phase, JobPhase::Queued | JobPhase::Held),
            "{id:?} is {:?} and cannot be closed",
            job.phase
        );
        job.phase = JobPhase::Closed;
        self.over.push(id);
    }

    /// Recycles the slots of ended jobs. Until then drivers can still read them.
    pub fn recycle(&mut self) {
        for id in self.over.drain(..) {
            let job = &mut self.jobs[id.index()];
            job.phase = JobPhase::Vacant;
            job.accepted = None;
            job.start = None;
            job.planned = None;
            job.granted = false;
            job.cancelling = false;
            job.placement.clear();
            if let Some(forecast) = self.forecasts.get_mut(id.index()) {
                *forecast = None;
            }
            self.vacant.push(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use tollgate_model::{Sla, Span, UserId};

    use super::*;

    #[test]
    fn promise_after_a_start_without_one_costs_its_quoted_price() {
        let mut state = ClusterState::default();
        state.add_nodes(1);
        let job = state.insert(JobSpec {
            restarts: 0,
            submit: Instant::ZERO,
            estimate: Span::from_secs(60),
            procs: 1,
            memory: 0,
            needs: Default::default(),
            user: UserId(0),
            sla: Sla::default(),
        });
        let [stated, later] = [5.0, 7.0].map(Credits::from_f64);
        state.admit_unpromised(job, Instant::ZERO, stated, None);
        state.accept(job, Instant::from_secs(9), later, None);
        let admission = state.job(job).accepted.expect("admitted");
        assert!(admission.is_promised);
        assert_eq!(
            (admission.price, admission.at),
            (stated, Instant::from_secs(9))
        );
    }
}
