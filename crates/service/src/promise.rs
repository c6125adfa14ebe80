//! The ending of promises: each promise is kept, broken or void.

use serde::{Deserialize, Serialize};
use tollgate_gate::JobEnding;
use tollgate_model::outcome::DELAY_TOLERANCE;
use tollgate_model::{
    AttemptEnding, Instant, JobEndState, LimitOwner, LimitOwners, Probability, Span, TaskId,
};

use crate::Core;
use crate::jobs::ActiveTask;
use crate::output::{RowChange, StepOutput};

/// The ending of a promise: of an admitted task, with a deadline or without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PromiseOutcome {
    /// The task ended with exit code 0, by its deadline if it has one.
    Kept,
    /// The task is late or lost, or the site or a limit of the site ended it.
    Broken,
    /// The task failed by itself, reached a limit that its user set, or was cancelled by its user, before
    /// its deadline.
    Void,
    /// There was no promise: the deadline could not be promised, and the user wanted the task to run all
    /// the same.
    Unpromised,
}

impl PromiseOutcome {
    /// Returns the key in JSON and in the store.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Broken => "broken",
            Self::Void => "void",
            Self::Unpromised => "unpromised",
        }
    }

    /// Returns the ending of a promise to a task that ended so before its deadline. A limit that the user
    /// set is the user's risk; one that the site set is not.
    pub(crate) const fn of_end_in_time(ending: AttemptEnding) -> Self {
        match ending {
            AttemptEnding::Succeeded => Self::Kept,
            AttemptEnding::Failed
            | AttemptEnding::Cancelled
            | AttemptEnding::Exceeded(_, LimitOwner::User) => Self::Void,
            AttemptEnding::EndedBySite | AttemptEnding::Exceeded(_, LimitOwner::Site) => {
                Self::Broken
            }
        }
    }
}

/// The promises to tasks of an array that were not made at its submission.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct LatePromises {
    count: u32,
    /// The sum of the probabilities.
    sum: f64,
    /// The latest probability, with its instant.
    latest: Option<(Instant, f64)>,
}

impl LatePromises {
    fn probability_at(&self, now: Instant) -> Option<Probability> {
        let latest = self.latest.filter(|&(at, _)| at == now);
        latest.and_then(|(_, probability)| Probability::new(probability))
    }

    /// Counts a promise, and returns the mean probability of all.
    fn add(&mut self, now: Instant, probability: Probability) -> Probability {
        self.count += 1;
        self.sum += probability.as_f64();
        self.latest = Some((now, probability.as_f64()));
        let mean = self.sum / f64::from(self.count);
        Probability::new(mean.min(1.0)).unwrap_or(probability)
    }
}

impl ActiveTask {
    /// Returns the last instant at which an end is within the deadline, with the tolerance of the
    /// objectives; None without a deadline.
    pub(crate) fn last_instant(&self) -> Option<Instant> {
        Some(self.spec.due()? + DELAY_TOLERANCE)
    }

    fn met_deadline(&self, at: Instant) -> bool {
        self.last_instant().is_none_or(|last| at <= last)
    }

    /// Returns the ending of the promise to a task that ends now.
    fn promise_outcome(&self, ending: JobEnding, now: Instant) -> PromiseOutcome {
        if self.unpromised {
            return PromiseOutcome::Unpromised;
        }
        if !self.met_deadline(now) {
            return PromiseOutcome::Broken;
        }
        match (ending, self.ending) {
            (JobEnding::Cancelled, _) => PromiseOutcome::Void,
            (JobEnding::Lost, _) | (JobEnding::Finished, None) => PromiseOutcome::Broken,
            (JobEnding::Finished, Some(ending)) => PromiseOutcome::of_end_in_time(ending),
        }
    }

    /// Returns the owners of the task's limits.
    pub(crate) const fn limit_owners(&self) -> LimitOwners {
        LimitOwners::of(&self.spec)
    }

    /// Returns the state of the task that has ended: the gate knows no limits.
    pub(crate) fn end_state(&self, ending: JobEnding) -> JobEndState {
        match (ending, self.ending) {
            (JobEnding::Cancelled, _) => JobEndState::Cancelled,
            (JobEnding::Lost, _) => JobEndState::Lost,
            (JobEnding::Finished, None) => JobEndState::Finished,
            (JobEnding::Finished, Some(ending)) => JobEndState::of_run(ending),
        }
    }

    fn wait_span(&self) -> Span {
        self.started.unwrap_or(self.submitted).since(self.submitted)
    }
}

impl Core {
    /// Records the ending of the promise to a task that ends now, unless its deadline has passed
    /// before. A task that its user took back before it was admitted has no promise; one that the engine
    /// got ahead of time and lost has one.
    pub(crate) fn end_promise(
        &mut self,
        task: TaskId,
        live: &ActiveTask,
        ending: JobEnding,
        step: &mut StepOutput,
    ) {
        let admitted = self.gate.view(self.now).job(live.slot).accepted.is_some();
        if live.promise.is_none() && (admitted || live.is_lost) {
            let outcome = live.promise_outcome(ending, self.now);
            self.record_promise(task, live, outcome, step);
        }
    }

    /// Breaks the promises whose deadlines have passed.
    pub(crate) fn judge_overdue(&mut self, step: &mut StepOutput) {
        while let Some(task) = self.jobs.take_overdue(self.now) {
            let Some(live) = self.jobs.get_mut(task) else {
                continue;
            };
            live.promise = Some(PromiseOutcome::Broken);
            let live = live.clone();
            self.record_promise(task, &live, PromiseOutcome::Broken, step);
        }
    }

    /// Records the probability of keeping a promise that was not made at the submission. Tasks of an
    /// array that are promised at the same instant count with the probability of the first of them.
    pub(crate) fn record_probability(&mut self, task: TaskId, step: &mut StepOutput) {
        let job = task.job;
        let known = self.jobs.arrays.get(&job);
        let known = known.and_then(|array| array.late_promises.probability_at(self.now));
        let has_deadline = |live: &ActiveTask| live.spec.sla.deadline.is_some();
        if !self.jobs.get(task).is_some_and(has_deadline) {
            return;
        }
        let computed = || self.predict(self.now, task)?.probability;
        let Some(mut probability) = known.or_else(computed) else {
            return;
        };
        if let Some(array) = self.jobs.arrays.get_mut(&job) {
            probability = array.late_promises.add(self.now, probability);
        }
        step.changes.push(RowChange::Promised { job, probability });
    }

    fn record_promise(
        &mut self,
        task: TaskId,
        live: &ActiveTask,
        outcome: PromiseOutcome,
        step: &mut StepOutput,
    ) {
        let array = self.jobs.arrays.get_mut(&task.job);
        let of_array = array.is_some();
        if let Some(array) = array {
            array.count_promise(outcome, live.wait_span());
        }
        step.changes.push(RowChange::PromiseEnded {
            attempt: live.attempt_key(task),
            outcome,
            of_array,
        });
    }
}
