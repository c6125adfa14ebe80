//! The objectives of two policies over the same jobs.

use serde::{Deserialize, Serialize};
use tollgate_model::outcome::DELAY_TOLERANCE;
use tollgate_model::{Credits, Instant, Span};

/// Totals over finished jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShadowTotals {
    /// Jobs that were admitted or rejected.
    pub submitted: u64,
    /// Admitted jobs.
    pub accepted: u64,
    /// Jobs that finished within their deadline, or without having one.
    pub fulfilled: u64,
    /// Total time from submission to start of the fulfilled jobs.
    pub wait: Span,
    /// Total of the jobs' maximum prices.
    pub budgets: Credits,
    /// Total earnings.
    pub utility: Credits,
}

/// Comparison of two policies, over the jobs that have finished under both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyComparison {
    /// The shadow policy.
    pub policy: String,
    /// The instant at which the shadow began.
    pub since: Instant,
    /// Jobs that run on paper.
    pub running: u32,
    /// Jobs that wait on paper.
    pub queued: u32,
    /// Totals of the real policy.
    pub real: ShadowTotals,
    /// Totals of the shadow policy.
    pub paper: ShadowTotals,
    /// Counted jobs whose end on paper came from the forecast, because their real run time was not
    /// known: the real policy rejected them, or they started earlier on paper.
    pub by_forecast: u64,
    /// Jobs that are unfinished under at least one of the policies, and in no total.
    pub undecided: u64,
}

/// The properties of a job that the totals use.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct JobTerms {
    pub(super) submit: Instant,
    pub(super) procs: u32,
    pub(super) due: Option<Instant>,
    pub(super) budget: Option<Credits>,
}

/// The outcome of a job under one policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ShadowOutcome {
    pub(super) start: Option<Instant>,
    pub(super) earned: Credits,
    pub(super) end: Option<ShadowEnd>,
}

/// The end of a job under one policy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum ShadowEnd {
    /// The job was rejected.
    NotAdmitted,
    /// The job ran to its end.
    Finished(Instant),
    /// The job's nodes vanished.
    Lost,
}

impl ShadowTotals {
    /// Adds a finished job.
    pub(super) fn add(&mut self, terms: &JobTerms, course: &ShadowOutcome, end: ShadowEnd) {
        self.submitted += 1;
        self.budgets += terms.budget.unwrap_or(Credits::ZERO);
        self.utility += course.earned;
        match end {
            ShadowEnd::NotAdmitted => {}
            ShadowEnd::Lost => self.accepted += 1,
            ShadowEnd::Finished(at) => {
                self.accepted += 1;
                if terms.due.is_none_or(|due| at <= due + DELAY_TOLERANCE) {
                    self.fulfilled += 1;
                    let start = course.start.unwrap_or(at);
                    self.wait += start.since(terms.submit);
                }
            }
        }
    }
}
