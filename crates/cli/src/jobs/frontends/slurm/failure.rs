//! Failures of Slurm's commands: their text goes to standard error as it is.

use std::io::{self, Write};

use tollgate_client::ClientError;
use tollgate_frontends::slurm::SlurmError;

use crate::connection::error::ClientCommandError;
use crate::exit::CliFailure;

/// A failure of a command.
#[derive(Debug)]
pub(super) enum SlurmFailure {
    /// An error in Slurm's words.
    Words(SlurmError),
    /// The exit code of a job or step, without a message.
    Code(u8),
    /// The service does not answer, for this reason.
    NoService(String),
    /// The service refused a request.
    Refused(String),
    /// Standard output cannot be written.
    Output(io::Error),
}

impl SlurmFailure {
    /// Prints the failure, and returns its exit code as the program's own error.
    pub(super) fn into_cli(self) -> CliFailure {
        let (text, code) = match self {
            Self::Words(error) => (error.text, error.code),
            Self::Code(code) => (String::new(), code),
            // Callers know the beginning of the first line.
            Self::NoService(problem) => {
                let message =
                    "slurm_load_jobs error: Unable to contact slurm controller (connect failure)";
                (format!("{message}\ntollgate: {problem}"), 1)
            }
            Self::Refused(problem) => (format!("slurm_load_jobs error: {problem}"), 1),
            Self::Output(error) => return error.into(),
        };
        if !text.is_empty() {
            // A closed standard error is ignored.
            let _ = writeln!(io::stderr().lock(), "{text}");
        }
        ClientCommandError::JobStatus(code).into()
    }
}

impl From<SlurmError> for SlurmFailure {
    fn from(error: SlurmError) -> Self {
        Self::Words(error)
    }
}

impl From<io::Error> for SlurmFailure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<ClientError> for SlurmFailure {
    fn from(error: ClientError) -> Self {
        if let ClientError::Refused { problem, .. } = error {
            return Self::Refused(problem.error);
        }
        Self::NoService(error.to_string())
    }
}

/// The failure of a connection.
impl From<CliFailure> for SlurmFailure {
    fn from(failure: CliFailure) -> Self {
        Self::NoService(failure.to_string())
    }
}

/// Returns whether the service knows no such job, or none that can be changed.
pub(super) fn is_about_the_job(error: &ClientError) -> bool {
    matches!(error, ClientError::Refused { status, .. } if matches!(status.as_u16(), 404 | 409))
}
