//! The objectives of two policies over the same jobs.

use serde::{Deserialize, Serialize};
use tollgate_model::outcome::DELAY_TOLERANCE;
use tollgate_model::{AttemptEnding, BookEntry, Books, BreakCause, Credits, Instant, Span};

use crate::promise::entry_of_end_in_time;

/// Sums over the jobs that are in the books. Each task of an array counts for itself, and quotes do not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectiveSums {
    /// The numbers of jobs by what became of them.
    pub books: Books,
    /// Total time from submission to start of the jobs with a kept promise.
    pub wait: Span,
    /// Total of the budgets of all of these jobs.
    pub budgets: Credits,
    /// Total of the amounts earned.
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
    pub real: ObjectiveSums,
    /// Totals of the shadow policy.
    pub paper: ObjectiveSums,
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
    /// The entry in the books, if it is known before the end.
    pub(super) entry: Option<BookEntry>,
    /// Whether the deadline was not promised.
    pub(super) is_unpromised: bool,
    /// The run time that is planned for the job.
    pub(super) planned_run: Span,
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

impl ObjectiveSums {
    /// Adds a finished job; `ending` is that of its last real attempt.
    pub(super) fn add(
        &mut self,
        terms: &JobTerms,
        course: &ShadowOutcome,
        end: ShadowEnd,
        ending: Option<AttemptEnding>,
    ) {
        self.budgets += terms.budget.unwrap_or(Credits::ZERO);
        self.utility += course.earned;
        let entry = course
            .entry
            .unwrap_or_else(|| entry_on_paper(terms, course, end, ending));
        self.books.add(entry, 1);
        if let (BookEntry::Kept, ShadowEnd::Finished(at)) = (entry, end) {
            self.wait += course.start.unwrap_or(at).since(terms.submit);
        }
    }
}

fn entry_on_paper(
    terms: &JobTerms,
    course: &ShadowOutcome,
    end: ShadowEnd,
    ending: Option<AttemptEnding>,
) -> BookEntry {
    let Some(due) = terms.due else {
        return match end {
            ShadowEnd::NotAdmitted => BookEntry::NoDeadlineRejected,
            ShadowEnd::Finished(_) | ShadowEnd::Lost => BookEntry::NoDeadline,
        };
    };
    let promised = match (end, ending) {
        (ShadowEnd::NotAdmitted, _) => BookEntry::Rejected,
        (ShadowEnd::Lost, _) => BookEntry::Broken(BreakCause::Site),
        (ShadowEnd::Finished(at), _) if at > due + DELAY_TOLERANCE => {
            let start = course.start.unwrap_or(at);
            BookEntry::Broken(BreakCause::of_run(
                terms.submit,
                start,
                due,
                course.planned_run,
            ))
        }
        // The site would not have ended the job on paper.
        (ShadowEnd::Finished(_), Some(AttemptEnding::EndedBySite) | None) => BookEntry::Kept,
        (ShadowEnd::Finished(_), Some(ending)) => entry_of_end_in_time(ending),
    };
    match course.is_unpromised {
        true => promised.without_promise(),
        false => promised,
    }
}
