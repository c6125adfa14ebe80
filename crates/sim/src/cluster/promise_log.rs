//! The promises of a run: with what probability each was made, and what became of it.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_gate::PromiseCorrection;
use tollgate_model::outcome::DELAY_TOLERANCE;
use tollgate_model::{Instant, Outcome, Probability, UserId};

use super::result::PromiseStatement;

/// The statements on promises, in the order in which they were made, and what their outcomes taught for later ones.
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
