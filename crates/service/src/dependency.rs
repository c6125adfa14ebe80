//! Jobs that wait for other jobs, for an instant, or for their user, before their admission decision.
//!
//! The gate does not know these jobs. Their outcome depends on when the wait ends and on what is queued by
//! then, so nothing is promised before; the deadline counts from the submission all the same.

use tollgate_model::{Instant, JobEndState, Reason};

use crate::admission_candidate::AdmissionCandidate;
use crate::array::task_counts::TaskCounts;
use crate::command::Submission;
use crate::core::Core;
use crate::jobs::JobTable;
use crate::output::{
    AdmissionState, CommandError, RejectReason, RowChange, StepOutput, SubmitOutcome,
};

impl JobTable {
    /// Returns the next instant for which a job waits.
    pub(crate) fn next_begin(&self) -> Option<Instant> {
        self.begins.first().map(|(begin, _)| *begin)
    }

    /// Removes and returns a job whose instant has come by `now`.
    fn take_begun(&mut self, now: Instant) -> Option<u64> {
        self.begins.first().filter(|(begin, _)| *begin <= now)?;
        let (_, job) = self.begins.pop_first()?;
        if let Some(waiting) = self.deferred.get_mut(&job) {
            waiting.options.begin = None;
        }
        Some(job)
    }
}

impl Core {
    /// Returns the outcome at `at` of a job that has to wait; None if the job need not wait or can never
    /// run.
    pub(crate) fn deferral_outcome(
        &mut self,
        at: Instant,
        submission: &Submission,
    ) -> Option<SubmitOutcome> {
        if submission.options.is_ready() {
            return None;
        }
        let forecast = &self.forecast(submission, None);
        let (estimate, source) = forecast.estimate();
        let spec = self.spec_of(submission, estimate, at);
        let candidate = AdmissionCandidate::new(submission, spec, forecast);
        let never = match self.admission_state(at, &candidate) {
            AdmissionState::Rejected(refusals) => refusals.into_iter().find(|refusal| {
                matches!(
                    refusal,
                    RejectReason::Malformed
                        | RejectReason::Resource(_)
                        | RejectReason::UnknownHost(_)
                        | RejectReason::HostsUnplanned
                        | RejectReason::Memory { .. }
                        | RejectReason::Policy(Reason::TooManyProcs | Reason::NoMemory)
                )
            }),
            AdmissionState::Accepted { .. }
            | AdmissionState::Queued
            | AdmissionState::Waitlisted { .. }
            | AdmissionState::Unpromised(_)
            | AdmissionState::Deferred => None,
        };
        if never.is_some() {
            return None;
        }
        Some(SubmitOutcome {
            admission: AdmissionState::Deferred,
            spec,
            source,
            distribution: candidate.distribution,
            basis: candidate.basis,
            prediction: None,
            offers: Vec::new(),
            promisable: None,
            reserved_until: None,
            begin: submission.options.begin,
            groups: Vec::new(),
            unpredictable: submission.options.unpredictable,
            time_limit: self.rules.enforced_limit(submission),
            usage: Some(self.expected_usage(submission)),
            slowest_host: self.slowest_host(),
        })
    }

    /// Defers a job. Predecessors that have already finished are dropped, as is an instant that has passed.
    pub(crate) fn defer(&mut self, job: u64, submission: &Submission, step: &mut StepOutput) {
        let mut submission = submission.clone();
        submission.options.submitted = Some(self.now);
        let after = std::mem::take(&mut submission.options.dependencies);
        let mut failed = None;
        for earlier in after {
            if self.jobs.user_of(earlier.job).is_some() {
                self.jobs.dependents.insert((earlier.job, job));
                submission.options.dependencies.push(earlier);
            } else if !earlier
                .condition
                .is_met_by(self.succeeded.contains(&earlier.job))
            {
                failed = failed.or(Some(earlier.job));
            }
        }
        let begin = submission.options.begin.filter(|begin| *begin > self.now);
        submission.options.begin = begin;
        self.jobs.begins.extend(begin.map(|begin| (begin, job)));
        self.jobs.deferred.insert(job, submission);
        match failed {
            Some(by) => self.cancel_dependent(job, by, step),
            None => self.release_if_ready(job),
        }
    }

