//! What became of a job.

use crate::{Credits, Decision, Instant, Span};

/// A delay of at most this much is none: finish times that follow from real-valued work are
/// rounded to microseconds, and a promise is not broken by rounding.
pub const DELAY_TOLERANCE: Span = Span::from_micros(1_000);

/// The whole story of one job under one policy, the truth about its run time included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// When it was handed in.
    pub submit: Instant,
    /// How long it really takes on each of its nodes, alone.
    pub runtime: Span,
    /// Processors it asked for.
    pub procs: u32,
    /// Let in or kept out.
    pub decision: Decision,
    /// When that was decided.
    pub decided: Instant,
    /// When it started and finished; none for a job that never ran to its end.
    pub ran: Option<RunInterval>,
    /// The instant by which it should have finished, if it had a deadline.
    pub due: Option<Instant>,
    /// The most its user would have paid; zero without a budget.
    pub budget: Credits,
    /// What the provider asked for it; zero without a market.
    pub price: Credits,
    /// What the provider earned with it; negative where penalties outweigh.
    pub utility: Credits,
}

/// From when to when a job ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunInterval {
    /// When its first task started.
    pub start: Instant,
    /// When its last task finished.
    pub finish: Instant,
}

impl Outcome {
    /// By how much it missed its deadline; zero if it kept it, has none, or never finished
    /// (Yeo & Buyya 2008, eq. 10, with [`DELAY_TOLERANCE`]).
    pub fn delay(&self) -> Span {
        match (self.ran, self.due) {
            (Some(ran), Some(due)) => delay(ran.finish, due),
            (None, _) | (_, None) => Span::ZERO,
        }
    }

    /// Whether it was let in and finished within its deadline; without a deadline finishing is
    /// enough.
    pub fn fulfilled(&self) -> bool {
        self.decision == Decision::Accepted && self.ran.is_some() && self.delay() == Span::ZERO
    }

    /// From submission to start.
    pub fn wait(&self) -> Option<Span> {
        self.ran.map(|ran| ran.start.since(self.submit))
    }

    /// Response time over run time.
    pub fn slowdown(&self) -> Option<f64> {
        self.ran
            .map(|ran| ran.finish.since(self.submit).as_secs_f64() / self.runtime.as_secs_f64())
    }

    /// Response time over run time, with run times below `threshold` counted as that, and never
    /// below 1: bounded slowdown as Feitelson & Rudolph (1998) define it.
    pub fn bounded_slowdown(&self, threshold: Span) -> Option<f64> {
        self.ran.map(|ran| {
            let response = ran.finish.since(self.submit).as_secs_f64();
            (response / self.runtime.max(threshold).as_secs_f64()).max(1.0)
        })
    }
}

/// By how much `finish` is past `due`, where at most [`DELAY_TOLERANCE`] is no delay at all.
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
            submit: Instant::from_secs(10),
            runtime: Span::from_secs(2),
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
    fn slowdown_is_response_over_run_time() {
        let outcome = finished_at(Instant::from_secs(14));
        assert_eq!(outcome.slowdown(), Some(2.0));
        assert_eq!(outcome.bounded_slowdown(Span::from_secs(10)), Some(1.0));
        assert_eq!(outcome.wait(), Some(Span::from_secs(2)));
    }
}
