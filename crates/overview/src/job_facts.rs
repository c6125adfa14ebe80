//! Jobs in words.

use serde::Serialize;
use tollgate_client::types::{JobDetails, JobState, PromiseOutcome};

use crate::words::{instant, seconds, span};

/// How words are coloured. The words say the same without a colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WordTone {
    /// As text around it.
    #[default]
    #[serde(rename = "")]
    Plain,
    /// All is well.
    Good,
    /// A failure, or a broken promise.
    Bad,
    /// Of little interest.
    Dim,
}

/// Words with their colour.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ColouredWords {
    /// The words.
    pub text: String,
    /// Their colour, which a style sheet has as a class of this name.
    pub class: WordTone,
}

impl ColouredWords {
    /// Creates words with a colour.
    pub fn new(class: WordTone, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            class,
        }
    }
}

/// Returns the name of a job or task in commands and addresses: `7`, `7_3`.
pub fn job_id(job: &JobDetails) -> String {
    match job.task {
        Some(task) => format!("{}_{task}", job.id),
        None => job.id.to_string(),
    }
}

/// Returns the state of a job, with how it ended if it failed.
pub fn state(job: &JobDetails) -> ColouredWords {
    let words = job.state.to_string();
    let Some(state) = job.state.known() else {
        return ColouredWords::new(WordTone::Plain, words);
    };
    match state {
        JobState::Finished => match job.short_status() {
            None | Some("exit 0") => ColouredWords::new(WordTone::Plain, words),
            Some(status) => ColouredWords::new(WordTone::Bad, status),
        },
        JobState::TimedOut
        | JobState::OutOfMemory
        | JobState::OutputLimit
        | JobState::Lost
        | JobState::Abandoned => ColouredWords::new(WordTone::Bad, words),
        JobState::Rejected | JobState::Cancelled | JobState::Expired => {
            ColouredWords::new(WordTone::Dim, words)
        }
        JobState::Dependent
        | JobState::Queued
        | JobState::Held
        | JobState::Running
        | JobState::Reserved => ColouredWords::new(WordTone::Plain, words),
    }
}

/// Returns whether the deadline of a job is promised, or was.
pub fn is_promised(job: &JobDetails) -> bool {
    job.promised_at.is_some()
}

/// Returns what became of the deadline of a job. None before that, or without a deadline.
pub fn outcome(job: &JobDetails) -> Option<ColouredWords> {
    let outcome = job.promise.as_ref()?;
    let Some(known) = outcome.known() else {
        return Some(ColouredWords::new(WordTone::Plain, outcome.to_string()));
    };
    Some(match known {
        PromiseOutcome::Kept => ColouredWords::new(WordTone::Plain, "in time"),
        PromiseOutcome::Broken => ColouredWords::new(WordTone::Bad, late_words(job)),
        PromiseOutcome::Void => ColouredWords::new(WordTone::Dim, "void"),
        PromiseOutcome::UnpromisedInTime => {
            ColouredWords::new(WordTone::Plain, "in time, not promised")
        }
        PromiseOutcome::UnpromisedLate => {
            ColouredWords::new(WordTone::Dim, format!("{}, not promised", late_words(job)))
        }
        PromiseOutcome::UnpromisedDropped => ColouredWords::new(WordTone::Dim, "cancelled as late"),
        PromiseOutcome::UnpromisedVoid => {
            ColouredWords::new(WordTone::Dim, "not promised, ended before")
        }
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
pub fn command_line(command: &[String]) -> String {
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