    /// Handles the end of a job: its dependents may go on, or will never start.
    pub(crate) fn notify_dependents(&mut self, job: u64, succeeded: bool, step: &mut StepOutput) {
        if succeeded {
            self.succeeded.insert(job);
        }
        let followers = self.jobs.dependents.range((job, 0)..=(job, u64::MAX));
        let followers: Vec<u64> = followers.map(|&(_, later)| later).collect();
        for later in followers {
            self.jobs.dependents.remove(&(job, later));
            let Some(waiting) = self.jobs.deferred.get_mut(&later) else {
                continue;
            };
            let plan = &mut waiting.options;
            let mut needs = plan
                .dependencies
                .iter()
                .filter(|earlier| earlier.job == job);
            let in_vain = needs.any(|earlier| !earlier.condition.is_met_by(succeeded));
            plan.dependencies.retain(|earlier| earlier.job != job);
            if in_vain {
                self.cancel_dependent(later, job, step);
            } else {
                self.release_if_ready(later);
            }
        }
    }

    /// Lets the jobs go on whose instant has come.
    pub(crate) fn release_begun(&mut self) {
        while let Some(job) = self.jobs.take_begun(self.now) {
            self.release_if_ready(job);
        }
    }

    pub(crate) fn release_if_ready(&mut self, job: u64) {
        let waiting = self.jobs.deferred.get(&job);
        if waiting.is_some_and(|waiting| waiting.options.is_ready()) {
            self.released.push(job);
        }
    }

    /// Decides about the jobs whose wait is over. Returns whether there were any.
    pub(crate) fn decide_released(&mut self, step: &mut StepOutput) -> bool {
        let ready = std::mem::take(&mut self.released);
        let any = !ready.is_empty();
        for job in ready {
            if let Some(waiting) = self.jobs.deferred.remove(&job) {
                let place = step.changes.len();
                let waiting = self.treated(&waiting);
                let answer = self.admit(job, &waiting, step);
                let rejected = matches!(answer.admission, AdmissionState::Rejected(_));
                step.changes
                    .insert(place, RowChange::Decided { job, answer });
                if rejected {
                    self.notify_dependents(job, false, step);
                } else {
                    self.hold_early(job, &waiting.options.early, step);
                }
            }
        }
        any
    }

    /// Cancels a waiting job.
    pub(crate) fn cancel_deferred(
        &mut self,
        job: u64,
        step: &mut StepOutput,
    ) -> Result<(), CommandError> {
        let waiting = self.remove_deferred(job).ok_or(CommandError::UnknownJob)?;
        let tally = TaskCounts::never_started(&waiting, false);
        step.changes
            .extend(tally.map(|tally| RowChange::ArrayCounts { job, counts: tally }));
        let ending = JobEndState::Cancelled;
        step.changes.push(RowChange::JobEnded { job, ending });
        self.notify_dependents(job, false, step);
        Ok(())
    }

    /// Cancels a job because its predecessor did not end as it had to.
    fn cancel_dependent(&mut self, job: u64, by: u64, step: &mut StepOutput) {
        let waiting = self.remove_deferred(job);
        let tally = waiting.and_then(|waiting| TaskCounts::never_started(&waiting, false));
        step.changes
            .extend(tally.map(|tally| RowChange::ArrayCounts { job, counts: tally }));
        step.changes.push(RowChange::DependencyFailed { job, by });
        self.notify_dependents(job, false, step);
    }

    fn remove_deferred(&mut self, job: u64) -> Option<Submission> {
        let waiting = self.jobs.deferred.remove(&job)?;
        for earlier in &waiting.options.dependencies {
            self.jobs.dependents.remove(&(earlier.job, job));
        }
        if let Some(begin) = waiting.options.begin {
            self.jobs.begins.remove(&(begin, job));
        }
        Some(waiting)
    }
}
