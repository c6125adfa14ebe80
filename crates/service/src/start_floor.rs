//! The minimum probability of promises that are made when jobs start.
//!
//! A policy that admits jobs only when they start asks its own test then, by the estimate. The minimum of the user and of
//! the site is asked here, by the forecast. A job below it runs without a promise if its user wants that, and is rejected
//! otherwise. The gate has given a rejected job nodes by then, so that these are taken back before anything runs.

use tollgate_gate::{GateInput, Notice};
use tollgate_model::{JobId, OtherReason, Otherwise, Probability, Reason, TaskId};

use crate::command::Submission;
use crate::core::Core;
use crate::output::{RowChange, StepOutput};

/// The reason of a job whose probability is too low when it would start. Its key is that of a rejection at the submission.
pub(crate) const UNSURE: Reason = Reason::Other(&OtherReason::new(
    "confidence",
    "when it could start, it would have met its deadline with a probability below the minimum",
));

/// A job that is not promised although the policy admits it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RefusedStart {
    /// The gate's number of the attempt that would have started; None before the start.
    pub(crate) gate_attempt: Option<u32>,
}

/// The outcome of the test of a job that the policy admits now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StartTest {
    /// Its deadline is promised.
    Promised,
    /// It runs without a promise.
    Unpromised,
    /// It is rejected.
    Rejected,
}

impl Core {
    /// Tests a job for which a notice came: only one that is admitted after its submission can fail.
    pub(crate) fn test_start(&self, slot: JobId, notice: Notice) -> StartTest {
        let is_admitted = match notice {
            Notice::Accepted { .. } | Notice::Promised { .. } => true,
            Notice::Unpromised { .. } | Notice::Queued | Notice::Rejected(_) => false,
        };
        let late = self.jobs.by_slot(slot).filter(|(_, live)| live.undecided);
        let (true, Some((task, live))) = (is_admitted, late) else {
            return StartTest::Promised;
        };
        // A policy that gets beliefs promises at a level of its own.
        let submission = live
            .submission
            .as_deref()
            .or_else(|| self.submission_of_array(task));
        let submission = submission.filter(|_| !self.rules.policy.uses_beliefs());
        let Some(submission) = submission.filter(|_| live.spec.sla.deadline.is_some()) else {
            return StartTest::Promised;
        };
        let floor = self.confidence_threshold(submission, true);
        let floor = floor.map_or(0.0, |floor| floor.min_probability());
        let chance = (floor > 0.0)
            .then(|| self.chance_of_promise(task))
            .flatten();
        match (chance, submission.options.otherwise) {
            (Some(chance), otherwise) if chance.as_f64() < floor => match otherwise {
                Otherwise::Run => StartTest::Unpromised,
                Otherwise::Wait | Otherwise::Reject => StartTest::Rejected,
            },
            (_, _) => StartTest::Promised,
        }
    }

    fn submission_of_array(&self, task: TaskId) -> Option<&Submission> {
        let array = self.jobs.arrays.get(&task.job)?;
        Some(&array.submission)
    }

    fn chance_of_promise(&self, task: TaskId) -> Option<Probability> {
        self.predict(self.now, task)?.decisive
    }

    /// Takes back the nodes of jobs that were refused, and rejects these. Returns whether there were any.
    pub(crate) fn reject_refused(&mut self, step: &mut StepOutput) -> bool {
        let refused: Vec<(JobId, RefusedStart)> = self
            .refused
            .iter()
            .map(|(&slot, &refused)| (slot, refused))
            .collect();
        for &(slot, RefusedStart { gate_attempt }) in &refused {
            let cancelled = self.apply_input(GateInput::Cancel { job: slot }, step);
            debug_assert!(cancelled.is_ok(), "the gate has the job: {cancelled:?}");
            if let Some(attempt) = gate_attempt {
                // No engine will report the end of this attempt.
                let ended = self.apply_input(GateInput::Evicted { job: slot, attempt }, step);
                debug_assert!(ended.is_ok(), "it has nodes: {ended:?}");
            }
        }
        self.refused.clear();
        !refused.is_empty()
    }

    /// Rejects a job that was refused, and has left the gate.
    pub(crate) fn finish_refused(&mut self, slot: JobId, step: &mut StepOutput) {
        let Some((task, _)) = self.jobs.remove(slot) else {
            return;
        };
        if self.jobs.arrays.contains_key(&task.job) {
            return self.reject_task(task, UNSURE, step);
        }
        let (job, reason) = (task.job, UNSURE);
        step.changes.push(RowChange::Rejected { job, reason });
        self.notify_dependents(job, false, step);
    }
}
