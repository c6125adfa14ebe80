//! The objectives of two policies over the same jobs.

use serde::{Deserialize, Serialize};
use tollgate_model::outcome::DELAY_TOLERANCE;
use tollgate_model::{AttemptEnding, Credits, Instant, Span};

use crate::promise::PromiseOutcome;

/// Totals over finished jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShadowTotals {
    /// Jobs that were admitted or rejected.
    pub submitted: u64,
    /// Admitted jobs.
    pub accepted: u64,
    /// Jobs with a kept promise.
    pub kept: u64,
    /// Jobs with a broken promise.
    pub broken: u64,
    /// Jobs with a void promise.
    pub void: u64,
    /// Jobs that ran without a promise because their deadline could not be promised.
    pub unpromised: u64,
    /// Total time from submission to start of the jobs with a kept promise.
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
    /// The ending of the promise, as the real policy recorded it.
    pub(super) promise: Option<PromiseOutcome>,
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
    /// Adds a finished job; `ending` is that of its last real attempt.
    pub(super) fn add(
        &mut self,
        terms: &JobTerms,
        course: &ShadowOutcome,
        end: ShadowEnd,
        ending: Option<AttemptEnding>,
    ) {
        self.submitted += 1;
        self.budgets += terms.budget.unwrap_or(Credits::ZERO);
        self.utility += course.earned;
        let (on_paper, at) = match end {
            ShadowEnd::NotAdmitted => return,
            ShadowEnd::Lost => (PromiseOutcome::Broken, None),
            ShadowEnd::Finished(at) => {
                let is_late = terms.due.is_some_and(|due| at > due + DELAY_TOLERANCE);
                let outcome = match ending {
                    _ if is_late => PromiseOutcome::Broken,
                    // The site would not have ended the job on paper.
                    Some(AttemptEnding::EndedBySite) | None => PromiseOutcome::Kept,
                    Some(ending) => PromiseOutcome::of_end_in_time(ending),
                };
                (outcome, Some(at))
            }
        };
        let outcome = course.promise.unwrap_or(on_paper);
        self.accepted += u64::from(outcome != PromiseOutcome::Unpromised);
        match outcome {
            PromiseOutcome::Kept => {
                self.kept += 1;
                let start = course.start.or(at).unwrap_or(terms.submit);
                self.wait += start.since(terms.submit);
            }
            PromiseOutcome::Broken => self.broken += 1,
            PromiseOutcome::Void => self.void += 1,
            PromiseOutcome::Unpromised => self.unpromised += 1,
        }
    }
}
