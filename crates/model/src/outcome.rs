//! The result of a job.

use crate::{BookEntry, BreakCause, Credits, Decision, Instant, Reason, Span};

/// The largest delay that does not count as a delay. Finish times that follow from real-valued work
/// are rounded to microseconds, and rounding does not break a promise.
pub const DELAY_TOLERANCE: Span = Span::from_micros(1_000);

/// The complete record of one job under one policy, its true run time included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Time of submission.
    pub submit: Instant,
    /// The true run time of the job alone on its nodes: that of its task on the slowest of them. Of a
    /// job that never ran, that on the slowest node of the machine.
    pub runtime: Span,
    /// Mean true run time of the job's tasks, each alone on its node: shorter than the run time if some
    /// nodes are faster than others.
    pub task_runtime: Span,
    /// The run time that was planned for the job when it was promised, or submitted.
    pub planned_run: Span,
    /// Number of processors that the job asked for.
    pub procs: u32,
    /// Whether the job was admitted, with or without a promise, and if not, why.
    pub decision: Decision,
    /// Time of the decision.
    pub decided: Instant,
    /// The job's start and finish; None for a job that never ran to its end.
    pub ran: Option<RunInterval>,
    /// The instant by which the job should have finished, if it had a deadline.
    pub due: Option<Instant>,
    /// The maximum that the user would have paid; zero without a budget.
    pub budget: Credits,
    /// The price that the provider asked for the job; zero without a market.
    pub price: Credits,
    /// The provider's earnings from the job; negative where penalties exceed the price.
    pub utility: Credits,
    /// True if the job was killed at its own limit, before its work was done.
    pub killed: bool,
    /// True if its run time could not be predicted at its submission.
    pub unpredictable: bool,
}

/// The interval in which a job ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunInterval {
    /// Start of the job's first task.
    pub start: Instant,
    /// Finish of the job's last task.
    pub finish: Instant,
}

impl Outcome {
    /// Returns the delay past the deadline; zero if the job met its deadline, has none or never
    /// finished (Yeo & Buyya 2008, eq. 10, with [`DELAY_TOLERANCE`]).
    pub fn delay(&self) -> Span {
        match (self.ran, self.due) {
            (Some(ran), Some(due)) => delay(ran.finish, due),
            (None, _) | (_, None) => Span::ZERO,
        }
    }

    /// Returns whether the job was promised and finished its work within its deadline. A job without a
    /// deadline has no promise to fulfil.
    pub fn fulfilled(&self) -> bool {
        self.decision == Decision::Accepted && self.is_in_time()
    }

    /// Returns whether the job has a deadline and finished its work by then.
    pub fn is_in_time(&self) -> bool {
        !self.killed && self.ran.is_some() && self.due.is_some() && self.delay() == Span::ZERO
    }

    /// Returns the entry of the job in the books. A job that was killed at its own limit before its deadline makes the
    /// promise void. A policy that promises nothing counts as if it promised what it admits.
    pub fn book_entry(&self) -> BookEntry {
        let is_promised = match self.decision {
            Decision::Rejected(Reason::LATE) => return BookEntry::UnpromisedDropped,
            Decision::Rejected(_) => return BookEntry::of_rejected(self.due.is_some()),
            Decision::Accepted => true,
            Decision::Unpromised => false,
        };
        let Some(due) = self.due else {
            return BookEntry::NoDeadline;
        };
        let promised = match self.ran {
            Some(_) if self.is_in_time() => BookEntry::Kept,
            Some(_) if self.killed && self.delay() == Span::ZERO => BookEntry::Void,
            Some(ran) => {
                let cause = BreakCause::of_run(self.submit, ran.start, due, self.planned_run);
                BookEntry::Broken(cause)
            }
            None => BookEntry::Broken(BreakCause::Others),
        };
        match is_promised {
            true => promised,
            false => promised.without_promise(),
        }
    }

    /// Returns the span from submission to start.
    pub fn wait(&self) -> Option<Span> {
        self.ran.map(|ran| ran.start.since(self.submit))
    }

    /// Returns the response time divided by the run time.
    pub fn slowdown(&self) -> Option<f64> {
        self.ran
            .map(|ran| ran.finish.since(self.submit).as_secs_f64() / self.runtime.as_secs_f64())
    }

