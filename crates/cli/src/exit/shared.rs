//! What any command may run into: flags, files, standard output.

use std::borrow::Cow;
use std::io::{self, ErrorKind};

use tollgate_workload::{OpenError, ReadError};

use super::{Complaint, Exit, Failure};

impl Failure {
    /// A flag's words that mean nothing.
    pub(crate) fn flag(flag: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Flag { flag, message }.into()
    }

    /// A file that cannot be read.
    pub(crate) fn read(file: impl Into<String>, error: io::Error) -> Self {
        let file = file.into();
        Unread { file, error }.into()
    }

    /// A file that cannot be written.
    pub(crate) fn write(file: impl Into<String>, error: io::Error) -> Self {
        let file = file.into();
        Unwritten { file, error }.into()
    }
}

#[derive(Debug, thiserror::Error)]
#[error("--{flag}: {message}")]
struct Flag {
    flag: &'static str,
    message: String,
}

impl Complaint for Flag {
    fn exit(&self) -> Exit {
        Exit::Usage
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{file}: cannot be read: {error}")]
struct Unread {
    file: String,
    error: io::Error,
}

impl Complaint for Unread {
    fn exit(&self) -> Exit {
        Exit::Failed
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{file}: cannot be written: {error}")]
struct Unwritten {
    file: String,
    error: io::Error,
}

impl Complaint for Unwritten {
    fn exit(&self) -> Exit {
        Exit::Failed
    }
}

/// The answer cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("standard output: cannot be written: {0}")]
struct Unprinted(io::Error);

impl Complaint for Unprinted {
    fn exit(&self) -> Exit {
        // Whoever reads the answer has seen enough of it, as in `tollgate .. | head`.
        if self.0.kind() == ErrorKind::BrokenPipe {
            return Exit::Done;
        }
        Exit::Failed
    }
}

/// What is read and written without a name is the answer.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Unprinted(error).into()
    }
}

/// A format that this build does not write.
#[derive(Debug, thiserror::Error)]
#[error("{file}: this build does not write Parquet: expected CSV")]
pub(crate) struct NoParquet {
    pub(crate) file: String,
}

impl Complaint for NoParquet {
    fn exit(&self) -> Exit {
        Exit::Usage
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        Some("name a .csv file, which DuckDB, pandas and R read too".into())
    }
}

/// An answer that is no list.
#[derive(Debug, thiserror::Error)]
#[error("--format csv is not supported here (not a list): use table or json")]
pub(crate) struct NoCsv;

impl Complaint for NoCsv {
    fn exit(&self) -> Exit {
        Exit::Usage
    }
}

impl Complaint for OpenError {
    fn exit(&self) -> Exit {
        exit_of_input(&self.cause)
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        self.hint().map(Cow::Borrowed)
    }
}

/// A file that nothing can be read from is wrong usage; one that breaks off has failed: half an
/// answer would look like a whole one.
pub(crate) fn exit_of_input(cause: &ReadError) -> Exit {
    match cause {
        ReadError::Open(_)
        | ReadError::Binary { .. }
        | ReadError::Empty
        | ReadError::UnknownFormat { .. }
        | ReadError::NotJobs { .. }
        | ReadError::MixedFormats { .. }
        | ReadError::UnknownLogins { .. }
        | ReadError::NoLogins { .. }
        | ReadError::Rrd(_)
        | ReadError::MissingColumn { .. }
        | ReadError::DuplicateColumn { .. }
        | ReadError::BadLimit { .. }
        | ReadError::NoUsableLine { .. } => Exit::Usage,
        ReadError::Io { .. }
        | ReadError::TruncatedGzip { .. }
        | ReadError::DamagedGzip { .. }
        | ReadError::TooLarge { .. } => Exit::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_has_seen_enough_is_no_failure() {
        let closed: Failure = io::Error::from(ErrorKind::BrokenPipe).into();
        assert_eq!(closed.exit(), Exit::Done);
        let full: Failure = io::Error::from(ErrorKind::StorageFull).into();
        assert_eq!(full.exit(), Exit::Failed);
    }
}
