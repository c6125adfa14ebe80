//! The promises of a run: the stated probabilities and the outcomes.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_gate::PromiseCorrection;
use tollgate_model::outcome::DELAY_TOLERANCE;
use tollgate_model::{Instant, Outcome, Probability, UserId};

use super::result::PromiseStatement;

/// The statements on promises, in the order in which they were made, and the correction that their outcomes taught.
#[derive(Debug, Default)]
pub(super) struct PromiseLog {
    statements: Vec<PromiseStatement>,
    correction: PromiseCorrection,
    /// The promises without an outcome, by the job's place in the order of arrival.
    open: BTreeMap<usize, OpenPromise>,
    /// The same by the last instant in time.
    by_end: BTreeSet<(Instant, usize)>,
}

/// A promise without an outcome.
#[derive(Clone, Copy, Debug)]
struct OpenPromise {
    user: UserId,
    raw: Probability,
    /// The last instant at which an end keeps the promise.
    last: Instant,
}

/// A promise as it is made.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewPromise {
    /// The job's place in the order of arrival.
    pub(super) job: usize,
    pub(super) user: UserId,
    pub(super) due: Instant,
    /// The probability of keeping the promise, by beliefs and futures alone.
    pub(super) raw: Probability,
    /// False if nothing was known of the job's user at its submission.
    pub(super) is_known: bool,
}

impl PromiseLog {
    /// Returns the statements, in the order of the promises.
    pub(super) fn into_statements(self) -> Vec<PromiseStatement> {
        self.statements
    }

    /// Adds a promise that is made now. Its probability is corrected by all outcomes that are known by now.
    pub(super) fn add(&mut self, now: Instant, promise: NewPromise) {
        self.judge_overdue(now);
        let NewPromise {
            job,
            user,
            due,
            raw,
            is_known,
        } = promise;
        self.statements.push(PromiseStatement {
            job,
            probability: self.correction.stated(user, raw),
            raw_probability: raw,
            is_known,
        });
        let last = due + DELAY_TOLERANCE;
        self.by_end.insert((last, job));
        self.open.insert(job, OpenPromise { user, raw, last });
    }

    /// Learns the outcome of a job that ends now, unless its deadline has passed or it had no promise.
    pub(super) fn end(&mut self, now: Instant, job: usize, outcome: &Outcome) {
        self.judge_overdue(now);
        let Some(promise) = self.open.remove(&job) else {
            return;
        };
        self.by_end.remove(&(promise.last, job));
        if let Some(is_kept) = outcome.book_entry().promise_kept() {
            self.correction.learn(promise.user, promise.raw, is_kept);
        }
    }

    /// Learns that promises whose deadlines have passed are broken.
    fn judge_overdue(&mut self, now: Instant) {
        while let Some(&(last, job)) = self.by_end.first().filter(|(last, _)| *last < now) {
            self.by_end.remove(&(last, job));
            if let Some(promise) = self.open.remove(&job) {
                self.correction.learn(promise.user, promise.raw, false);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_model::outcome::RunInterval;
    use tollgate_model::{Credits, Decision, Span};

    const RAW: f64 = 0.9;

    fn at(secs: i64) -> Instant {
        Instant::from_secs(secs)
    }

    /// Makes a promise, and returns the probability that is stated.
    fn promise(log: &mut PromiseLog, now_s: i64, due_s: i64, job: usize) -> f64 {
        let promise = NewPromise {
            job,
            user: UserId(1),
            due: at(due_s),
            raw: Probability::new(RAW).unwrap(),
            is_known: true,
        };
        log.add(at(now_s), promise);
        let last = log.statements.last().unwrap();
        assert_eq!((last.job, last.raw_probability.as_f64()), (job, RAW));
        last.probability.as_f64()
    }

    /// Ends a job that ran from 0 s on.
    fn end(log: &mut PromiseLog, now_s: i64, job: usize, killed: bool) {
        let outcome = Outcome {
            unpredictable: false,
            submit: Instant::ZERO,
            runtime: Span::from_secs(now_s),
            task_runtime: Span::from_secs(now_s),
            planned_run: Span::from_secs(50),
            procs: 1,
            decision: Decision::Accepted,
            decided: Instant::ZERO,
            ran: Some(RunInterval {
                start: Instant::ZERO,
                finish: at(now_s),
            }),
            due: Some(at(100)),
            budget: Credits::ZERO,
            price: Credits::ZERO,
            utility: Credits::ZERO,
            killed,
        };
        log.end(at(now_s), job, &outcome);
    }

    #[test]
    fn outcome_teaches_once_it_is_known_and_not_before() {
        let mut log = PromiseLog::default();
        let first = promise(&mut log, 0, 100, 0);
        assert!((first - RAW).abs() < 1e-12);
        assert_eq!(promise(&mut log, 20, 100, 1), first);
        end(&mut log, 30, 0, false);
        let after_kept = promise(&mut log, 30, 100, 2);
        assert!(after_kept > first);
        // At its deadline the second job may still end in time.
        assert_eq!(promise(&mut log, 100, 100, 3), after_kept);
        let after_broken = promise(&mut log, 101, 200, 4);
        assert!(after_broken < first);
        // The end of a job whose deadline had passed teaches nothing more.
        end(&mut log, 102, 1, false);
        assert_eq!(promise(&mut log, 102, 200, 5), after_broken);
    }

    #[test]
    fn job_that_is_killed_at_its_limit_in_time_teaches_nothing() {
        let mut log = PromiseLog::default();
        let first = promise(&mut log, 0, 100, 0);
        end(&mut log, 30, 0, true);
        assert_eq!(promise(&mut log, 30, 100, 1), first);
        assert!(log.open.keys().eq(&[1]));
        assert_eq!(log.by_end.len(), 1);
    }
}
