//! Predictions for queued, running and new jobs.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use tollgate_gate::{JobPrediction, JobTrajectory, LookAhead, LookAheadHorizon, LookAheadSubject};
use tollgate_model::{Distribution, Instant, JobId, Probability, Span, TaskId, UserId};

use tollgate_policy::OutlookSubject;

use crate::active_task::ActiveTask;
use crate::admission_candidate::AdmissionCandidate;
use crate::core::Core;
use crate::expected_runs::AllRuns;
use crate::runtime_forecast::MedianCache;

/// Maximum number of look-ahead steps (visits of a job or a node) for one answer: some tens of
/// milliseconds of the one thread that answers all requests.
const MAX_STEPS: u64 = 4_000_000;
/// The state of the look-ahead within an answer and between answers.
#[derive(Debug)]
pub(crate) struct LookAheadCache {
    steps_left: Cell<u64>,
    medians: RefCell<MedianCache>,
    /// The latest look at all jobs, with its instant. Dropped by the next step.
    all_runs: RefCell<Option<(Instant, Arc<AllRuns>)>>,
}

impl Default for LookAheadCache {
    fn default() -> Self {
        Self {
            steps_left: Cell::new(MAX_STEPS),
            medians: RefCell::default(),
            all_runs: RefCell::default(),
        }
    }
}

impl LookAheadCache {
    /// Resets the budget for another answer.
    pub(crate) fn reset_budget(&self) {
        self.steps_left.set(MAX_STEPS);
    }

    /// Drops all cached values.
    pub(crate) fn clear(&mut self) {
        *self.medians.get_mut() = MedianCache::default();
        *self.all_runs.get_mut() = None;
    }

    /// Returns the latest look at all jobs, if it is no older than a second. Otherwise `look` looks anew.
    pub(crate) fn all_runs(&self, now: Instant, look: impl FnOnce() -> AllRuns) -> Arc<AllRuns> {
        let known = self.all_runs.borrow().clone();
        let recent = known.filter(|(at, _)| now.since(*at) < Span::from_secs(1));
        let (at, runs) = recent.unwrap_or_else(|| (now, Arc::new(look())));
        *self.all_runs.borrow_mut() = Some((at, Arc::clone(&runs)));
        runs
    }

    /// Drops the cached value of a slot whose job has changed.
    pub(crate) fn invalidate(&mut self, slot: JobId) {
        self.medians.get_mut().invalidate(slot);
    }
}

impl Core {
    /// Returns a new job's prediction, with its raw probability. A policy that plays no futures assumes that every
    /// other job takes as long as its forecast. The probability is then that of a run time up to the longest with which this policy still meets the
    /// deadline. None if the look-ahead budget is exhausted or the job will not start.
    pub(crate) fn predict_candidate(
        &self,
        now: Instant,
        candidate: &AdmissionCandidate<'_>,
    ) -> Option<JobPrediction> {
        let (spec, forecast) = self.policy_request(candidate);
        let due = candidate.spec.due();
        let count = candidate.submission.options.n_together();
        let subject = OutlookSubject::New((&spec, Some(&forecast)), count, Some(candidate.kinship));
        let least_probability = candidate.submission.least_probability();
        if let Some(runs) = self.gate.possible_runs(now, subject, least_probability) {
            let limit = candidate.submission.options.shortest_limit();
            return JobPrediction::of_runs(runs.ended_at(limit), due);
        }
        let look_ahead_subject = LookAheadSubject::New(&spec, Some(&forecast));
        self.predict_subject(
            now,
            look_ahead_subject,
            due,
            &candidate.distribution,
            candidate.max_start_delay(),
        )
    }

