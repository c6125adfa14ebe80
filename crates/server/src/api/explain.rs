//! Explanations of the state of a job, as text.

mod evictions;
mod waiting;

use tollgate_batch::EngineKind;
use tollgate_client::timestamp::{format_iso, parse_iso};
use tollgate_client::types::{
    ArrayStatus, BrokenPromiseCause, JobDetails, JobState, PromiseOutcome, WireWord,
};
use tollgate_model::{Bytes, ExceededLimit, Instant};
use tollgate_service::PromiseAtRisk;
use tollgate_store::AttemptRow;

pub(super) use self::evictions::eviction_sentences;
pub(super) use self::waiting::cause_sentence;
use self::waiting::{
    dependency_sentence, hold_sentence, later_task_sentence, order_sentence, user_hold_sentence,
    wait_sentence,
};
use crate::controller::TaskOutlook;

/// Maximum number of earlier attempts in an answer.
const MAX_ATTEMPTS: usize = 10;

/// Returns the sentence about texts of a job that are no longer kept; None if all are.
pub(super) fn dropped_sentence(job: &JobDetails) -> Option<String> {
    let dropped: Vec<&str> = job.dropped.iter().map(WireWord::key).collect();
    let texts = match dropped.as_slice() {
        [] => return None,
        [text] => format!("{text} is"),
        [first, last] => format!("{first} and {last} are"),
        texts => format!("{} are", texts.join(", ")),
    };
    Some(format!(
        "its {texts} no longer kept: jobs that are over keep their latest texts only (limits.kept_bytes)"
    ))
}

/// Returns the sentence about the memory of a job whose user leaves it to the service.
pub(super) fn auto_memory_sentence(job: &JobDetails) -> Option<String> {
    job.auto_memory.then(|| match job.memory_bytes.map(Bytes::new) {
        Some(memory) => format!(
            "{} of memory are set aside for it, by what jobs like it used",
            memory.in_unit()
        ),
        None => "it has the memory of its processors: too few jobs like it have ended to choose another amount".to_owned(),
    })
}

/// Returns the sentence about an exception from the share of the job's user.
pub(super) fn grant_sentence(at: Instant, by: &str, reason: &str) -> String {
    format!(
        "{by} let it go beyond its user's share at {}: {reason}",
        format_iso(at)
    )
}

/// Returns how the earlier attempts at a task ended, at most the latest [`MAX_ATTEMPTS`] of them.
pub(super) fn attempt_sentences(attempts: &[AttemptRow]) -> Vec<String> {
    let Some((_, earlier)) = attempts.split_last() else {
        return Vec::new();
    };
    let from = earlier.len().saturating_sub(MAX_ATTEMPTS);
    let sentence = |attempt: &AttemptRow| {
        let run = attempt.start.zip(attempt.finish);
        let run = run.map(|(start, finish)| finish.since(start).as_secs_f64());
        let run = run.map_or_else(String::new, |run_s| format!(" after {run_s:.1} s"));
        let status = attempt.status.as_deref().unwrap_or("no end was observed");
        format!("attempt {}: {status}{run}", attempt.attempt)
    };
    earlier[from..].iter().map(sentence).collect()
}

/// The batch system in whose queue an attempt waits.
pub(super) struct QueueingEngine {
    /// Its kind.
    pub(super) kind: EngineKind,
    /// Its words for why the attempt waits; may be empty.
    pub(super) reason: String,
}

/// Returns what a job with nodes does: it runs, or waits for the engine to start it.
fn run_sentence(outlook: Option<&TaskOutlook>, engine: Option<&QueueingEngine>) -> String {
    if let Some(cause) = outlook.and_then(|outlook| outlook.in_use) {
        return format!("suspended, or about to be evicted: {}", cause.phrase());
    }
    let Some(wait) = outlook.and_then(|outlook| outlook.engine_wait) else {
        let closes = outlook.and_then(|outlook| outlook.closes_before_end);
        let load = outlook.and_then(|outlook| outlook.foreign_load);
        let closes = closes.map(|at| format!("; its host closes at {}", format_iso(at)));
        let slower = load.map(|load| {
            let (slowdown, since) = (load.slowdown, format_iso(load.since));
            format!("; other load makes its host {slowdown} times slower since {since}")
        });
        let notes: String = closes.into_iter().chain(slower).collect();
        return format!("running{notes}");
    };
    let since = format_iso(wait.ordered);
    match engine {
        Some(QueueingEngine { kind, reason }) if reason.is_empty() => {
            format!("submitted to {kind} at {since}, not started yet")
        }
        Some(QueueingEngine { kind, reason }) => {
            format!("submitted to {kind} at {since}, which says {reason}")
        }
        None => format!("ordered at {since}, not started yet"),
    }
}

