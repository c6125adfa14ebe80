//! The history of a job: what happened, and what was expected as time went by.

use axum::extract::{Path, State};
use axum::{Extension, Json};
use tollgate_client::timestamp::format_iso;
use tollgate_client::types::{ForecastSample, JobDetails, JobHistory, JobState, JobTurn};
use tollgate_model::{Instant, Probability, TaskId};
use tollgate_store::{AttemptRow, JobRow, LatePromise, SampleRow, TurnRow};

use super::explain::{end_sentence, grant_sentence, promise_sentence, reason_words};
use super::job_selector::JobSelector;
use super::jobs::{own_job, with_name};
use super::state::{ApiState, JsonResult, query_controller, query_store};
use crate::access::Peer;
use crate::controller::ControllerRequest;

/// The stored facts of a history.
struct StoredFacts {
    attempts: Vec<AttemptRow>,
    turns: Vec<TurnRow>,
    samples: Vec<SampleRow>,
    granted: Option<(Instant, u32, String)>,
}

/// Returns the history of a job, or of one task of an array.
pub(super) async fn history(
    State(service): State<ApiState>,
    Extension(peer): Extension<Peer>,
    Path(id): Path<String>,
) -> JsonResult<JobHistory> {
    let row = own_job(&service, &peer, &JobSelector::find(&service, &id).await?).await?;
    let now = query_controller(&service, |reply| ControllerRequest::Now { reply }).await?;
    let task = TaskId {
        job: row.id,
        task: row.task.unwrap_or(0),
    };
    let (is_array, is_task) = (row.array.is_some(), row.task.is_some());
    let names = service.names.clone();
    let (facts, granted) = query_store(&service, move |reader| {
        let facts = StoredFacts {
            attempts: match is_array {
                true => Vec::new(),
                false => reader.task_attempts(task)?,
            },
            turns: reader.turns(task.job)?,
            samples: match is_task {
                true => Vec::new(),
                false => reader.samples(task.job)?,
            },
            granted: reader.grant(task.job)?,
        };
        let granted = facts.granted.as_ref();
        let granted = granted.map(|(at, by, reason)| {
            let sentence = grant_sentence(*at, &names.name(*by), reason);
            turn(*at, "granted", sentence)
        });
        Ok((facts, granted))
    })
    .await?;
    let (instants, late_promise) = (RowInstants::of(&row), row.late_promise);
    let job = with_name(&service, row).await?;
    let mut turns = turns_of(&job, instants, late_promise, &facts);
    turns.extend(granted);
    turns.sort_by_key(|(at, _)| *at);
    Ok(Json(JobHistory {
        id: job.id,
        task: job.task,
        now_at: format_iso(now),
        turns: turns.into_iter().map(|(_, turn)| turn).collect(),
        samples: facts.samples.iter().map(sample).collect(),
    }))
}

/// The instants of a stored job.
#[derive(Clone, Copy)]
struct RowInstants {
    submit: Instant,
    decided: Option<Instant>,
    start: Option<Instant>,
    finish: Option<Instant>,
}

impl RowInstants {
    fn of(row: &JobRow) -> Self {
        Self {
            submit: row.submit,
            decided: row.decided,
            start: row.start,
            finish: row.finish,
        }
    }
}

fn turn(at: Instant, key: &str, text: String) -> (Instant, JobTurn) {
    let turn = JobTurn {
        at: format_iso(at),
        key: key.to_owned(),
        text,
        tasks: None,
    };
    (at, turn)
}

/// Returns the turns of a job with their instants; those at one instant in the order in which they happen.
fn turns_of(
    job: &JobDetails,
    at: RowInstants,
    late_promise: Option<LatePromise>,
    facts: &StoredFacts,
) -> Vec<(Instant, JobTurn)> {
    let mut turns = vec![turn(at.submit, "submitted", submission_text(job))];
    let is_over = at.finish.is_some();
    let is_rejected = job.state == JobState::Rejected;
    let of_job = facts.turns.iter().filter(|turn| {
        let is_end = is_over && turn.kind == "queued" && Some(turn.at) == at.finish;
        !is_end && (job.task.is_none() || turn.tasks.is_empty())
    });
    let of_job: Vec<&TurnRow> = of_job.collect();
    if let (Some(decided), None, false) = (at.decided, late_promise, is_rejected)
        && !of_job.iter().any(|turn| turn.kind == "unpromised")
    {
        turns.extend(decision(job, decided));
    }
    if let Some(late) = late_promise {
        turns.push(turn(late.at, "promised", late_promise_text(job, late)));
    }
    for known in of_job {
        let tasks = Some(known.tasks.clone()).filter(|tasks| !tasks.is_empty());
        let (at, stored) = turn(known.at, &known.kind, turn_text(job, known));
        turns.push((at, JobTurn { tasks, ..stored }));
    }
    match job.array {
        Some(_) => {
            let started = at
                .start
                .map(|start| turn(start, "started", "first task started".to_owned()));
            turns.extend(started);
        }
        None => turns.extend(attempt_turns(&facts.attempts)),
    }
    if let Some(finish) = at.finish {
        turns.push(turn(finish, job.state.key(), end_text(job)));
    }
    turns
}

