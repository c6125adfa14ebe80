//! Exit codes of the program, and the errors of its commands.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done; bad lines of an input were counted and skipped |
//! | 1 | failed |
//! | 2 | wrong usage, or an input with no usable line |
//! | 3 | rejected, from `submit` and `quote` |
//! | 75 | the connection to the service was lost, and it did not answer again in time |
//!
//! `wait` exits with the exit code of the job, with 128 + n after signal n, or with 1 if the job
//! was rejected, cancelled or lost. Code 75 says nothing about the job, which goes on.
//!
//! `qstat` and `qdel` exit with 153 for an unknown job, like the tools of PBS.
//!
//! The command-line parser itself rejects unknown arguments with code 2.
//!
//! Each command has error types in its own module. They implement [`CliError`], which gives the
//! exit code and a hint for the user, and `?` turns them into a [`CliFailure`]. Errors that any
//! command may meet are in [`common_errors`].

mod common_errors;

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::process::ExitCode;

pub(crate) use common_errors::{CsvUnsupported, ParquetUnsupported, input_exit};

use crate::output::messages;

/// The exit code after a lost connection: EX_TEMPFAIL of `sysexits.h`.
const SERVICE_LOST: u8 = 75;

/// The kind of exit of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitKind {
    /// Success.
    Done,
    /// The command was understood and failed.
    Failed,
    /// The command was not understood, or its input has no usable content.
    Usage,
    /// The job is rejected. The output has already given the reasons.
    Rejected,
    /// The connection to the service was lost.
    ServiceLost,
    /// The exit code of the awaited job.
    Job(u8),
    /// An exit code that callers of the tool expect. The error is printed too.
    External(u8),
}

impl ExitKind {
    const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Rejected => 3,
            Self::ServiceLost => SERVICE_LOST,
            Self::Job(code) | Self::External(code) => code,
        }
    }

    /// Returns whether the error must still be printed.
    const fn prints_error(self) -> bool {
        match self {
            Self::Failed | Self::Usage | Self::ServiceLost | Self::External(_) => true,
            Self::Done | Self::Rejected | Self::Job(_) => false,
        }
    }
}

/// An error of a command. Its text is the error message.
pub(crate) trait CliError: Error + Send {
    /// Returns the kind of exit after this error.
    fn exit(&self) -> ExitKind;

    /// Returns the next thing to try. None if there is no hint.
    fn hint(&self) -> Option<Cow<'_, str>> {
        None
    }
}

/// The failure of a command, as any of its error types.
#[derive(Debug)]
pub(crate) struct CliFailure(Box<dyn CliError>);

impl<E: CliError + 'static> From<E> for CliFailure {
    fn from(error: E) -> Self {
        Self(Box::new(error))
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

    /// Returns what to do about the failure, if that is known.
    pub(crate) fn hint(&self) -> Option<Cow<'_, str>> {
        self.0.hint()
    }
}

/// Prints the error, if there is one, and returns the exit code.
pub(crate) fn finish(done: Result<(), CliFailure>) -> ExitCode {
    let exit = match &done {
        Ok(()) => ExitKind::Done,
        Err(failure) => failure.exit(),
    };
    if let Err(CliFailure(error)) = done
        && exit.prints_error()
    {
        messages::print_error(&error, error.hint().as_deref());
    }
    ExitCode::from(exit.code())
}
