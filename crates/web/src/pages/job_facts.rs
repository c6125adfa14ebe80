//! Jobs in words, for all pages.

use serde::Serialize;
use tollgate_client::types::{JobDetails, JobState, PromiseOutcome};

use crate::words::{instant, seconds, span};

/// Words with the class that colours them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ColouredWords {
    pub(crate) text: String,
    /// `good`, `bad`, `dim` or empty.
    pub(crate) class: &'static str,
}

impl ColouredWords {
    pub(crate) fn new(class: &'static str, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            class,
        }
    }
}

/// Returns the name of a job or task in commands and addresses: `7`, `7_3`.
pub(crate) fn job_id(job: &JobDetails) -> String {
    match job.task {
        Some(task) => format!("{}_{task}", job.id),
        None => job.id.to_string(),
    }
}

/// Returns the state of a job, with how it ended if it failed.
pub(crate) fn state(job: &JobDetails) -> ColouredWords {
    let words = job.state.to_string();
    let Some(state) = job.state.known() else {
        return ColouredWords::new("", words);
    };
    match state {
        JobState::Finished => match job.short_status() {
            None | Some("exit 0") => ColouredWords::new("", words),
            Some(status) => ColouredWords::new("bad", status),
        },
        JobState::TimedOut | JobState::OutOfMemory | JobState::OutputLimit | JobState::Lost => {
            ColouredWords::new("bad", words)
        }
        JobState::Rejected | JobState::Cancelled | JobState::Expired => {
            ColouredWords::new("dim", words)
        }
        JobState::Dependent
        | JobState::Queued
        | JobState::Held
        | JobState::Running
        | JobState::Reserved => ColouredWords::new("", words),
    }
}

/// Returns whether the deadline of a job is promised, or was.
pub(crate) fn is_promised(job: &JobDetails) -> bool {
    job.promised_at.is_some()
}

/// Returns what became of the deadline of a job. None before that, or without a deadline.
pub(crate) fn outcome(job: &JobDetails) -> Option<ColouredWords> {
    let outcome = job.promise.as_ref()?;
    let Some(known) = outcome.known() else {
        return Some(ColouredWords::new("", outcome.to_string()));
    };
    Some(match known {
        PromiseOutcome::Kept => ColouredWords::new("", "in time"),
        PromiseOutcome::Broken => ColouredWords::new("bad", late_words(job)),
        PromiseOutcome::Void => ColouredWords::new("dim", "void"),
        PromiseOutcome::UnpromisedInTime => ColouredWords::new("", "in time, not promised"),
        PromiseOutcome::UnpromisedLate => {
            ColouredWords::new("dim", format!("{}, not promised", late_words(job)))
        }
        PromiseOutcome::UnpromisedDropped => ColouredWords::new("dim", "cancelled as late"),
        PromiseOutcome::UnpromisedVoid => ColouredWords::new("dim", "not promised, ended before"),
    })
}

/// Returns by how much a job was late.
fn late_words(job: &JobDetails) -> String {
    let at = |words: &Option<String>| words.as_deref().and_then(instant);
    let late = match (at(&job.deadline_at), at(&job.finished_at)) {
        (Some(due), Some(end)) => Some(seconds(due, end)).filter(|late| *late > 0.0),
        _ => None,
    };
    match late {
        Some(late) => format!("late by {}", span(late)),
        None if job.finished_at.is_none() => "late".to_owned(),
        None => "broken".to_owned(),
    }
}

/// Returns the command as one line, quoted where a shell would need it.
pub(crate) fn command_line(command: &[String]) -> String {
    let is_plain = |word: &String| {
        let plain = |letter: char| letter.is_alphanumeric() || "_-./:=,+@%".contains(letter);
        !word.is_empty() && word.chars().all(plain)
    };
    let words = command.iter().map(|word| match is_plain(word) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_is_quoted_as_a_shell_needs_it() {
        let line = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            command_line(&words)
        };
        assert_eq!(line(&["sleep", "5"]), "sleep 5");
        assert_eq!(
            line(&["sh", "-c", "echo a > b", ""]),
            "sh -c 'echo a > b' ''"
        );
        assert_eq!(line(&["it's"]), "'it'\\''s'");
    }
}