/// How a job ended whose end cancelled another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PredecessorEnd {
    /// Its state.
    pub(super) state: JobState,
    /// Whether it ended with exit code 0.
    pub(super) succeeded: bool,
}

/// Explains the state of a job. The text has counts of other jobs, never their numbers. `predecessor` is the
/// job whose end cancelled this one, if it is known.
pub(super) fn explanation_sentences(
    job: &JobDetails,
    outlook: Option<&TaskOutlook>,
    predecessor: Option<PredecessorEnd>,
    engine: Option<&QueueingEngine>,
) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(array) = &job.array {
        return array_sentences(job, array, outlook, predecessor);
    }
    match (job.state.known(), outlook) {
        (Some(JobState::Queued), Some(outlook)) => {
            words.push(wait_sentence(job.procs, outlook));
            words.push(match outlook.tasks_ahead {
                Some(tasks) => later_task_sentence(job.id, tasks),
                None => order_sentence(outlook),
            });
            if let Some(reserved) = outlook.reserved {
                words.push(format!(
                    "processors are reserved from {}",
                    format_iso(reserved)
                ));
            }
        }
        (Some(JobState::Reserved), _) => words.push(format!(
            "a reserved quote: `tollgate submit --quote {} -- ..` claims it",
            job.id
        )),
        (Some(JobState::Dependent), outlook) => words.push(dependency_sentence(outlook)),
        (Some(JobState::Held), outlook) => words.push(hold_sentence(job, outlook)),
        (Some(JobState::Running), outlook) => words.push(run_sentence(outlook, engine)),
        (Some(JobState::Cancelled), _) if failed_predecessor(job).is_some() => {
            words.extend(dependency_failure(job, predecessor))
        }
        (Some(JobState::Rejected), _) => words.push(rejection_sentence(job)),
        (
            Some(
                JobState::Queued
                | JobState::Finished
                | JobState::TimedOut
                | JobState::OutOfMemory
                | JobState::OutputLimit
                | JobState::Cancelled
                | JobState::Lost
                | JobState::Abandoned
                | JobState::Expired,
            )
            | None,
            _,
        ) => words.push(end_sentence(job)),
    }
    if let Some(outlook) = outlook.filter(|outlook| outlook.failures > 0) {
        words.push(match outlook.failures {
            1 => "a job of this name has failed by itself before".to_owned(),
            failures => {
                format!("{failures} attempts at jobs of this name have failed by themselves")
            }
        });
    }
    words.extend(unpromised_sentence(job));
    words.extend(outlook.and_then(|outlook| outlook.risk).map(risk_sentence));
    words.extend(promise_sentence(job));
    words.extend(
        job.account
            .iter()
            .map(|account| format!("account {account}")),
    );
    words.extend(job.queue.iter().map(|queue| format!("queue {queue}")));
    words.extend(
        job.comment
            .iter()
            .map(|comment| format!("comment: {comment}")),
    );
    words
}

/// Returns why the promise to a job is at risk.
fn risk_sentence(risk: PromiseAtRisk) -> String {
    let PromiseAtRisk { probability, cause } = risk;
    format!("its promise is at risk ({probability}): {cause}")
}

/// Returns why a job was rejected, and where its deadline was.
fn rejection_sentence(job: &JobDetails) -> String {
    let due = job.deadline_at.iter();
    let due: String = due.map(|at| format!("; its deadline was {at}")).collect();
    format!("rejected: {}{due}", reason_words(job))
}

