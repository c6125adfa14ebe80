//! Refusals of an engine, and answers that are not understood.

use crate::CommandAnswer;

/// The maximum number of letters that are quoted of an answer.
const MAX_QUOTED: usize = 400;

/// An answer of an engine that is not the one that was asked for. Quotes what the engine said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineFault {
    /// The engine refused, in words that are known.
    #[error("{message}")]
    Refused {
        /// Whether the same command may succeed later.
        retry: RetryAdvice,
        /// The words of the engine.
        message: String,
    },
    /// The answer is not understood.
    #[error("an answer that is not understood (exit code {exit}): {message}")]
    Unreadable {
        /// The exit code of the command.
        exit: i32,
        /// The words of the engine; `nothing` if it said nothing.
        message: String,
    },
}

/// Whether the same command may succeed later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RetryAdvice {
    /// The engine was out of reach; the command may have been carried out all the same. Try again
    /// soon, with growing pauses.
    Now,
    /// A number of jobs or an amount is used up. Try again when something ended.
    Later,
    /// The request itself is wrong for this engine, and nothing was carried out.
    Never,
}

impl EngineFault {
    /// Returns the fault of an answer that is not understood.
    pub(crate) fn unreadable(answer: &CommandAnswer) -> Self {
        Self::Unreadable {
            exit: answer.exit,
            message: quoted(&answer.text()),
        }
    }

    /// Returns the fault of one line that is not understood, of an answer that is otherwise.
    pub(crate) fn unreadable_line(answer: &CommandAnswer, line: &str) -> Self {
        Self::Unreadable {
            exit: answer.exit,
            message: quoted(line),
        }
    }

    /// Returns the fault of an answer by the words in it: the first row of the table that occurs in
    /// the text, in any case of letters. An answer without any of them is not understood.
    pub(crate) fn classify(answer: &CommandAnswer, table: &[(RetryAdvice, &str)]) -> Self {
        let text = answer.text();
        let lower = text.to_lowercase();
        let rows = table.iter().chain(CONNECTION);
        let row = rows.into_iter().find(|(_, words)| lower.contains(words));
        match row {
            Some((retry, _)) => Self::Refused {
                retry: *retry,
                message: quoted(&text),
            },
            None => Self::unreadable(answer),
        }
    }

    /// Returns whether the command may have been carried out in spite of the fault.
    pub const fn is_uncertain(&self) -> bool {
        match self {
            Self::Refused { retry, .. } => matches!(retry, RetryAdvice::Now),
            Self::Unreadable { .. } => true,
        }
    }
}

/// Words of `ssh` and of the system, which any command may answer with; in lower case.
const CONNECTION: &[(RetryAdvice, &str)] = &[
    (RetryAdvice::Never, "permission denied"),
    (RetryAdvice::Never, "host key verification failed"),
    (RetryAdvice::Never, "command not found"),
    (RetryAdvice::Never, "no such file or directory"),
    (RetryAdvice::Never, "could not resolve hostname"),
    (RetryAdvice::Now, "connection refused"),
    (RetryAdvice::Now, "connection reset"),
    (RetryAdvice::Now, "connection timed out"),
    (RetryAdvice::Now, "connection closed"),
    (RetryAdvice::Now, "no route to host"),
    (RetryAdvice::Now, "network is unreachable"),
    (RetryAdvice::Now, "broken pipe"),
    (RetryAdvice::Now, "resource temporarily unavailable"),
];

/// Returns a text as one line, without control characters, shortened to 400 letters.
fn quoted(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line: String = words
        .join(" ")
        .chars()
        .filter(|letter| !letter.is_control())
        .collect();
    if line.is_empty() {
        return "nothing".to_owned();
    }
    match line.char_indices().nth(MAX_QUOTED) {
        Some((end, _)) => format!("{} ..", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(errors: &str) -> CommandAnswer {
        CommandAnswer {
            exit: 1,
            errors: errors.to_owned(),
            ..CommandAnswer::default()
        }
    }

    #[test]
    fn refusal_quotes_the_answer_of_the_engine() {
        let table = [(RetryAdvice::Later, "queue is full")];
        let fault = EngineFault::classify(&answer("Sorry:\n  Queue is FULL\u{7}\n"), &table);
        assert_eq!(fault.to_string(), "Sorry: Queue is FULL");
        assert!(!fault.is_uncertain());
    }

    #[test]
    fn unknown_words_are_unreadable_and_uncertain() {
        let fault = EngineFault::classify(&answer("purple"), &[]);
        assert_eq!(
            fault.to_string(),
            "an answer that is not understood (exit code 1): purple"
        );
        assert!(fault.is_uncertain());
        let fault = EngineFault::unreadable(&answer(" \n"));
        assert!(fault.to_string().ends_with(": nothing"));
    }

    #[test]
    fn lost_connection_is_uncertain() {
        let fault = EngineFault::classify(&answer("ssh: Connection reset by peer"), &[]);
        assert!(fault.is_uncertain());
        let fault = EngineFault::classify(&answer("bash: sbatch: command not found"), &[]);
        assert!(!fault.is_uncertain());
    }

    #[test]
    fn long_answers_are_shortened_at_a_letter() {
        let long = "ä".repeat(MAX_QUOTED + 1);
        let message = quoted(&long);
        assert_eq!(
            message.chars().filter(|letter| *letter == 'ä').count(),
            MAX_QUOTED
        );
    }
}
