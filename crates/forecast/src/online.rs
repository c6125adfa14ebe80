//! The online evaluation of a forecaster over a record: feedback arrives when a real forecaster
//! would get it.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BinaryHeap};

use tollgate_model::distribution::N_LEVELS;
use tollgate_model::{Instant, Span};

use crate::class::ClassEvent;
use crate::forecaster::{BoundPromise, Forecast, Forecaster, LearnError};
use crate::record::{CompletedJob, ln_secs};

/// The time at which a forecaster receives feedback on a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FeedbackTiming {
    /// Before the next job is submitted, as if each job ended at once. Flatters every method.
    OneStep,
    /// When the job has ended, and on each promise when it falls due, as for a real forecaster.
    Causal,
}

/// A forecaster that processes a record job by job, in order of submission.
#[derive(Clone, Debug)]
pub struct OnlineForecaster {
    forecaster: Forecaster,
    timing: FeedbackTiming,
    timed: bool,
    running: BinaryHeap<Reverse<(Instant, u64)>>,
    forecasts: BTreeMap<u64, Box<(CompletedJob, Forecast)>>,
    /// By job, the time of its next promise.
    due: BinaryHeap<Reverse<(Instant, u64, Box<JobPromises>)>>,
    submitted: u64,
}

/// The promises of a job that have not fallen due yet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct JobPromises {
    /// The next promise.
    next: BoundPromise,
    /// The bounds of all promises, ascending: they fall due in this order.
    bounds: [Span; N_LEVELS],
    finish: Instant,
    runtime: Span,
}

/// The feedback from a job that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobFeedback {
    /// The job's index: the number of jobs submitted before it.
    pub nth: u64,
    /// The effect on the mode of its class.
    pub event: ClassEvent,
    /// The job.
    pub record: CompletedJob,
}

impl OnlineForecaster {
    /// Starts with the state of `forecaster`.
    pub fn new(forecaster: Forecaster, setting: FeedbackTiming) -> Self {
        Self {
            forecaster,
            timing: setting,
            timed: true,
            running: BinaryHeap::new(),
            forecasts: BTreeMap::new(),
            due: BinaryHeap::new(),
            submitted: 0,
        }
    }

    /// Switches to a resource other than time, whose value stands in the place of the run time:
    /// promises about it are judged when the job ends.
    #[must_use]
    pub fn of_resource(mut self) -> Self {
        self.timed = false;
        self
    }

    /// Returns the forecast of a job at its submission, after learning from every earlier event.
    /// Calls `observe` for each job that has ended, in order of their ends (ties in order of
    /// submission).
    ///
    /// # Errors
    /// [`LearnError`] if the job never ran: such a job is not forecast.
    pub fn submit(
        &mut self,
        record: &CompletedJob,
        mut observe: impl FnMut(JobFeedback),
    ) -> Result<Forecast, LearnError> {
        if ln_secs(record.runtime).is_none() {
            return Err(LearnError::NeverRan(record.runtime));
        }
        self.advance(record.submit, &mut observe);
        let forecast = self.forecaster.forecast(&record.job);
        self.track(record, &forecast, &mut observe);
        Ok(forecast)
    }

    /// Records a job that ran and was forecast just now.
    pub(crate) fn track(
        &mut self,
        record: &CompletedJob,
        forecast: &Forecast,
        observe: &mut impl FnMut(JobFeedback),
    ) {
        let nth = self.submitted;
        self.submitted += 1;
        match self.timing {
            FeedbackTiming::OneStep => {
                let event = self.forecaster.learn(record, forecast);
                observe(JobFeedback {
                    nth,
                    event: event.expect("only jobs that ran are forecast"),
                    record: *record,
                });
            }
            FeedbackTiming::Causal => {
                self.running.push(Reverse((record.finish, nth)));
                self.schedule_promises(record, forecast, nth);
                self.forecasts
                    .insert(nth, Box::new((*record, forecast.clone())));
            }
        }
    }

    /// Records when the promises fall due.
    fn schedule_promises(&mut self, record: &CompletedJob, forecast: &Forecast, nth: u64) {
        let promises = JobPromises {
            next: forecast.promise(record.job.class, 0),
            bounds: *forecast.distribution().quantiles(),
            finish: record.finish,
            runtime: record.runtime,
        };
        let due = promises.due(promises.bounds[0], self.timed);
        self.due.push(Reverse((due, nth, Box::new(promises))));
    }

    /// Judges the promise that falls due first, and those of the same job that fall due with it.
    fn judge_next_promises(&mut self) {
        let Some(mut next) = self.due.peek_mut() else {
            return;
        };
        let Reverse((due, _, promises)) = &mut *next;
        let bounds = &promises.bounds[promises.next.level_idx()..];
        let n_due = if self.timed {
            bounds
                .iter()
                .take_while(|bound| **bound == bounds[0])
                .count()
        } else {
            bounds.len()
        };
        self.forecaster
            .judge(&promises.next, &bounds[..n_due], promises.runtime);
        match bounds.get(n_due) {
            None => {
                PeekMut::pop(next);
            }
            Some(bound) => {
                *due = promises.due(*bound, self.timed);
                promises.next = promises.next.at_level(promises.next.level_idx() + n_due);
            }
        }
    }

    /// Learns from the events up to `now`; at one instant first from ended jobs, then from due
    /// promises.
    pub(crate) fn advance(&mut self, now: Instant, observe: &mut impl FnMut(JobFeedback)) {
        loop {
            let end = self.running.peek().map(|Reverse((at, _))| *at);
            let due = self.due.peek().map(|Reverse((at, ..))| *at);
            let next = end.into_iter().chain(due).min();
            if next.is_none_or(|next| next > now) {
                return;
            }
            if end == next {
                self.finish_next_job(observe);
            } else {
                self.judge_next_promises();
            }
        }
    }

    fn finish_next_job(&mut self, observe: &mut impl FnMut(JobFeedback)) {
        let Some(Reverse((_, nth))) = self.running.pop() else {
            return;
        };
        let Some(job) = self.forecasts.remove(&nth) else {
            return;
        };
        let (record, forecast) = &*job;
        let learned = self.forecaster.learn_run(record, forecast);
        observe(JobFeedback {
            nth,
            event: learned.expect("only jobs that ran are forecast"),
            record: *record,
        });
    }

    /// Returns the forecaster in its present state.
    pub const fn forecaster(&self) -> &Forecaster {
        &self.forecaster
    }

    /// Learns from the remaining events, and returns the forecaster.
    pub fn finish(mut self, mut observe: impl FnMut(JobFeedback)) -> Forecaster {
        self.advance(Instant::MAX, &mut observe);
        self.forecaster
    }
}

impl JobPromises {
    /// Returns the time at which the promise of this bound falls due. A promise about another resource
    /// than time falls due with the end of the job.
    fn due(&self, bound: Span, timed: bool) -> Instant {
        if timed {
            self.finish - self.runtime + bound
        } else {
            self.finish
        }
    }
}
