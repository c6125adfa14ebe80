//! Submission of jobs.

use tollgate_gate::GateInput;
use tollgate_model::{Instant, JobSpec, Sla, TaskId};

use crate::active_task::ActiveTask;
use crate::admission_candidate::AdmissionCandidate;
use crate::array::{ActiveArray, TaskCounts};
use crate::command::Submission;
use crate::core::Core;
use crate::output::{
    AdmissionState, CommandResult, RejectReason, RowChange, StepOutput, SubmitOutcome,
};

impl Core {
    pub(crate) fn submit(
        &mut self,
        submission: &Submission,
        step: &mut StepOutput,
    ) -> CommandResult {
        let submission = &*self.treated(submission);
        if let Some(answer) = self.deferral_outcome(self.now, submission) {
            let job = self.jobs.next_number();
            step.changes.push(RowChange::Submitted {
                job,
                submission: Box::new(submission.clone()),
                answer: answer.clone(),
            });
            self.defer(job, submission, step);
            return CommandResult::Submitted { job, answer };
        }
        if submission.reserve_for.is_some() {
            let answer = self.evaluate(self.now, submission);
            if answer.reserved_until.is_none() {
                return CommandResult::NotReserved { answer };
            }
        }
        let job = self.jobs.next_number();
        let place = step.changes.len();
        let answer = self.admit(job, submission, step);
        let submitted = RowChange::Submitted {
            job,
            submission: Box::new(submission.clone()),
            answer: answer.clone(),
        };
        step.changes.insert(place, submitted);
        CommandResult::Submitted { job, answer }
    }

    /// Decides about a job whose turn has come. The job is submitted to the gate unless it is
    /// rejected.
    pub(crate) fn admit(
        &mut self,
        job: u64,
        submission: &Submission,
        step: &mut StepOutput,
    ) -> SubmitOutcome {
        let answer = self.evaluate(self.now, submission);
        let answer = self.admit_as(job, submission, answer, step);
        let n_requested = answer.n_requested(submission);
        self.gate.note_request(self.now, &answer.spec, n_requested);
        answer
    }

    /// Submits a job to the gate with the answer about it, unless it is rejected.
    pub(crate) fn admit_as(
        &mut self,
        job: u64,
        submission: &Submission,
        mut answer: SubmitOutcome,
        step: &mut StepOutput,
    ) -> SubmitOutcome {
        if matches!(answer.admission, AdmissionState::Rejected(_)) {
            let tally = TaskCounts::never_started(submission, true);
            step.changes
                .extend(tally.map(|tally| RowChange::ArrayCounts { job, counts: tally }));
            return answer;
        }
        if let Some(plan) = &submission.options.array {
            let array = ActiveArray::new(submission, plan, self.now);
            self.jobs.arrays.insert(job, array);
            answer.groups = self.admit_tasks(job, submission, plan, &answer, step);
        } else if let AdmissionState::Unpromised(reasons) = &answer.admission
            && !self.runs_with_deadline(reasons)
        {
            let submission = submission.without_deadline();
            let sla = Sla {
                deadline: None,
                confidence: None,
                ..answer.spec.sla
            };
            let spec = JobSpec { sla, ..answer.spec };
            let due = answer.spec.due();
            self.admit_task(job.into(), &submission, spec, None, step);
            self.mark_unpromised(job.into(), due);
        } else {
            self.admit_task(
                job.into(),
                submission,
                answer.spec,
                answer.reserved_until,
                step,
            );
            match answer.admission {
                AdmissionState::Unpromised(_) => self.mark_unpromised(job.into(), None),
                AdmissionState::Accepted { .. } => {
                    let raw = answer.prediction.and_then(|prospect| prospect.raw);
                    self.note_promise(job.into(), raw);
                }
                AdmissionState::Rejected(_)
                | AdmissionState::Waitlisted { .. }
                | AdmissionState::Queued
                | AdmissionState::Deferred => {}
            }
        }
        answer
    }

    /// Returns whether a job that is not promised for these reasons runs with its deadline: the policy runs such
    /// jobs, and would not promise this one.
    pub(crate) fn runs_with_deadline(&self, reasons: &[RejectReason]) -> bool {
        let is_of_policy = |reason: &RejectReason| {
            !matches!(
                reason,
                RejectReason::Confidence { .. } | RejectReason::Unpredictable
            )
        };
        self.rules.policy.runs_unpromised() && reasons.iter().all(is_of_policy)
    }

    /// Marks a task in the gate as one that runs without a promise because its deadline could not be
    /// promised yet. `withdrawn_due` is that deadline, if its specification leaves it out.
    pub(crate) fn mark_unpromised(&mut self, task: TaskId, withdrawn_due: Option<Instant>) {
        if let Some(live) = self.jobs.get_mut(task) {
            live.unpromised = true;
            live.withdrawn_due = withdrawn_due;
        }
    }

    /// Submits a task to the gate, which is not going to reject it: nothing has changed since its
    /// verdict.
    pub(crate) fn admit_task(
        &mut self,
        task: TaskId,
        submission: &Submission,
        spec: JobSpec,
        held: Option<Instant>,
        step: &mut StepOutput,
    ) {
        let class_job = self.classes.add(&submission.into());
        let forecast = self.forecast_facts(submission, &class_job, Some(task.job));
        let candidate = AdmissionCandidate::new(submission, spec, &forecast);
        let mut live = ActiveTask::new(submission, class_job, forecast, spec);
        live.reserved_until = held;
        let (spec, reserved_for) = self.policy_request(&candidate);
        let input = GateInput::Submitted {
            spec,
            on_eviction: submission.retry,
            forecast: Some(live.forecast.belief(reserved_for)),
        };
        let answered = self.gate.handle(self.now, input, &mut self.effects);
        let Ok(tollgate_gate::InputAck::Job(slot)) = answered else {
            unreachable!("the job was probed just now: {answered:?}");
        };
        self.jobs.insert(task, slot, live);
        self.look_ahead.invalidate(slot);
        self.apply_effects(step);
    }
}
