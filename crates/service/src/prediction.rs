//! Predictions for queued, running and new jobs.

use std::cell::{Cell, RefCell};

use tollgate_gate::{JobTrajectory, LookAhead, LookAheadHorizon, LookAheadSubject};
use tollgate_model::outcome::RunInterval;
use tollgate_model::{Distribution, Instant, JobId, Probability, Span, TaskId};

use tollgate_policy::OutlookSubject;

use crate::Core;
use crate::admission::AdmissionCandidate;
use crate::output::JobPrediction;
use crate::runtime_forecast::MedianCache;

/// Maximum number of look-ahead steps (visits of a job or a node) for one answer: some tens of
/// milliseconds of the one thread that answers all requests.
const MAX_STEPS: u64 = 4_000_000;
/// Probability level of a run time that is practically never exceeded.
const MAX_QUANTILE: f64 = 0.999_999;

/// The bounds of a quoted probability: those that 512 equally likely futures, the most that a policy
/// plays, could show. Neither a promise nor its breach is ever certain.
const QUOTABLE: [f64; 2] = [0.001, 0.999];

/// Returns the probability within the bounds of quoted ones.
pub(crate) fn quotable(probability: Probability) -> Probability {
    let [least, most] = QUOTABLE;
    let bounded = probability.as_f64().clamp(least, most);
    Probability::new(bounded).expect("the bounds are probabilities")
}

/// The state of the look-ahead within an answer and between answers.
#[derive(Debug)]
pub(crate) struct LookAheadCache {
    steps_left: Cell<u64>,
    medians: RefCell<MedianCache>,
}

impl Default for LookAheadCache {
    fn default() -> Self {
        Self {
            steps_left: Cell::new(MAX_STEPS),
            medians: RefCell::default(),
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
    }

    /// Drops the cached value of a slot whose job has changed.
    pub(crate) fn invalidate(&mut self, slot: JobId) {
        self.medians.get_mut().invalidate(slot);
    }
}

impl Core {
    /// Returns a new job's prediction, if every other job takes as long as its forecast. The
    /// probability is that of a run time up to the longest with which this policy still meets the
    /// deadline. None if the look-ahead budget is exhausted or the job will not start.
    pub(crate) fn predict_candidate(
        &self,
        now: Instant,
        candidate: &AdmissionCandidate<'_>,
    ) -> Option<JobPrediction> {
        let (asked, forecast) = self.policy_request(candidate);
        let due = candidate.spec.due();
        let count = candidate.submission.options.n_together();
        let subject = OutlookSubject::New((&asked, Some(&forecast)), count);
        let tellable = candidate.submission.least_probability();
        if let Some(runs) = self.gate.possible_runs(now, subject, tellable) {
            return JobPrediction::of_runs(runs, due);
        }
        let whom = LookAheadSubject::New(&asked, Some(&forecast));
        self.predict_subject(
            now,
            whom,
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
        let (asked, forecast) = self.policy_request(candidate);
        let count = candidate.submission.options.n_together();
        let subject = OutlookSubject::New((&asked, Some(&forecast)), count);
        if let Some(runs) = self.gate.possible_runs(now, subject, Some(level)) {
            let in_time = runs.iter().filter(|run| run.finish <= due).count();
            return Probability::of_scenarios(in_time, runs.len()).as_f64() >= level.as_f64();
        }
        let horizon = LookAheadHorizon {
            runtime: Span::ZERO,
            due: Some((due, runtime)),
        };
        match self.trajectory(
            now,
            LookAheadSubject::New(&asked, Some(&forecast)),
            &horizon,
        ) {
            Ok(course) => {
                let finish = course.and_then(|course| course.finish(runtime));
                finish.is_some_and(|finish| finish <= due + Span::TICK)
            }
            Err(BudgetExhausted) => runtime <= due.since(candidate.spec.submit),
        }
    }

    /// Returns the prediction for a queued or running job, by the knowledge at `now`.
    pub fn predict(&self, now: Instant, task: impl Into<TaskId>) -> Option<JobPrediction> {
        self.look_ahead.reset_budget();
        let live = self.jobs.get(task)?;
        let now = self.now.max(now);
        let subject = OutlookSubject::Existing(&[live.slot]);
        if let Some(runs) = self.gate.possible_runs(now, subject, None) {
            return JobPrediction::of_runs(runs, live.spec.due());
        }
        let whom = LookAheadSubject::Existing(live.slot);
        let distribution = self.work_distribution(live, now);
        self.predict_subject(now, whom, live.spec.due(), &distribution, Span::ZERO)
    }

    /// Returns a job's prediction. The job may start up to `delay` after its nodes are reserved.
    fn predict_subject(
        &self,
        now: Instant,
        whom: LookAheadSubject<'_>,
        due: Option<Instant>,
        distribution: &Distribution,
        delay: Span,
    ) -> Option<JobPrediction> {
        let level = |p| distribution.quantile(Probability::new(p).expect("a level")) + delay;
        let latest = level(0.9);
        let horizon = LookAheadHorizon {
            runtime: latest,
            due: due.map(|due| (due, level(MAX_QUANTILE))),
        };
        let course = self.trajectory(now, whom, &horizon).ok().flatten()?;
        let probability = due
            .map(|due| quotable(distribution.probability_within(course.max_runtime(due) - delay)));
        Some(JobPrediction {
            start: course.start(),
            finish: course.finish(level(0.5))?,
            earliest: course.finish(level(0.1))?,
            latest: course.finish(latest)?,
            probability,
        })
    }

    /// Returns the trajectory of a job; None if the job will not start.
    fn trajectory(
        &self,
        now: Instant,
        whom: LookAheadSubject<'_>,
        horizon: &LookAheadHorizon,
    ) -> Result<Option<JobTrajectory>, BudgetExhausted> {
        let LookAheadCache {
            steps_left: looks_left,
            medians,
        } = &self.look_ahead;
        let expected = |slot| {
            medians.borrow_mut().get_or_insert(slot, now, |as_of| {
                let live = self.jobs.by_slot(slot).map(|(_, live)| live);
                live.map_or(Span::ZERO, |live| {
                    self.work_distribution(live, as_of).median()
                })
            })
        };
        let mut ahead = LookAhead::new(&self.gate, now, &expected, looks_left.get());
        let course = ahead.trajectory(whom, horizon);
        looks_left.set(ahead.steps_left());
        match looks_left.get() {
            0 => Err(BudgetExhausted),
            _ => Ok(course),
        }
    }
}

/// The look-ahead budget of an answer is exhausted.
struct BudgetExhausted;

impl JobPrediction {
    /// Returns the prediction that follows from equally likely runs; None if most of them never end.
    fn of_runs(mut runs: Vec<RunInterval>, due: Option<Instant>) -> Option<Self> {
        let in_time = |due: Instant| runs.iter().filter(|run| run.finish <= due).count();
        let probability = due.map(|due| Probability::of_scenarios(in_time(due), runs.len()));
        let at = |level: f64| ((runs.len() as f64 * level) as usize).min(runs.len() - 1);
        let (early, middle, late) = (at(0.1), at(0.5), at(0.9));
        runs.sort_unstable_by_key(|run| run.start);
        let start = runs.get(middle)?.start;
        runs.sort_unstable_by_key(|run| run.finish);
        let latest = runs.get(late)?.finish;
        (latest < Instant::MAX).then_some(Self {
            start,
            finish: runs[middle].finish,
            earliest: runs[early].finish,
            latest,
            probability,
        })
    }
}
