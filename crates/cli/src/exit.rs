//! Exit codes of the program, and the errors of its commands.
//!
//! The codes and their meanings are the table [`EXIT_CODES`].
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

/// An exit code of the program.
#[derive(Debug)]
pub(crate) struct ExitCodeMeaning {
    /// The code.
    pub(crate) code: u8,
    /// The meaning, for users.
    pub(crate) meaning: &'static str,
}

const DONE: ExitCodeMeaning = ExitCodeMeaning {
    code: 0,
    meaning: "Done. Bad lines of an input were counted and skipped.",
};
const FAILED: ExitCodeMeaning = ExitCodeMeaning {
    code: 1,
    meaning: "Failed. The error is on standard error.",
};
const USAGE: ExitCodeMeaning = ExitCodeMeaning {
    code: 2,
    meaning: "Wrong usage, or an input with no usable line.",
};
const REJECTED: ExitCodeMeaning = ExitCodeMeaning {
    code: 3,
    meaning: "Rejected, from `submit`, `quote` and `alter`: the job, or a task of its array.",
};
/// The code is EX_TEMPFAIL of `sysexits.h`.
const SERVICE_LOST: ExitCodeMeaning = ExitCodeMeaning {
    code: 75,
    meaning: "The connection to the service was lost, and the service did not answer again in time. \
              The code says nothing about the job, which goes on.",
};
/// The code is that of the tools of PBS.
const UNKNOWN_JOB: ExitCodeMeaning = ExitCodeMeaning {
    code: 153,
    meaning: "Unknown job, from `qstat` and `qdel` in the style of PBS.",
};

/// Every exit code of the program's own, ascending.
pub(crate) const EXIT_CODES: [&ExitCodeMeaning; 6] = [
    &DONE,
    &FAILED,
    &USAGE,
    &REJECTED,
    &SERVICE_LOST,
    &UNKNOWN_JOB,
];

/// The exit codes of commands that wait for a job.
pub(crate) const CODES_OF_JOBS: &str = "`wait` exits with the exit code of the job, or with 128 + n after signal n. \
     The code is 1 if the job or a task of it was rejected, cancelled or lost, and 76 if a rule abandoned it after \
     evictions. Of several jobs, the greatest code counts.";

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
    /// No job has this number, for callers that expect the exit code of PBS. The error is printed too.
    UnknownJob,
}

impl ExitKind {
    /// Returns the exit code.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Done => DONE.code,
            Self::Failed => FAILED.code,
            Self::Usage => USAGE.code,
            Self::Rejected => REJECTED.code,
            Self::ServiceLost => SERVICE_LOST.code,
            Self::UnknownJob => UNKNOWN_JOB.code,
            Self::Job(code) => code,
        }
    }

    /// Returns whether the error must still be printed.
    const fn prints_error(self) -> bool {
        match self {
            Self::Failed | Self::Usage | Self::ServiceLost | Self::UnknownJob => true,
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
