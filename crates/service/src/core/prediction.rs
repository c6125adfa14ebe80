//! What is to be expected of a job: one that is there, or one that is about to be handed in.

use std::cell::{Cell, RefCell};

use tollgate_gate::{JobTrajectory, LookAhead, LookAheadHorizon, LookAheadSubject};
use tollgate_model::{Distribution, Instant, JobId, Probability, Span};

use super::Core;
use super::admission::AdmissionCandidate;
use super::command::TaskKey;
use super::output::JobPrediction;
use super::runtime_forecast::MedianCache;

/// How many looks at a job or a node one answer may take, over all that it weighs: some tens of
/// milliseconds of the one thread that answers everybody.
const MAX_STEPS: u64 = 4_000_000;
/// A run time that is as good as never exceeded: how likely shorter ones are.
const MAX_QUANTILE: f64 = 0.999_999;

/// What is kept while an answer is found, and from one answer to the next.
#[derive(Debug)]
pub(super) struct LookAheadCache {
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
    /// Another answer is to be found.
    pub(super) fn reset_budget(&self) {
        self.steps_left.set(MAX_STEPS);
    }

    /// Something happened to the job in a slot.
    pub(super) fn invalidate(&mut self, slot: JobId) {
        self.medians.get_mut().invalidate(slot);
    }
}

impl Core {
    /// When a job would start and finish and how sure it is to keep its deadline, if every other
    /// job takes as long as is forecast of it. The probability is that of its run time being at most
    /// the longest with which this policy still meets the deadline. None where too much is going on
    /// to look ahead in passing.
    pub(super) fn predict_candidate(
        &self,
        now: Instant,
        candidate: &AdmissionCandidate<'_>,
    ) -> Option<JobPrediction> {
        let (asked, forecast) = self.policy_request(candidate);
        let whom = LookAheadSubject::New(&asked, Some(&forecast));
        let due = candidate.spec.due();
        self.predict_subject(
            now,
            whom,
            due,
            &candidate.distribution,
            candidate.max_start_delay(),
        )
    }

    /// Whether a job that is handed in now keeps its deadline if it takes as long as with
    /// probability `level`; true where there is none. Where too much is going on to look ahead, it
    /// is taken to have its nodes to itself.
    pub(super) fn meets_deadline(
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

    /// The same of a job that is queued or runs, by all that is known at `now`.
    pub fn predict(&self, now: Instant, task: impl Into<TaskKey>) -> Option<JobPrediction> {
        self.look_ahead.reset_budget();
        let live = self.jobs.get(task)?;
        let now = self.now.max(now);
        let whom = LookAheadSubject::Existing(live.slot);
        let distribution = live.distribution(now);
        self.predict_subject(now, whom, live.spec.due(), &distribution, Span::ZERO)
    }

    /// `delay` is how much later than its nodes are kept for it the job may start.
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
        let probability =
            due.map(|due| distribution.probability_within(course.max_runtime(due) - delay));
        Some(JobPrediction {
            start: course.start(),
            finish: course.finish(level(0.5))?,
            earliest: course.finish(level(0.1))?,
            latest: course.finish(latest)?,
            probability,
        })
    }

    /// What becomes of a job; none if it will not start.
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
                live.map_or(Span::ZERO, |live| live.distribution(as_of).median())
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

/// Too much is going on to look ahead in passing.
struct BudgetExhausted;
