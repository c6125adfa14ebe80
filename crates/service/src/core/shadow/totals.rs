//! The objectives of two policies over the same jobs.

use serde::{Deserialize, Serialize};
use tollgate_model::outcome::DELAY_TOLERANCE;
use tollgate_model::{Credits, Instant, Span};

/// Sums over jobs that are over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShadowTotals {
    /// Jobs that were let in or kept out.
    pub submitted: u64,
    /// Those of them that were let in.
    pub accepted: u64,
    /// Those of them that finished within their deadline, or had none and finished.
    pub fulfilled: u64,
    /// From submission to start of those, all together.
    pub wait: Span,
    /// What they all would have paid at most.
    pub budgets: Credits,
    /// What was earned with them.
    pub utility: Credits,
}

/// Two policies side by side, over the jobs that are over under both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyComparison {
    /// The policy on paper.
    pub policy: String,
    /// Since when it has been asked too.
    pub since: Instant,
    /// Jobs that run on paper.
    pub running: u32,
    /// Jobs that wait on paper.
    pub queued: u32,
    /// What the policy that decides did with the jobs.
    pub real: ShadowTotals,
    /// What the policy on paper would have done with them.
    pub paper: ShadowTotals,
    /// Jobs of these that ended on paper when the forecast said, for nobody knows how long they
    /// take: kept out by the policy that decides, or started earlier on paper.
    pub by_forecast: u64,
    /// Jobs that are not over yet under one of the two, and are in no sum.
    pub undecided: u64,
}

/// What of a job is counted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct JobTerms {
    pub(super) submit: Instant,
    pub(super) procs: u32,
    pub(super) due: Option<Instant>,
    pub(super) budget: Option<Credits>,
}

/// How a job fared under one policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ShadowOutcome {
    pub(super) start: Option<Instant>,
    pub(super) earned: Credits,
    pub(super) end: Option<ShadowEnd>,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum ShadowEnd {
    /// It was never let in.
    NotAdmitted,
    /// It ran to its end.
    Finished(Instant),
    /// What it ran on vanished.
    Lost,
}

impl ShadowTotals {
    /// Counts a job that is over.
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