/// Returns the reasons of the decision about a job in words.
pub(super) fn reason_words(job: &JobDetails) -> String {
    let reasons = job.reasons.iter().map(|reason| reason.text.as_str());
    let reasons: Vec<&str> = reasons.collect();
    reasons.join("; ")
}

/// Returns how a job ended.
pub(super) fn end_sentence(job: &JobDetails) -> String {
    let state = &job.state;
    // A status such as `lost (worker disconnected)` already contains the state, and what never ran is not
    // called finished.
    let gives_all =
        |status: &str| status.starts_with(state.key()) || status.starts_with("not started");
    match (state.exceeded(), job.short_status()) {
        (Some(limit), status) => {
            let status = status.map(|status| format!(": {status}"));
            format!(
                "{state}: {}{}",
                limit_sentence(job, limit),
                status.unwrap_or_default()
            )
        }
        (None, Some(status)) if gives_all(status) => status.to_owned(),
        (None, Some(status)) => format!("{state}: {status}"),
        (None, None) => format!("{state}: never started"),
    }
}

/// Returns the limit that ended a job, with its size and the way to another one.
fn limit_sentence(job: &JobDetails, limit: ExceededLimit) -> String {
    match (limit, job.time_limit_s, job.memory_bytes) {
        (ExceededLimit::Time, Some(limit_s), _) => {
            format!("the job reached its time limit of {limit_s} s")
        }
        (ExceededLimit::Time, None, _) => "the job reached its time limit".to_owned(),
        (ExceededLimit::Memory, _, Some(bytes)) => {
            format!("the job needs more memory than its {}", Bytes::new(bytes))
        }
        (ExceededLimit::Memory, _, None) => {
            "the job needs more memory than the site gives a job that names none".to_owned()
        }
        (ExceededLimit::Output, _, _) => "the output is longer than the site's limit".to_owned(),
    }
}

/// Returns why a job that is not rejected has no promise, if it asked to run all the same.
fn unpromised_sentence(job: &JobDetails) -> Option<String> {
    let decided = job.state == JobState::Rejected || job.state == JobState::Cancelled;
    (!decided && !job.reasons.is_empty())
        .then(|| format!("without a promise: {}", reason_words(job)))
}

/// Returns what became of a deadline, if that is known.
pub(super) fn promise_sentence(job: &JobDetails) -> Option<String> {
    let deadline = parse_iso(job.deadline_at.as_ref()?).ok()?;
    let finish = job.finished_at.as_ref().map(|at| parse_iso(at));
    let late_s = match finish {
        Some(Ok(finish)) if finish > deadline => Some(finish.since(deadline).as_secs_f64()),
        Some(_) | None => None,
    };
    let text = match job.promise.as_ref()?.known()? {
        PromiseOutcome::Kept => "promise kept".to_owned(),
        PromiseOutcome::UnpromisedInTime => "not promised, and in time".to_owned(),
        PromiseOutcome::UnpromisedLate => match late_s {
            Some(late_s) => format!("not promised, and {late_s:.1} s late"),
            None => "not promised, and not in time".to_owned(),
        },
        PromiseOutcome::UnpromisedDropped => {
            "not promised, and cancelled as late: it could hardly end in time any more".to_owned()
        }
        PromiseOutcome::UnpromisedVoid => return None,
        PromiseOutcome::Void if job.state == JobState::Cancelled => {
            "promise void: cancelled before the deadline".to_owned()
        }
        PromiseOutcome::Void if let Some(limit) = job.state.exceeded() => {
            let limit = limit_name(limit);
            format!("promise void: the job reached its {limit} before its deadline")
        }
        PromiseOutcome::Void if job.state == JobState::Abandoned => {
            "promise void: the rule of its user gave the job up".to_owned()
        }
        PromiseOutcome::Void => {
            "promise void: the job failed by itself before its deadline".to_owned()
        }
        PromiseOutcome::Broken => broken_sentence(job, finish.is_some(), late_s),
    };
    Some(text)
}

