//! Times that users give: deadlines as instants, and the time at which a job begins.

use tollgate_model::{Instant, Span};
use tollgate_service::{JobChange, Submission};

use super::request_error::RequestError;

/// Maximum time to a deadline or a begin: a hundred years.
const MAX_SPAN_AHEAD: Span = Span::from_secs(3_200_000_000);

/// The times of a request that depend on the clock of the decision. With any other clock, a job could be
/// promised a later instant than requested, as that clock may have been set back since the core last handled
/// a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestedTimes {
    /// The deadline as an instant, if the user gave one.
    pub due: Option<Instant>,
    /// The time before which the job does not start, if the user gave one.
    pub begin: Option<RequestedBegin>,
}

/// The time before which a job does not start, as its user gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestedBegin {
    /// A span after the decision. Positive.
    After(Span),
    /// An instant. One that has passed is no reason to wait.
    At(Instant),
}

impl RequestedTimes {
    /// Sets the times of a submission, as of the decision at `now`.
    ///
    /// # Errors
    /// If one of the times is too far away, the deadline has passed, or the job would begin after it.
    pub(super) fn resolve(
        self,
        submission: &mut Submission,
        now: Instant,
    ) -> Result<(), RequestError> {
        if let Some(due) = self.due {
            submission.deadline = Some(time_left(due, now)?);
        }
        let begin = self.begin.map(|begin| match begin {
            RequestedBegin::After(span) => now + span,
            RequestedBegin::At(at) => at,
        });
        submission.options.begin = begin.filter(|begin| *begin > now);
        let due = submission.deadline.map(|left| now + left);
        let most = due.unwrap_or(now + MAX_SPAN_AHEAD);
        match submission.options.begin {
            Some(begin) if begin >= most => Err(RequestError::BeginTooLate(most)),
            Some(_) | None => Ok(()),
        }
    }
}

/// Sets the deadline of a changed job that must finish by `due`, as of the decision at `now`.
pub(super) fn resolve_change(
    change: &mut JobChange,
    due: Option<Instant>,
    now: Instant,
) -> Result<(), RequestError> {
    if let Some(due) = due {
        change.deadline = Some(Some(time_left(due, now)?));
    }
    Ok(())
}

fn time_left(due: Instant, now: Instant) -> Result<Span, RequestError> {
    let left = due.since(now);
    if left <= Span::ZERO || left > MAX_SPAN_AHEAD {
        return Err(RequestError::DeadlinePassed(now));
    }
    Ok(left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_gate::OnEviction;
    use tollgate_model::CreditsPerSecond;

    /// Returns the deadline and the begin of a job with a deadline of 5 s, as of 100 us.
    fn resolved(times: RequestedTimes) -> Result<(Option<Span>, Option<Instant>), RequestError> {
        let mut submission = Submission {
            user: 0,
            name: String::new(),
            executable: None,
            account: None,
            queue: None,
            procs: 1,
            memory: None,
            estimate: None,
            deadline: Some(Span::from_secs(5)),
            budget: None,
            penalty: CreditsPerSecond::ZERO,
            confidence: None,
            at_least: None,
            retry: OnEviction::Fail,
            reserve_for: None,
            options: Default::default(),
        };
        times.resolve(&mut submission, Instant::from_micros(100))?;
        Ok((submission.deadline, submission.options.begin))
    }

    fn due(at: i64) -> RequestedTimes {
        RequestedTimes {
            due: Some(Instant::from_micros(at)),
            begin: None,
        }
    }

    fn begin(begin: RequestedBegin) -> RequestedTimes {
        RequestedTimes {
            due: None,
            begin: Some(begin),
        }
    }

    #[test]
    fn deadline_instant_becomes_the_span_from_now() {
        let left = |times| resolved(times).map(|(left, _)| left);
        assert_eq!(left(due(107)), Ok(Some(Span::from_micros(7))));
        let none = RequestedTimes::default();
        assert_eq!(left(none), Ok(Some(Span::from_secs(5))));
    }

    #[test]
    fn deadline_in_the_past_or_too_far_away_is_rejected() {
        let now = Instant::from_micros(100);
        for at in [100, 99, i64::MAX] {
            assert_eq!(resolved(due(at)), Err(RequestError::DeadlinePassed(now)));
        }
    }

    #[test]
    fn begin_becomes_an_instant_and_one_that_has_passed_is_none() {
        let at = |times| resolved(times).map(|(_, begin)| begin);
        let later = Some(Instant::from_micros(107));
        let after = RequestedBegin::After(Span::from_micros(7));
        assert_eq!(at(begin(after)), Ok(later));
        assert_eq!(
            at(begin(RequestedBegin::At(Instant::from_micros(107)))),
            Ok(later)
        );
        assert_eq!(
            at(begin(RequestedBegin::At(Instant::from_micros(100)))),
            Ok(None)
        );
    }

    #[test]
    fn begin_after_the_deadline_is_rejected() {
        let due = Instant::from_micros(5_000_100);
        for at in [5_000_100, i64::MAX] {
            let at = RequestedBegin::At(Instant::from_micros(at));
            assert_eq!(resolved(begin(at)), Err(RequestError::BeginTooLate(due)));
        }
    }
}
