//! Deadlines that users give as instants.

use tollgate_model::{Instant, Span};
use tollgate_service::{JobChange, Submission};

use super::request::RequestError;

/// Maximum time to a deadline: a hundred years.
const MAX_SPAN_TO_DEADLINE: Span = Span::from_secs(3_200_000_000);

/// Sets the relative deadline of a job that must finish by `due`, as of the decision at `now`. With
/// a span by any other clock, the job could be promised a later instant than requested, as that
/// clock may have been set back since the core last handled a command.
pub(super) fn resolve_deadline(
    submission: &mut Submission,
    due: Option<Instant>,
    now: Instant,
) -> Result<(), RequestError> {
    if let Some(due) = due {
        submission.deadline = Some(time_left(due, now)?);
    }
    Ok(())
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
    if left <= Span::ZERO || left > MAX_SPAN_TO_DEADLINE {
        return Err(RequestError::DeadlinePassed(now));
    }
    Ok(left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_gate::OnEviction;
    use tollgate_model::CreditsPerSecond;

    fn resolved(due: Option<i64>, now: i64) -> Result<Option<Span>, RequestError> {
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
            retry: OnEviction::Fail,
            reserve_for: None,
            options: Default::default(),
        };
        let due = due.map(Instant::from_micros);
        resolve_deadline(&mut submission, due, Instant::from_micros(now))?;
        Ok(submission.deadline)
    }

    #[test]
    fn deadline_instant_becomes_the_span_from_now() {
        assert_eq!(resolved(Some(107), 100), Ok(Some(Span::from_micros(7))));
        assert_eq!(resolved(None, 100), Ok(Some(Span::from_secs(5))));
    }

    #[test]
    fn deadline_in_the_past_or_too_far_away_is_rejected() {
        let now = Instant::from_micros(100);
        assert_eq!(
            resolved(Some(100), 100),
            Err(RequestError::DeadlinePassed(now))
        );
        assert_eq!(
            resolved(Some(99), 100),
            Err(RequestError::DeadlinePassed(now))
        );
        assert_eq!(
            resolved(Some(i64::MAX), 100),
            Err(RequestError::DeadlinePassed(now))
        );
    }
}