/// Returns how the promise to a job was broken, and why.
fn broken_sentence(job: &JobDetails, is_over: bool, late_s: Option<f64>) -> String {
    let cause = match job.broken_by.as_ref().and_then(WireWord::known) {
        Some(BrokenPromiseCause::OwnRun) => ", because the job ran longer than planned",
        Some(BrokenPromiseCause::Others) => ", because other jobs ran longer than planned",
        Some(BrokenPromiseCause::Site) => ", because of the site",
        Some(BrokenPromiseCause::Evicted) => ", because its computer was needed otherwise",
        None => "",
    };
    match (late_s, job.state.exceeded()) {
        _ if !is_over => format!("promise broken: the deadline has passed{cause}"),
        (Some(late_s), _) => format!("promise broken: {late_s:.1} s late{cause}"),
        (None, _) if job.state == JobState::Lost => "promise broken: the job was lost".to_owned(),
        (None, _) if job.state == JobState::Abandoned => {
            "promise broken: the job was evicted too often".to_owned()
        }
        (None, Some(limit)) => {
            let limit = limit_name(limit);
            format!("promise broken: a {limit} of the site ended the job")
        }
        (None, None) => "promise broken: the site ended the job".to_owned(),
    }
}

fn limit_name(limit: ExceededLimit) -> &'static str {
    match limit {
        ExceededLimit::Time => "time limit",
        ExceededLimit::Memory => "memory limit",
        ExceededLimit::Output => "output limit",
    }
}

/// Returns the job whose end cancelled a job that depends on it.
pub(super) fn failed_predecessor(job: &JobDetails) -> Option<u64> {
    let mut reasons = job.reasons.iter();
    reasons.find_map(|reason| reason.key.strip_prefix("after:")?.parse().ok())
}

/// Returns the explanation if the job was cancelled because a job that it depends on failed.
fn dependency_failure(job: &JobDetails, predecessor: Option<PredecessorEnd>) -> Option<String> {
    let by = failed_predecessor(job)?;
    let exceeded = predecessor.and_then(|predecessor| predecessor.state.exceeded());
    let end = match exceeded {
        None if predecessor.is_some_and(|predecessor| predecessor.succeeded) => {
            "ended with exit code 0"
        }
        Some(ExceededLimit::Time) => "reached its time limit",
        Some(ExceededLimit::Memory) => "out of memory",
        Some(ExceededLimit::Output) => "reached its output limit",
        None => "did not end with exit code 0",
    };
    Some(format!("cancelled: job {by}, which it depends on, {end}"))
}

fn array_sentences(
    job: &JobDetails,
    array: &ArrayStatus,
    outlook: Option<&TaskOutlook>,
    predecessor: Option<PredecessorEnd>,
) -> Vec<String> {
    let mut words = match job.state.known() {
        Some(JobState::Dependent) => vec![dependency_sentence(outlook)],
        Some(JobState::Held) => vec![user_hold_sentence(outlook)],
        Some(JobState::Rejected) => vec![rejection_sentence(job)],
        Some(JobState::Cancelled) => dependency_failure(job, predecessor).into_iter().collect(),
        Some(
            JobState::Queued
            | JobState::Running
            | JobState::Finished
            | JobState::TimedOut
            | JobState::OutOfMemory
            | JobState::OutputLimit
            | JobState::Lost
            | JobState::Abandoned
            | JobState::Reserved
            | JobState::Expired,
        )
        | None => unpromised_sentence(job).into_iter().collect(),
    };
    let counts = [
        (array.running, "running"),
        (array.queued, "queued"),
        (array.held, "held"),
        (array.finished, "finished"),
        (array.timed_out, "ended by the time limit"),
        (array.out_of_memory, "out of memory"),
        (array.output_limit, "ended by the output limit"),
        (array.cancelled, "cancelled"),
        (array.lost, "lost"),
        (array.abandoned, "abandoned"),
        (array.rejected, "rejected"),
        (array.kept, "with a kept promise"),
        (array.broken, "with a broken promise"),
        (array.void, "with a void promise"),
        (array.unpromised_in_time, "in time without a promise"),
        (
            array.unpromised - array.unpromised_in_time,
            "not in time and without a promise",
        ),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    words.extend(counts.map(|(count, what)| match count {
        1 => format!("1 task {what}"),
        count => format!("{count} tasks {what}"),
    }));
    let failures = array.failures.iter();
    words.extend(failures.map(|failed| format!("failed, {failed}")));
    words
}