    /// Returns whether a job submitted now keeps its deadline with the run time of probability
    /// `level`; true without a deadline. If the look-ahead budget is exhausted, the job is assumed
    /// to have its nodes to itself.
    pub(crate) fn meets_deadline(
        &self,
        now: Instant,
        candidate: &AdmissionCandidate<'_>,
        level: Probability,
    ) -> bool {
        let Some(due) = candidate.spec.due() else {
            return true;
        };
        let runtime = candidate.distribution.quantile(level) + candidate.max_start_delay();
        let (spec, forecast) = self.policy_request(candidate);
        let count = candidate.submission.options.n_together();
        let subject = OutlookSubject::New((&spec, Some(&forecast)), count, Some(candidate.kinship));
        if let Some(runs) = self.gate.possible_runs(now, subject, Some(level)) {
            return runs.counted_by(due).as_f64() >= level.as_f64();
        }
        let horizon = LookAheadHorizon {
            runtime: Span::ZERO,
            due: Some((due, runtime)),
        };
        match self.trajectory(now, LookAheadSubject::New(&spec, Some(&forecast)), &horizon) {
            Ok(course) => {
                let finish = course.and_then(|course| course.finish(runtime));
                finish.is_some_and(|finish| finish <= due + Span::TICK)
            }
            Err(BudgetExhausted) => runtime <= due.since(candidate.spec.submit),
        }
    }

    /// Returns the prediction for a queued or running job, by the knowledge at `now`. None if the gate holds it: it starts
    /// when something else happens.
    pub fn predict(&self, now: Instant, task: impl Into<TaskId>) -> Option<JobPrediction> {
        self.look_ahead.reset_budget();
        let task = task.into();
        let live = self.jobs.get(task).filter(|live| !live.is_held_in_gate())?;
        let now = self.now.max(now);
        let slots = [live.slot];
        let subject = match self.jobs.group(live.slot) {
            Some((_, group)) => OutlookSubject::InGroup(live.slot, group.n_before(task.task)),
            None => OutlookSubject::Existing(&slots),
        };
        if let Some(runs) = self.gate.possible_runs(now, subject, None) {
            let found = JobPrediction::of_runs(runs.ended_at(live.time_limit), live.spec.due());
            return found.map(|found| self.as_promised(live, found));
        }
        let look_ahead_subject = LookAheadSubject::Existing(live.slot);
        let distribution = self.work_distribution(live, now);
        self.predict_subject(
            now,
            look_ahead_subject,
            live.spec.due(),
            &distribution,
            Span::ZERO,
        )
    }

    /// Returns the prediction for a task with the probability that is stated of it: that of a promise is corrected by
    /// what became of earlier ones.
    pub(crate) fn as_promised(
        &self,
        live: &ActiveTask,
        prediction: JobPrediction,
    ) -> JobPrediction {
        match live.promised_at {
            Some(_) => {
                let correction = self.corrections.of(live.on_expected);
                prediction.corrected(correction, UserId(live.user))
            }
            None => prediction,
        }
    }

    /// Returns a job's prediction. The job may start up to `delay` after its nodes are reserved.
    fn predict_subject(
        &self,
        now: Instant,
        subject: LookAheadSubject<'_>,
        due: Option<Instant>,
        distribution: &Distribution,
        delay: Span,
    ) -> Option<JobPrediction> {
        let horizon = JobPrediction::horizon(distribution, due, delay);
        let course = self.trajectory(now, subject, &horizon).ok().flatten()?;
        JobPrediction::of_trajectory(&course, distribution, due, delay)
    }

    /// Returns the trajectory of a job; None if the job will not start.
    fn trajectory(
        &self,
        now: Instant,
        subject: LookAheadSubject<'_>,
        horizon: &LookAheadHorizon,
    ) -> Result<Option<JobTrajectory>, BudgetExhausted> {
        let course = self.look(now, |ahead| ahead.trajectory(subject, horizon));
        match self.look_ahead.steps_left.get() {
            0 => Err(BudgetExhausted),
            _ => Ok(course),
        }
    }

    /// Looks ahead with the expected run times of all jobs, within what is left of the budget.
    pub(crate) fn look<T>(&self, now: Instant, look: impl FnOnce(&mut LookAhead<'_>) -> T) -> T {
        let LookAheadCache {
            steps_left,
            medians,
            all_runs: _,
        } = &self.look_ahead;
        let expected = |slot| {
            medians.borrow_mut().get_or_insert(slot, now, |as_of| {
                let live = self.jobs.by_slot(slot).map(|(_, live)| live);
                live.map_or(Span::ZERO, |live| {
                    self.work_distribution(live, as_of).median()
                })
            })
        };
        let mut ahead = LookAhead::new(&self.gate, now, &expected, steps_left.get());
        let found = look(&mut ahead);
        steps_left.set(ahead.steps_left());
        found
    }
}

/// The look-ahead budget of an answer is exhausted.
struct BudgetExhausted;
