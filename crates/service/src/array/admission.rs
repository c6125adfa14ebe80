//! Tasks that are submitted to the gate, with the array or as earlier ones start.

use tollgate_gate::{GateInput, InputAck, JobPrediction};
use tollgate_model::{Credits, JobId, JobSpec, Otherwise, Probability, Reason, TaskId};

use crate::active_task::ActiveTask;
use crate::admission_candidate::AdmissionCandidate;
use crate::command::{ArraySpec, Submission};
use crate::core::Core;
use crate::output::{
    AdmissionState, RejectReason, RowChange, StepOutput, SubmitOutcome, TaskDropCause,
    TaskGroupOutcome,
};
use crate::task_ranges::TaskRanges;

/// The probability of a promise is computed again after another eighth of the tasks so far.
const PREDICTION_INTERVAL: u32 = 8;

impl Core {
    /// Submits tasks of a registered array to the gate, the first of which has the outcome `first`. Returns the outcomes
    /// of all that are not materialised.
    pub(crate) fn admit_tasks(
        &mut self,
        job: u64,
        submission: &Submission,
        plan: &ArraySpec,
        first: &SubmitOutcome,
        step: &mut StepOutput,
    ) -> Vec<TaskGroupOutcome> {
        if self.decides_together(submission) {
            for group in &first.groups {
                self.admit_group(job, group, first.spec, step);
            }
            return first.groups.clone();
        }
        let mut parts = Vec::new();
        let mut admission = first.admission.clone();
        let mut prospect = first.prediction;
        let mut look_at = 1;
        for n in 1.. {
            let Some((task, room)) = self.next_task(job) else {
                break;
            };
            let promised = submission.deadline.is_some() && plan.max_at_once.is_none();
            let may_come =
                room || (promised && matches!(admission, AdmissionState::Accepted { .. }));
            if let AdmissionState::Rejected(refusals) = &admission {
                if let Some(unpromised) = self.go_on_unpromised(job, refusals) {
                    admission = unpromised;
                    break;
                }
                let rest = self.drop_pending(job, refusals, step);
                push_group(&mut parts, rest, &admission);
                break;
            }
            if !may_come {
                break;
            }
            self.admit_next_task(job, task, step);
            push_group(&mut parts, TaskRanges::new(task, task), &admission);
            let look = n >= look_at;
            if look {
                look_at = n + n / PREDICTION_INTERVAL + 1;
            }
            admission = self.evaluate_task(job, look, &mut prospect);
        }
        if let Some(array) = self.jobs.arrays.get(&job) {
            let waiting = match admission {
                AdmissionState::Unpromised(_) => &admission,
                AdmissionState::Accepted { .. }
                | AdmissionState::Queued
                | AdmissionState::Waitlisted { .. }
                | AdmissionState::Deferred
                | AdmissionState::Rejected(_) => &AdmissionState::Queued,
            };
            push_group(&mut parts, array.pending.clone(), waiting);
        }
        parts
    }

    /// Submits tasks that were decided together.
    fn admit_group(
        &mut self,
        job: u64,
        group: &TaskGroupOutcome,
        spec: JobSpec,
        step: &mut StepOutput,
    ) {
        match &group.admission {
            AdmissionState::Unpromised(reasons) if self.runs_with_deadline(reasons) => {
                let slot = self.admit_together(job, &group.tasks, spec, step);
                if let Some(slot) = slot {
                    self.jobs.mark_unpromised_in(slot);
                }
            }
            AdmissionState::Unpromised(_) => self.withdraw_deadline(job),
            AdmissionState::Rejected(reasons) => self.drop_tasks(job, &group.tasks, reasons, step),
            AdmissionState::Accepted { .. }
            | AdmissionState::Queued
            | AdmissionState::Waitlisted { .. }
            | AdmissionState::Deferred => {
                self.admit_together(job, &group.tasks, spec, step);
            }
        }
    }

    /// Lets the unmaterialised tasks of an array run without a promise if its user wants that, and they
    /// can; returns their state then.
    fn go_on_unpromised(&mut self, job: u64, reasons: &[RejectReason]) -> Option<AdmissionState> {
        let array = self.jobs.arrays.get(&job)?;
        let has_deadline = array.submission.deadline.is_some();
        if array.submission.options.otherwise != Otherwise::Run || !has_deadline {
            return None;
        }
        let before = array.submission.clone();
        self.withdraw_deadline(job);
        if self.evaluate_task(job, false, &mut None).may_run() {
            return Some(AdmissionState::Unpromised(reasons.to_vec()));
        }
        let array = self.jobs.arrays.get_mut(&job)?;
        (array.submission, array.withdrawn_due) = (before, None);
        None
    }

