//! Jobs that wait for others to be over, or for their user, before anything is decided about them.
//!
//! The gate does not know them. What they would be told depends on when their turn comes, so
//! nothing is promised before; their deadline counts from their submission all the same.

use serde::{Deserialize, Serialize};
use tollgate_gate::JobEnding;
use tollgate_model::Reason;

use super::Core;
use super::answer::AdmissionCandidate;
use super::array::TaskCounts;
use super::command::{DependencyCondition, JobDependency, Submission};
use super::expected::RuntimeForecast;
use super::outcome::{
    AdmissionState, CommandError, RejectReason, RowChange, StepOutput, SubmitOutcome,
};
use super::rules;

/// A job that waits before the gate is asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeferredJob {
    /// As it was handed in, and when; it waits for those in its plan that are not over.
    pub(super) submission: Submission,
}

impl DeferredJob {
    /// How many tasks it has.
    pub(super) fn n_tasks(&self) -> u64 {
        self.submission.n_tasks()
    }

    /// The jobs that it waits for.
    pub fn after(&self) -> &[JobDependency] {
        &self.submission.plan.after
    }

    /// Whether it waits for its user too.
    pub fn is_held(&self) -> bool {
        self.submission.plan.held
    }

    fn is_ready(&self) -> bool {
        !self.is_held() && self.after().is_empty()
    }
}

impl Core {
    /// What a job is told that has to wait; none if it has not, or can never run.
    pub(super) fn wait_answer(
        &mut self,
        submission: &Submission,
        forecast: &RuntimeForecast,
    ) -> Option<SubmitOutcome> {
        let plan = &submission.plan;
        if plan.after.is_empty() && !plan.held {
            return None;
        }
        let (estimate, source) = self.rules.estimate(submission, forecast);
        let spec = rules::spec(submission, estimate, self.now, self.memory_per_node());
        let candidate = AdmissionCandidate::new(submission, spec, forecast);
        let never = match self.standing(self.now, &candidate) {
            AdmissionState::Rejected(refusals) => refusals.into_iter().find(|refusal| {
                matches!(
                    refusal,
                    RejectReason::Malformed
                        | RejectReason::Policy(Reason::TooManyProcs | Reason::NoMemory)
                )
            }),
            AdmissionState::Accepted { .. } | AdmissionState::Queued | AdmissionState::Deferred => {
                None
            }
        };
        if never.is_some() {
            return None;
        }
        Some(SubmitOutcome {
            standing: AdmissionState::Deferred,
            spec,
            source,
            basis: candidate.basis,
            prospect: None,
            offers: Vec::new(),
            held_until: None,
            parts: Vec::new(),
        })
    }

    /// Has a job wait. What is over by now it does not wait for.
    pub(super) fn wait(&mut self, job: u64, submission: &Submission, step: &mut StepOutput) {
        let mut submission = submission.clone();
        submission.plan.since = Some(self.now);
        let after = std::mem::take(&mut submission.plan.after);
        let mut failed = None;
        for earlier in after {
            if self.jobs.user_of(earlier.job).is_some() {
                self.jobs.followers.insert((earlier.job, job));
                submission.plan.after.push(earlier);
            } else if earlier.need == DependencyCondition::Success
                && !self.ended_well.contains(&earlier.job)
            {
                failed = failed.or(Some(earlier.job));
            }
        }
        self.jobs.waiting.insert(job, DeferredJob { submission });
        match failed {
            Some(by) => self.forsake(job, by, step),
            None => self.decide_if_ready(job),
        }
    }

    /// A job is over: those that waited for it go on, or will never start.
    pub(super) fn tell_followers(&mut self, job: u64, succeeded: bool, step: &mut StepOutput) {
        if succeeded {
            self.ended_well.insert(job);
        }
        let followers = self.jobs.followers.range((job, 0)..=(job, u64::MAX));
        let followers: Vec<u64> = followers.map(|&(_, later)| later).collect();
        for later in followers {
            self.jobs.followers.remove(&(job, later));
            let Some(waiting) = self.jobs.waiting.get_mut(&later) else {
                continue;
            };
            let plan = &mut waiting.submission.plan;
            let needs = plan.after.iter().filter(|earlier| earlier.job == job);
            let in_vain = !succeeded
                && needs
                    .clone()
                    .any(|it| it.need == DependencyCondition::Success);
            plan.after.retain(|earlier| earlier.job != job);
            if in_vain {
                self.forsake(later, job, step);
            } else {
                self.decide_if_ready(later);
            }
        }
    }

    fn decide_if_ready(&mut self, job: u64) {
        if self
            .jobs
            .waiting
            .get(&job)
            .is_some_and(DeferredJob::is_ready)
        {
            self.ready.push(job);
        }
    }

    /// Decides about jobs that have waited for long enough; whether there were any.
    pub(super) fn decide_ready(&mut self, step: &mut StepOutput) -> bool {
        let ready = std::mem::take(&mut self.ready);
        let any = !ready.is_empty();
        for job in ready {
            if let Some(waiting) = self.jobs.waiting.remove(&job) {
                let place = step.changes.len();
                let answer = self.admit(job, &waiting.submission, step);
                let rejected = matches!(answer.standing, AdmissionState::Rejected(_));
                step.changes
                    .insert(place, RowChange::Decided { job, answer });
                if rejected {
                    self.tell_followers(job, false, step);
                }
            }
        }
        any
    }

    /// Its user takes a job back that waits.
    pub(super) fn cancel_waiting(
        &mut self,
        job: u64,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        let waiting = self.forget_waiting(job).ok_or(CommandError::UnknownJob)?;
        let tally = TaskCounts::stillborn(&waiting.submission, false);
        step.changes
            .extend(tally.map(|tally| RowChange::Tally { job, tally }));
        let ending = JobEnding::Cancelled;
        step.changes.push(RowChange::Over { job, ending });
        self.tell_followers(job, false, step);
        Ok(())
    }

    /// Its user holds a job back that waits, or does so no more.
    pub(super) fn hold_waiting(
        &mut self,
        job: u64,
        hold: bool,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        let waiting = self.jobs.waiting.get_mut(&job);
        let plan = &mut waiting.ok_or(CommandError::UnknownJob)?.submission.plan;
        if plan.held == hold {
            return Err(CommandError::Gate(match hold {
                true => tollgate_gate::InputError::NotQueued,
                false => tollgate_gate::InputError::NotHeld,
            }));
        }
        plan.held = hold;
        step.changes.push(RowChange::Deferred { job, held: hold });
        self.decide_if_ready(job);
        Ok(())
    }

    /// The job that another one was to start after did not end as it should.
    fn forsake(&mut self, job: u64, by: u64, step: &mut StepOutput) {
        let waiting = self.forget_waiting(job);
        let tally = waiting.and_then(|waiting| TaskCounts::stillborn(&waiting.submission, false));
        step.changes
            .extend(tally.map(|tally| RowChange::Tally { job, tally }));
        step.changes.push(RowChange::Forsaken { job, by });
        self.tell_followers(job, false, step);
    }

    fn forget_waiting(&mut self, job: u64) -> Option<DeferredJob> {
        let waiting = self.jobs.waiting.remove(&job)?;
        for earlier in waiting.after() {
            self.jobs.followers.remove(&(earlier.job, job));
        }
        Some(waiting)
    }
}
