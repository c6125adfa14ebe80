//! What is said on standard error, one line each: `note:`, `error:`, `hint:`.

use std::fmt::Display;
use std::io::{Write, stderr};

/// Whether notes are said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verbosity {
    /// Everything.
    Notes,
    /// Only what went wrong.
    Errors,
}

impl Verbosity {
    /// Notes are said unless `quiet` was asked for.
    pub(crate) const fn from_quiet(quiet: bool) -> Self {
        if quiet { Self::Errors } else { Self::Notes }
    }

    /// Says something worth knowing about an answer.
    pub(crate) fn note(self, note: impl Display) {
        match self {
            Self::Notes => print("note", note),
            Self::Errors => {}
        }
    }
}

/// Says why there is no answer, and what to try next.
pub(crate) fn print_error(error: impl Display, hint: Option<&str>) {
    print("error", error);
    if let Some(hint) = hint {
        print("hint", hint);
    }
}

/// How many of something there are, in words: `1 node`, `2 nodes`.
pub(crate) fn pluralise(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Nobody is left to be told if standard error is closed.
fn print(kind: &str, message: impl Display) {
    let _ = writeln!(stderr().lock(), "{kind}: {message}");
}