    /// Lets the unmaterialised tasks of an array run without a promise.
    fn withdraw_deadline(&mut self, job: u64) {
        if let Some(array) = self.jobs.arrays.get_mut(&job) {
            let submitted = array.submission.options.submitted;
            let due = array.submission.deadline.zip(submitted);
            array.withdrawn_due = due.map(|(deadline, submitted)| submitted + deadline);
            array.submission = array.submission.without_deadline();
        }
    }

    /// Returns whether the policy decides on all tasks of an array together. Only promises are made for
    /// all of them at once.
    pub(crate) fn decides_together(&self, submission: &Submission) -> bool {
        let has_promise = submission.deadline.is_some();
        has_promise && submission.options.n_together() > 1 && self.rules.policy.decides_arrays()
    }

    /// Submits tasks of an array to the gate, which has one decision and one slot for all of them; returns the slot.
    fn admit_together(
        &mut self,
        job: u64,
        tasks: &TaskRanges,
        spec: JobSpec,
        step: &mut StepOutput,
    ) -> Option<JobId> {
        let array = self.jobs.arrays.get_mut(&job)?;
        array.pending.remove(tasks);
        let submission = array.submission.clone();
        let class_job = self.classes.add(&(&submission).into());
        let forecast = self.forecast_facts(&submission, &class_job, Some(job));
        let candidate = AdmissionCandidate::new(&submission, spec, &forecast);
        let (for_policy, distribution) = self.policy_request(&candidate);
        let live = ActiveTask::new(&submission, class_job, forecast, spec);
        let input = GateInput::SubmittedArray {
            spec: for_policy,
            count: u32::try_from(tasks.len()).unwrap_or(u32::MAX),
            on_eviction: submission.retry,
            forecast: Some(live.forecast.belief(distribution)),
        };
        let answered = self.gate.handle(self.now, input, &mut self.effects);
        let Ok(InputAck::Job(slot)) = answered else {
            unreachable!("the array was probed just now: {answered:?}");
        };
        self.jobs.insert_group(job, tasks.clone(), slot, live);
        self.look_ahead.invalidate(slot);
        self.apply_effects(step);
        Some(slot)
    }

    /// Submits the tasks of arrays that may now enter the gate. Returns whether there were any.
    pub(crate) fn materialise_tasks(&mut self, step: &mut StepOutput) -> bool {
        let arrays = self.jobs.arrays.iter();
        let arrays =
            arrays.filter(|(_, array)| !array.pending.is_empty() || array.n_awaiting_turn() > 0);
        let arrays: Vec<u64> = arrays.map(|(&job, _)| job).collect();
        let mut fed = false;
        for job in arrays {
            fed |= self.give_turns(job, step);
            while let Some((task, true)) = self.next_task(job) {
                fed = true;
                let admission = self.evaluate_task(job, true, &mut None);
                if let AdmissionState::Rejected(refusals) = &admission {
                    if self.go_on_unpromised(job, refusals).is_some() {
                        continue;
                    }
                    // The tasks behind this one would get the same answer, as a rejection changes
                    // nothing.
                    self.drop_pending(job, refusals, step);
                    self.finish_array(job, step);
                    break;
                }
                self.admit_next_task(job, task, step);
            }
        }
        fed
    }

    /// Returns the next task, and whether it may enter the gate without a promise.
    fn next_task(&self, job: u64) -> Option<(u32, bool)> {
        let array = self.jobs.arrays.get(&job)?;
        let task = array.pending.first()?;
        Some((task, array.can_add_task(self.gate.view(self.now).n_nodes())))
    }

    pub(crate) fn admit_next_task(&mut self, job: u64, task: u32, step: &mut StepOutput) {
        let Some(array) = self.jobs.arrays.get_mut(&job) else {
            return;
        };
        array.pending.pop_first();
        let (submission, withdrawn_due) = (array.submission.clone(), array.withdrawn_due);
        let forecast = self.forecast(&submission, Some(job));
        let (estimate, _) = forecast.estimate();
        let spec = self.spec_of(&submission, estimate, self.now);
        let task = TaskId { job, task };
        self.admit_task(task, &submission, spec, None, step);
        if withdrawn_due.is_some() {
            self.mark_unpromised(task, withdrawn_due);
        }
    }

