//! Errors that any command may meet: flags, files, standard output.

use std::borrow::Cow;
use std::io::{self, ErrorKind};

use tollgate_trace::{OpenError, ReadError};

use super::{CliError, CliFailure, ExitKind};

impl CliFailure {
    /// Reports an invalid value of a flag.
    pub(crate) fn invalid_flag(flag: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        FlagError { flag, message }.into()
    }

    /// Reports a file that cannot be read.
    pub(crate) fn read_failed(file: impl Into<String>, error: io::Error) -> Self {
        let file = file.into();
        FileReadError { file, error }.into()
    }

    /// Reports a file that cannot be written.
    pub(crate) fn write_failed(file: impl Into<String>, error: io::Error) -> Self {
        let file = file.into();
        FileWriteError { file, error }.into()
    }
}

#[derive(Debug, thiserror::Error)]
#[error("--{flag}: {message}")]
struct FlagError {
    flag: &'static str,
    message: String,
}

impl CliError for FlagError {
    fn exit(&self) -> ExitKind {
        ExitKind::Usage
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{file}: cannot be read: {error}")]
struct FileReadError {
    file: String,
    error: io::Error,
}

impl CliError for FileReadError {
    fn exit(&self) -> ExitKind {
        ExitKind::Failed
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{file}: cannot be written: {error}")]
struct FileWriteError {
    file: String,
    error: io::Error,
}

impl CliError for FileWriteError {
    fn exit(&self) -> ExitKind {
        ExitKind::Failed
    }
}

/// An error while the output is written.
#[derive(Debug, thiserror::Error)]
#[error("standard output: cannot be written: {0}")]
struct StdoutError(io::Error);

impl CliError for StdoutError {
    fn exit(&self) -> ExitKind {
        // The reader has closed the pipe, as in `tollgate .. | head`.
        if self.0.kind() == ErrorKind::BrokenPipe {
            return ExitKind::Done;
        }
        ExitKind::Failed
    }
}

/// An I/O error without a file name is an error of standard output.
impl From<io::Error> for CliFailure {
    fn from(error: io::Error) -> Self {
        StdoutError(error).into()
    }
}

/// A request for a format that this build does not write.
#[derive(Debug, thiserror::Error)]
#[error("{file}: this build does not write Parquet: expected CSV")]
pub(crate) struct ParquetUnsupported {
    pub(crate) file: String,
}

impl CliError for ParquetUnsupported {
    fn exit(&self) -> ExitKind {
        ExitKind::Usage
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        Some("name a .csv file, which DuckDB, pandas and R read too".into())
    }
}

/// A request for CSV where the output is not a list.
#[derive(Debug, thiserror::Error)]
#[error("--format csv is not supported here (not a list): use table or json")]
pub(crate) struct CsvUnsupported;

impl CliError for CsvUnsupported {
    fn exit(&self) -> ExitKind {
        ExitKind::Usage
    }
}

impl CliError for OpenError {
    fn exit(&self) -> ExitKind {
        input_exit(&self.cause)
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        self.hint().map(Cow::Borrowed)
    }
}

/// Returns the exit kind of an input error. A file without readable content is wrong usage. A file
/// that breaks off is a failure: half an answer would look complete.
pub(crate) fn input_exit(cause: &ReadError) -> ExitKind {
    match cause {
        ReadError::Open(_)
        | ReadError::Binary { .. }
        | ReadError::Empty
        | ReadError::UnknownFormat { .. }
        | ReadError::Logins
        | ReadError::Foreign { .. }
        | ReadError::MixedFormats { .. }
        | ReadError::UnknownLogins { .. }
        | ReadError::NoLogins { .. }
        | ReadError::MissingColumn { .. }
        | ReadError::DuplicateColumn { .. }
        | ReadError::BadLimit { .. }
        | ReadError::NoUsableLine { .. } => ExitKind::Usage,
        ReadError::Io { .. }
        | ReadError::TruncatedGzip { .. }
        | ReadError::DamagedGzip { .. }
        | ReadError::TooLarge { .. } => ExitKind::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_stdout_is_not_an_error() {
        let closed: CliFailure = io::Error::from(ErrorKind::BrokenPipe).into();
        assert_eq!(closed.exit(), ExitKind::Done);
        let full: CliFailure = io::Error::from(ErrorKind::StorageFull).into();
        assert_eq!(full.exit(), ExitKind::Failed);
    }
}
