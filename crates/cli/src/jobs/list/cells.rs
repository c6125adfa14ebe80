//! The cells of jobs in their columns.

use std::cmp::Ordering;

use console::Style;
use jiff::Zoned;
use tollgate_client::timestamp::parse_iso;
use tollgate_client::types::{
    JobDetails, JobForecast, JobState, PromiseOutcome, WireVocabulary, WireWord,
};

use crate::output::format;
use ColumnValue::{Number, Text};

/// The cell of a job in a column.
#[derive(Debug)]
pub(super) enum ColumnValue {
    /// The number of a job, and of its task.
    Id(u64, Option<u32>),
    Text(String),
    Number(f64),
    /// Seconds.
    Span(f64),
    Bytes(u64),
    /// An instant of the protocol.
    Instant(String),
    Missing,
}

impl ColumnValue {
    /// Returns the text in CSV: exact, with instants as in JSON.
    pub(super) fn exact(&self) -> String {
        match self {
            Self::Id(job, Some(task)) => format!("{job}_{task}"),
            Self::Id(job, None) => job.to_string(),
            Self::Text(text) | Self::Instant(text) => text.clone(),
            Self::Number(number) | Self::Span(number) => number.to_string(),
            Self::Bytes(bytes) => bytes.to_string(),
            Self::Missing => String::new(),
        }
    }

    pub(super) fn for_people(&self, now: &Zoned) -> String {
        match self {
            Self::Span(secs) => format::format_span(*secs),
            Self::Bytes(bytes) => format::mebibytes(*bytes),
            Self::Instant(at) => format::format_short_time(at, now),
            Self::Id(..) | Self::Text(_) | Self::Number(_) | Self::Missing => self.exact(),
        }
    }

    /// Compares two values of a column, which are of one kind.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Id(job, task), Self::Id(other, of_other)) => (job, task).cmp(&(other, of_other)),
            (Self::Number(one) | Self::Span(one), Self::Number(other) | Self::Span(other)) => {
                one.total_cmp(other)
            }
            (Self::Bytes(one), Self::Bytes(other)) => one.cmp(other),
            (Self::Instant(one), Self::Instant(other)) => {
                parse_iso(one).ok().cmp(&parse_iso(other).ok())
            }
            _ => self.exact().cmp(&other.exact()),
        }
    }
}

pub(super) fn text(text: &Option<String>) -> ColumnValue {
    text.clone().map_or(ColumnValue::Missing, Text)
}

pub(super) fn word<T: WireVocabulary>(word: &Option<WireWord<T>>) -> ColumnValue {
    let key = word.as_ref().map(|word| word.key().to_owned());
    key.map_or(ColumnValue::Missing, Text)
}

pub(super) fn number(number: Option<f64>) -> ColumnValue {
    number.map_or(ColumnValue::Missing, Number)
}

pub(super) fn span(secs: Option<f64>) -> ColumnValue {
    secs.map_or(ColumnValue::Missing, ColumnValue::Span)
}

pub(super) fn instant(at: &Option<String>) -> ColumnValue {
    at.clone()
        .map_or(ColumnValue::Missing, ColumnValue::Instant)
}

pub(super) fn flag(is_set: bool) -> ColumnValue {
    text(&is_set.then(|| "yes".to_owned()))
}

/// Returns an instant that is expected of a job.
pub(super) fn expected(job: &JobDetails, at: fn(&JobForecast) -> String) -> ColumnValue {
    instant(&job.expected.as_ref().map(at))
}

/// Formats the probability to end by the deadline, by what is known now.
pub(super) fn chance_cell(job: &JobDetails) -> String {
    let expected = job.expected.as_ref();
    let probability = expected.and_then(|expected| expected.probability);
    probability.map_or_else(String::new, format::format_probability)
}