    /// Returns the outcome of the next task. The probability of keeping its deadline is computed if
    /// `look`, and otherwise taken from the task before.
    pub(crate) fn evaluate_task(
        &mut self,
        job: u64,
        look: bool,
        prospect: &mut Option<JobPrediction>,
    ) -> AdmissionState {
        let Some(array) = self.jobs.arrays.get(&job) else {
            return AdmissionState::Queued;
        };
        let submission = array.submission.clone();
        let forecast = self.forecast(&submission, Some(job));
        let (estimate, _) = forecast.estimate();
        let spec = self.spec_of(&submission, estimate, self.now);
        let candidate = AdmissionCandidate::new(&submission, spec, &forecast);
        let admission = self.admission_state(self.now, &candidate);
        let accepted = matches!(admission, AdmissionState::Accepted { .. });
        let threshold = self.confidence_threshold(&submission, accepted);
        let (Some(threshold), Some(_)) = (threshold, submission.deadline) else {
            return admission;
        };
        if matches!(admission, AdmissionState::Rejected(_)) {
            return admission;
        }
        if look {
            *prospect = self.predict_candidate(self.now, &candidate);
        }
        let probability = prospect.and_then(|prospect| prospect.decisive);
        let probability = probability.or_else(|| candidate.best_case_probability());
        match probability.filter(|p: &Probability| p.as_f64() < threshold.min_probability()) {
            None => admission,
            Some(probability) => AdmissionState::Rejected(vec![RejectReason::Confidence {
                probability,
                threshold,
            }]),
        }
    }

    /// Rejects the unmaterialised tasks of an array, and returns them.
    fn drop_pending(
        &mut self,
        job: u64,
        refusals: &[RejectReason],
        step: &mut StepOutput,
    ) -> TaskRanges {
        let array = self.jobs.arrays.get(&job);
        let tasks = array.map_or_else(TaskRanges::default, |array| array.pending.clone());
        self.drop_tasks(job, &tasks, refusals, step);
        tasks
    }

    /// Rejects unmaterialised tasks of an array.
    fn drop_tasks(
        &mut self,
        job: u64,
        tasks: &TaskRanges,
        refusals: &[RejectReason],
        step: &mut StepOutput,
    ) {
        let Some(array) = self.jobs.arrays.get_mut(&job) else {
            return;
        };
        array.pending.remove(tasks);
        array.counts.rejected += tasks.len() as u32;
        array.changed = true;
        step.changes.push(RowChange::TasksDropped {
            job,
            tasks: tasks.clone(),
            cause: TaskDropCause::Rejected(refusals.to_vec()),
        });
    }

    /// Rejects a waiting task, or cancels it because it could hardly meet its deadline any more.
    pub(crate) fn reject_task(&mut self, task: TaskId, reason: Reason, step: &mut StepOutput) {
        let is_late = reason == Reason::LATE;
        if let Some(array) = self.jobs.arrays.get_mut(&task.job) {
            let counts = &mut array.counts;
            *(match is_late {
                true => &mut counts.cancelled,
                false => &mut counts.rejected,
            }) += 1;
        }
        step.changes.push(RowChange::TasksDropped {
            job: task.job,
            tasks: TaskRanges::new(task.task, task.task),
            cause: match is_late {
                true => TaskDropCause::Late,
                false => TaskDropCause::Rejected(vec![RejectReason::Policy(reason)]),
            },
        });
        self.finish_array(task.job, step);
    }
}

/// Adds tasks to the last group of tasks with the same outcome.
fn push_group(parts: &mut Vec<TaskGroupOutcome>, tasks: TaskRanges, admission: &AdmissionState) {
    if tasks.is_empty() {
        return;
    }
    match (parts.last_mut(), admission) {
        (Some(part), admission) if part.admission.is_same_decision(admission) => {
            part.tasks.add(&tasks);
            part.admission.merge(admission);
        }
        _ => parts.push(TaskGroupOutcome {
            tasks,
            admission: admission.clone(),
        }),
    }
}

impl TaskGroupOutcome {
    /// Returns the outcome of these tasks, each of which has the state `of_each`.
    pub(crate) fn new(tasks: &TaskRanges, of_each: &AdmissionState) -> Self {
        Self {
            tasks: tasks.clone(),
            admission: of_each.times(tasks.len()),
        }
    }
}

impl AdmissionState {
    /// Returns the state of this many such tasks.
    fn times(&self, tasks: u64) -> Self {
        match self {
            &Self::Accepted { price, on_expected } => Self::Accepted {
                price: Credits::from_f64(price.as_f64() * tasks as f64),
                on_expected,
            },
            Self::Queued
            | Self::Waitlisted { .. }
            | Self::Unpromised(_)
            | Self::Deferred
            | Self::Rejected(_) => self.clone(),
        }
    }

    /// Returns whether the job may run as things stand.
    pub(crate) fn may_run(&self) -> bool {
        match self {
            Self::Accepted { .. } | Self::Queued | Self::Unpromised(_) => true,
            Self::Waitlisted { .. } | Self::Deferred | Self::Rejected(_) => false,
        }
    }

    /// Returns whether both states are the same: accepted, waiting, or rejected for the same
    /// reasons.
    fn is_same_decision(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Accepted { .. }, Self::Accepted { .. }) => true,
            (one, other) => one == other,
        }
    }

    fn merge(&mut self, other: &Self) {
        if let (
            Self::Accepted { price, on_expected },
            Self::Accepted {
                price: more,
                on_expected: also,
            },
        ) = (self, other)
        {
            *price += *more;
            *on_expected |= also;
        }
    }
}
