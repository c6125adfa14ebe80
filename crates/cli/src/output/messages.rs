//! Messages on standard error, one per line: `note:`, `error:`, `hint:`.

use std::fmt::Display;
use std::io::{Write, stderr};

pub(crate) use tollgate_report::pluralise;

/// The kinds of messages that are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verbosity {
    /// All messages.
    Notes,
    /// Errors and hints only.
    Errors,
}

impl Verbosity {
    /// Returns `Errors` if `quiet` is set, and otherwise `Notes`.
    pub(crate) const fn from_quiet(quiet: bool) -> Self {
        if quiet { Self::Errors } else { Self::Notes }
    }

    /// Prints a note about an answer.
    pub(crate) fn note(self, note: impl Display) {
        match self {
            Self::Notes => print("note", note),
            Self::Errors => {}
        }
    }
}

/// Prints an error, and a hint about the next thing to try.
pub(crate) fn print_error(error: impl Display, hint: Option<&str>) {
    print("error", error);
    if let Some(hint) = hint {
        print("hint", hint);
    }
}

/// Prints a line. A closed standard error is ignored.
fn print(kind: &str, message: impl Display) {
    let _ = writeln!(stderr().lock(), "{kind}: {message}");
}