    /// Returns the bounded slowdown as Feitelson & Rudolph (1998) define it: response time over run
    /// time, never below 1. Run times below `threshold` count as `threshold`.
    pub fn bounded_slowdown(&self, threshold: Span) -> Option<f64> {
        self.ran.map(|ran| {
            let response = ran.finish.since(self.submit).as_secs_f64();
            (response / self.runtime.max(threshold).as_secs_f64()).max(1.0)
        })
    }
}

/// Returns the delay of `finish` past `due`. A delay of at most [`DELAY_TOLERANCE`] counts as zero.
pub fn delay(finish: Instant, due: Instant) -> Span {
    let late = finish.since(due);
    if late <= DELAY_TOLERANCE {
        Span::ZERO
    } else {
        late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished_at(finish: Instant) -> Outcome {
        Outcome {
            unpredictable: false,
            submit: Instant::from_secs(10),
            runtime: Span::from_secs(2),
            task_runtime: Span::from_secs(2),
            planned_run: Span::from_secs(2),
            procs: 1,
            decision: Decision::Accepted,
            decided: Instant::from_secs(10),
            ran: Some(RunInterval {
                start: Instant::from_secs(12),
                finish,
            }),
            due: Some(Instant::from_secs(20)),
            budget: Credits::ZERO,
            price: Credits::ZERO,
            utility: Credits::ZERO,
            killed: false,
        }
    }

    #[test]
    fn a_millisecond_is_no_delay() {
        let just = finished_at(Instant::from_micros(20_001_000));
        assert!(just.fulfilled());
        let late = finished_at(Instant::from_micros(20_001_001));
        assert!(!late.fulfilled());
        assert_eq!(late.delay(), Span::from_micros(1_001));
    }

    #[test]
    fn a_job_killed_at_its_limit_breaks_its_promise_only_if_it_is_late() {
        let killed_at = |finish| Outcome {
            killed: true,
            ..finished_at(finish)
        };
        let early = killed_at(Instant::from_secs(14));
        assert_eq!(early.book_entry(), BookEntry::Void);
        let late = killed_at(Instant::from_secs(21));
        assert_eq!(late.book_entry(), BookEntry::Broken(BreakCause::OwnRun));
    }

    #[test]
    fn a_job_without_a_deadline_is_neither_late_nor_fulfilled() {
        let free = Outcome {
            due: None,
            ..finished_at(Instant::from_secs(14))
        };
        assert_eq!((free.fulfilled(), free.delay()), (false, Span::ZERO));
    }

    #[test]
    fn entry_in_the_books_follows_from_promise_end_and_start() {
        let in_time = finished_at(Instant::from_secs(14));
        let late = finished_at(Instant::from_secs(21));
        let of = |job: Outcome, decision| Outcome { decision, ..job }.book_entry();
        assert_eq!(in_time.book_entry(), BookEntry::Kept);
        let unpromised = Decision::Unpromised;
        assert_eq!(of(in_time, unpromised), BookEntry::UnpromisedInTime);
        assert_eq!(of(late, unpromised), BookEntry::UnpromisedLate);
        let dropped = Decision::Rejected(Reason::LATE);
        assert_eq!(of(late, dropped), BookEntry::UnpromisedDropped);
        let rejected = Decision::Rejected(Reason::DeadlineRisk);
        assert_eq!(of(late, rejected), BookEntry::Rejected);
        // It started at 12 s, and was due at 20.
        let planned = |secs| Outcome {
            planned_run: Span::from_secs(secs),
            ..late
        };
        let broken = |cause| BookEntry::Broken(cause);
        assert_eq!(planned(8).book_entry(), broken(BreakCause::OwnRun));
        assert_eq!(planned(9).book_entry(), broken(BreakCause::Others));
    }

    #[test]
    fn slowdown_is_response_over_run_time() {
        let outcome = finished_at(Instant::from_secs(14));
        assert_eq!(outcome.slowdown(), Some(2.0));
        assert_eq!(outcome.bounded_slowdown(Span::from_secs(10)), Some(1.0));
        assert_eq!(outcome.wait(), Some(Span::from_secs(2)));
    }
}