fn submission_text(job: &JobDetails) -> String {
    let due = job.deadline_at.iter().map(|due| format!(", due at {due}"));
    let quoted = job
        .quoted_probability
        .map(|quoted| format!(", quoted with probability {}", probability_text(quoted)));
    let parts = due.chain(quoted);
    format!("submitted{}", parts.collect::<String>())
}

/// Returns the decision about a job at its submission.
fn decision(job: &JobDetails, at: Instant) -> Option<(Instant, JobTurn)> {
    job.deadline_at.as_ref()?;
    if !job.reasons.is_empty() {
        let text = format!("not promised: {}", reason_words(job));
        return Some(turn(at, "unpromised", text));
    }
    let promised = job.promised_probability?;
    let text = format!("promised with probability {}", probability_text(promised));
    Some(turn(at, "promised", text))
}

fn late_promise_text(job: &JobDetails, late: LatePromise) -> String {
    let promised = job.promised_probability.map(probability_text);
    let promised = promised.map_or_else(String::new, |known| format!(" with probability {known}"));
    let quoted = late.quoted.map(probability_text);
    let quoted = quoted.map_or_else(String::new, |known| format!("; it was quoted with {known}"));
    format!("promised{promised}{quoted}")
}

fn turn_text(job: &JobDetails, turn: &TurnRow) -> String {
    let text = match turn.kind.as_str() {
        "queued" => "queued again",
        "held" => "held",
        "deferred" => "waits for its decision",
        "claimed" => "the reserved quote became a job",
        "altered" => "changed by its user",
        "at_risk" => "its promise is at risk",
        "broken" => "its promise was broken",
        "unpromised" => return format!("starts without a promise: {}", reason_words(job)),
        other => other,
    };
    match &turn.note {
        Some(note) => format!("{text} ({note})"),
        None => text.to_owned(),
    }
}

/// Returns the starts of attempts, and the ends of all but the last, which is that of the job.
fn attempt_turns(attempts: &[AttemptRow]) -> Vec<(Instant, JobTurn)> {
    let mut turns = Vec::new();
    let last = attempts.last().map(|attempt| attempt.attempt);
    for attempt in attempts {
        let number = match attempts.len() {
            1 => String::new(),
            _ => format!(", attempt {}", attempt.attempt),
        };
        let host = attempt.host.as_ref();
        let host = host.map_or_else(String::new, |host| format!(" on {host}"));
        let started = attempt
            .start
            .map(|at| turn(at, "started", format!("started{host}{number}")));
        turns.extend(started);
        if let Some(finish) = attempt.finish.filter(|_| Some(attempt.attempt) != last) {
            let status = attempt
                .status
                .as_deref()
                .unwrap_or("its end was not observed");
            let text = format!("attempt {} ended: {status}", attempt.attempt);
            turns.push(turn(finish, "attempt_ended", text));
        }
    }
    turns
}

fn end_text(job: &JobDetails) -> String {
    let end = match job.state == JobState::Rejected {
        true => format!("rejected: {}", reason_words(job)),
        false if job.array.is_some() => job.state.key().to_owned(),
        false => end_sentence(job),
    };
    match promise_sentence(job) {
        Some(promise) => format!("{end}; {promise}"),
        None => end,
    }
}

fn probability_text(probability: f64) -> String {
    Probability::new(probability).map_or_else(String::new, |known| known.to_string())
}

fn sample(row: &SampleRow) -> ForecastSample {
    ForecastSample {
        at: format_iso(row.at),
        expected_start_at: format_iso(row.start),
        expected_finish_at: format_iso(row.finish),
        earliest_finish_at: format_iso(row.earliest),
        latest_finish_at: format_iso(row.latest),
        probability: row.probability,
    }
}
