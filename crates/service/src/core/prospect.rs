//! What is to be expected of a job: one that is there, or one that is about to be handed in.

use std::cell::{Cell, RefCell};

use tollgate_gate::{JobTrajectory, LookAhead, LookAheadHorizon, LookAheadSubject};
use tollgate_model::{Distribution, Instant, JobId, Probability, Span};

use super::Core;
use super::answer::AdmissionCandidate;
use super::command::TaskKey;
use super::expected::MedianCache;
use super::outcome::JobPrediction;

/// How many looks at a job or a node one answer may take, over all that it weighs: some tens of
/// milliseconds of the one thread that answers everybody.
const MOST_LOOKS: u64 = 4_000_000;
/// A run time that is as good as never exceeded: how likely shorter ones are.
const NEARLY_SURE: f64 = 0.999_999;

/// What is kept while an answer is found, and from one answer to the next.
#[derive(Debug)]
pub(super) struct LookAheadCache {
    looks_left: Cell<u64>,
    medians: RefCell<MedianCache>,
}

impl Default for LookAheadCache {
    fn default() -> Self {
        Self {
            looks_left: Cell::new(MOST_LOOKS),
            medians: RefCell::default(),
        }
    }
}

impl LookAheadCache {
    /// Another answer is to be found.
    pub(super) fn begin(&self) {
        self.looks_left.set(MOST_LOOKS);
    }

    /// Something happened to the job in a slot.
    pub(super) fn forget(&mut self, slot: JobId) {
        self.medians.get_mut().forget(slot);
    }
}

impl Core {
    /// When a job would start and finish and how sure it is to keep its deadline, if every other
    /// job takes as long as is forecast of it. The probability is that of its run time being at most
    /// the longest with which this policy still meets the deadline. None where too much is going on
    /// to look ahead in passing.
    pub(super) fn prospect(
        &self,
        now: Instant,
        candidate: &AdmissionCandidate<'_>,
    ) -> Option<JobPrediction> {
        let (asked, forecast) = self.asked(candidate);
        let whom = LookAheadSubject::New(&asked, Some(&forecast));
        let due = candidate.spec.due();
        self.expect(now, whom, due, &candidate.distribution, candidate.delay())
    }

    /// Whether a job that is handed in now keeps its deadline if it takes as long as with
    /// probability `level`; true where there is none. Where too much is going on to look ahead, it
    /// is taken to have its nodes to itself.
    pub(super) fn keeps(
        &self,
        now: Instant,
        candidate: &AdmissionCandidate<'_>,
        level: Probability,
    ) -> bool {
        let Some(due) = candidate.spec.due() else {
            return true;
        };
        let runtime = candidate.distribution.quantile(level) + candidate.delay();
        let (asked, forecast) = self.asked(candidate);
        let horizon = LookAheadHorizon {
            runtime: Span::ZERO,
            due: Some((due, runtime)),
        };
        match self.course(
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
    pub fn outlook(&self, now: Instant, task: impl Into<TaskKey>) -> Option<JobPrediction> {
        self.ahead.begin();
        let live = self.jobs.get(task)?;
        let now = self.now.max(now);
        let whom = LookAheadSubject::Known(live.slot);
        let distribution = live.distribution(now);
        self.expect(now, whom, live.spec.due(), &distribution, Span::ZERO)
    }

    /// `delay` is how much later than its nodes are kept for it the job may start.
    fn expect(
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
            due: due.map(|due| (due, level(NEARLY_SURE))),
        };
        let course = self.course(now, whom, &horizon).ok().flatten()?;
        let probability =
            due.map(|due| distribution.probability_within(course.longest(due) - delay));
        Some(JobPrediction {
            start: course.start(),
            finish: course.finish(level(0.5))?,
            earliest: course.finish(level(0.1))?,
            latest: course.finish(latest)?,
            probability,
        })
    }

    /// What becomes of a job; none if it will not start.
    fn course(
        &self,
        now: Instant,
        whom: LookAheadSubject<'_>,
        horizon: &LookAheadHorizon,
    ) -> Result<Option<JobTrajectory>, BudgetExhausted> {
        let LookAheadCache {
            looks_left,
            medians,
        } = &self.ahead;
        let expected = |slot| {
            medians.borrow_mut().of(slot, now, |as_of| {
                let live = self.jobs.at(slot).map(|(_, live)| live);
                live.map_or(Span::ZERO, |live| live.distribution(as_of).median())
            })
        };
        let mut ahead = LookAhead::new(&self.gate, now, &expected, looks_left.get());
        let course = ahead.course(whom, horizon);
        looks_left.set(ahead.looks_left());
        match looks_left.get() {
            0 => Err(BudgetExhausted),
            _ => Ok(course),
        }
    }
}

/// Too much is going on to look ahead in passing.
struct BudgetExhausted;
