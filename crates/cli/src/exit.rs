//! How the program ends: the exit codes, and how a command says that it could not do what it was asked.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done; bad lines of an input were counted and skipped |
//! | 1 | failed |
//! | 2 | wrong usage, or an input with no usable line |
//! | 3 | rejected, from `submit` and `quote` |
//!
//! `wait` ends as the job did: its exit code, 128 + n after signal n, 1 if it was rejected, cancelled or
//! lost.
//!
//! `qstat` and `qdel` end with 153 where PBS's would: there is no such job.
//!
//! The command-line parser itself answers unknown words with code 2.
//!
//! Each command has its own errors, beside it, and says with [`CliError`] what they mean to who typed it:
//! `?` turns them into a [`CliFailure`]. What any command may run into is in [`shared`].

mod common_errors;

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::process::ExitCode;

pub(crate) use common_errors::{CsvUnsupported, ParquetUnsupported, input_exit};

use crate::messages;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitKind {
    /// Nothing is wrong.
    Done,
    /// It was understood, and could not be done.
    Failed,
    /// It was not understood, or there is nothing to use in what was given.
    Usage,
    /// The job is not let in; the answer has said why.
    Rejected,
    /// As a job that was waited for.
    Job(u8),
    /// As those end who call it know it; it is said as well.
    External(u8),
}

impl ExitKind {
    const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Rejected => 3,
            Self::Job(code) | Self::External(code) => code,
        }
    }

    /// Whether there is something left to say that the answer has not.
    const fn prints_error(self) -> bool {
        match self {
            Self::Failed | Self::Usage | Self::External(_) => true,
            Self::Done | Self::Rejected | Self::Job(_) => false,
        }
    }
}

/// An error as a command tells it: its text is the one message.
pub(crate) trait CliError: Error + Send {
    /// How the program ends over it.
    fn exit(&self) -> ExitKind;

    /// The next thing to try, if there is one.
    fn hint(&self) -> Option<Cow<'_, str>> {
        None
    }
}

/// Why the program could not do what it was asked.
#[derive(Debug)]
pub(crate) struct CliFailure(Box<dyn CliError>);

impl<E: CliError + 'static> From<E> for CliFailure {
    fn from(complaint: E) -> Self {
        Self(Box::new(complaint))
    }
}

impl fmt::Display for CliFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl CliFailure {
    fn exit(&self) -> ExitKind {
        self.0.exit()
    }
}

/// Says what went wrong, if anything did, and ends.
pub(crate) fn finish(done: Result<(), CliFailure>) -> ExitCode {
    let exit = match &done {
        Ok(()) => ExitKind::Done,
        Err(failure) => failure.exit(),
    };
    if let Err(CliFailure(complaint)) = done
        && exit.prints_error()
    {
        messages::print_error(&complaint, complaint.hint().as_deref());
    }
    ExitCode::from(exit.code())
}