/// Green for what runs, red for what failed, yellow for what waits for a person.
pub(super) fn state_style(job: &JobDetails) -> Style {
    let style = Style::new();
    let Some(state) = job.state.known() else {
        return style;
    };
    match state {
        JobState::Running => style.green(),
        JobState::Held => style.yellow(),
        JobState::TimedOut
        | JobState::OutOfMemory
        | JobState::OutputLimit
        | JobState::Lost
        | JobState::Abandoned
        | JobState::Rejected => style.red(),
        JobState::Finished if job.wait_code() != 0 => style.red(),
        JobState::Cancelled | JobState::Expired => style.dim(),
        JobState::Dependent | JobState::Queued | JobState::Finished | JobState::Reserved => style,
    }
}

/// Formats the state with the end of a job; of an array, with the numbers of its tasks.
pub(super) fn state_cell(job: &JobDetails) -> String {
    if job.array.is_some() {
        return array_state(job);
    }
    match job.short_status() {
        // A status such as `lost (worker disconnected)` already includes the state.
        Some(status) if status.starts_with(format::state_word(job)) => status.to_owned(),
        Some(status) if job.finished_at.is_some() => format!("{}, {status}", job.state),
        // It has nodes, and waits in the queue of the batch system to which they belong.
        None if job.state == JobState::Running && job.started_at.is_none() => {
            "submitted".to_owned()
        }
        Some(_) | None => format::state_word(job).to_owned(),
    }
}

/// Formats what became of the promise: `kept`, `late`, `broken` or `void`; of a job without one `none, in time`; of
/// an array `3 kept, 1 void`.
pub(super) fn promise_cell(job: &JobDetails) -> String {
    if let Some(array) = &job.array {
        let counts = [
            (array.kept, "kept"),
            (array.broken, "broken"),
            (array.void, "void"),
            (array.unpromised, "not promised"),
        ];
        let some = counts.iter().filter(|(count, _)| *count > 0);
        let some: Vec<String> = some
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        return some.join(", ");
    }
    let instant = |at: &Option<String>| at.as_ref().and_then(|at| parse_iso(at).ok());
    let due = instant(&job.deadline_at);
    let is_late = due.is_some_and(|due| instant(&job.finished_at).is_none_or(|at| at > due));
    let Some(promise) = &job.promise else {
        return String::new();
    };
    let words = match promise.known() {
        Some(PromiseOutcome::Broken) if is_late => "late",
        Some(PromiseOutcome::UnpromisedInTime) => "none, in time",
        Some(PromiseOutcome::UnpromisedLate) => "none, late",
        Some(PromiseOutcome::UnpromisedDropped) => "none, dropped",
        Some(PromiseOutcome::UnpromisedVoid) => "none",
        Some(PromiseOutcome::Kept | PromiseOutcome::Broken | PromiseOutcome::Void) | None => {
            promise.key()
        }
    };
    words.to_owned()
}

/// Formats the state of an array: `running: 640 finished, 16 running, 344 queued of 1000`, or
/// `finished, exit 0: all 1000` if all tasks are in that state; `finished, exit 3 at worst: all 1000` if some
/// task exited with 3.
fn array_state(job: &JobDetails) -> String {
    let Some(array) = &job.array else {
        return job.state.to_string();
    };
    let counts = [
        (array.finished, JobState::Finished),
        (array.timed_out, JobState::TimedOut),
        (array.out_of_memory, JobState::OutOfMemory),
        (array.output_limit, JobState::OutputLimit),
        (array.running, JobState::Running),
        (array.queued, JobState::Queued),
        (array.held, JobState::Held),
        (array.cancelled, JobState::Cancelled),
        (array.lost, JobState::Lost),
        (array.abandoned, JobState::Abandoned),
        (array.rejected, JobState::Rejected),
    ];
    let all: u64 = counts.iter().map(|(count, _)| count).sum();
    let some = counts.iter().filter(|(count, _)| *count > 0);
    let some: Vec<String> = some
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    // The exit code of an array is the greatest of its tasks'.
    let status = match job.status.as_deref() {
        Some("exit 0") => ", exit 0".to_owned(),
        Some(status) => format!(", {status} at worst"),
        None => String::new(),
    };
    let is_uniform = counts
        .iter()
        .any(|(count, state)| *count == all && job.state == *state);
    if is_uniform {
        return format!("{}{status}: all {all}", job.state);
    }
    format!("{}{status}: {} of {all}", job.state, some.join(", "))
}
