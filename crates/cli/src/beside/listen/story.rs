//! Why a job waits, and what happened to it.

use tollgate_beside::JobStatement;
use tollgate_client::timestamp::format_iso;
use tollgate_client::types::{ForecastSample, JobExplanation, JobHistory, JobTurn};
use tollgate_model::Instant;

use super::jobs::{JobNumber, ShownJob, forecast};
use super::view::FollowerView;
use crate::beside::eta::explained;
use crate::beside::print;

/// Explains a job as `tollgate eta` does.
pub(super) fn explanation(view: &FollowerView, job: &ShownJob) -> JobExplanation {
    let details = job.details();
    let Some(answer) = job.answer(view) else {
        return JobExplanation {
            words: vec![details.state.to_string()],
            job: details,
            expected: None,
            quote: None,
        };
    };
    let expected = forecast(&answer);
    let explained = explained(&view.follower, answer, &view.queues, view.now());
    let words = print::sentences(&explained, &format_iso);
    let words = words.iter().map(|words| words.trim().trim_end_matches('.'));
    JobExplanation {
        words: words.map(str::to_owned).collect(),
        job: details,
        expected,
        quote: None,
    }
}

/// Returns what happened to a job, and what was stated about it since the follower began.
pub(super) fn history(view: &FollowerView, job: &ShownJob) -> JobHistory {
    let number = JobNumber::of(job.key());
    let turn = |at: Instant, key: &str, text: &str| JobTurn {
        at: format_iso(at),
        key: key.to_owned(),
        text: text.to_owned(),
        tasks: None,
    };
    let mut turns = vec![turn(job.submitted(), "submitted", "submitted")];
    let queued = match job {
        ShownJob::Open(job) => job.queued,
        ShownJob::Ended(job) => job.queued(),
    };
    if let Some(queued) = queued.filter(|queued| *queued > job.submitted()) {
        turns.push(turn(queued, "queued", "may start from here on"));
    }
    turns.extend(job.started().map(|at| turn(at, "started", "started")));
    turns.extend(job.ended().map(|at| match job.started() {
        Some(_) => turn(at, "finished", "ended"),
        None => turn(at, "cancelled", "left the queue without a start"),
    }));
    JobHistory {
        id: number.id,
        task: number.task,
        now_at: format_iso(view.now()),
        turns,
        samples: view.seen.statements(job.key()).filter_map(sample).collect(),
    }
}

/// Returns a statement as an expectation. None without an end.
fn sample(stated: &JobStatement) -> Option<ForecastSample> {
    let ends_by = stated.ends_by?;
    Some(ForecastSample {
        at: format_iso(stated.at),
        expected_start_at: format_iso(stated.starts_by[2]),
        expected_finish_at: format_iso(ends_by[2]),
        earliest_finish_at: format_iso(ends_by[1]),
        latest_finish_at: format_iso(ends_by[3]),
        probability: None,
    })
}
