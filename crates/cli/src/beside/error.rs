//! The errors of the commands beside a scheduler.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

use tollgate_batch::EngineFault;
use tollgate_beside::{FollowerSnapshotError, SeenJobKey};
use tollgate_sites::ShellError;

use crate::exit::{CliError, ExitKind};

/// An error of a command beside a scheduler.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BesideError {
    /// No scheduler that is known has its commands here.
    #[error("no scheduler found: expected `squeue` in PATH")]
    NoEngine,
    /// A command of the engine cannot be run.
    #[error(transparent)]
    Shell(#[from] ShellError),
    /// The engine refuses, or its answer is not understood.
    #[error(transparent)]
    Engine(#[from] EngineFault),
    /// There is no directory for what was learned.
    #[error("no directory for what was learned: expected --state, XDG_CACHE_HOME or HOME")]
    NoStateDir,
    /// A file cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// Another follower writes the same files.
    #[error("{}: another follower is at work", .0.display())]
    Locked(PathBuf),
    /// Nothing was learned yet.
    #[error("{}: nothing was learned yet", .0.display())]
    NothingLearned(PathBuf),
    /// The stored knowledge cannot be used.
    #[error("{}: {error}", path.display())]
    Snapshot {
        /// The file.
        path: PathBuf,
        /// The damage.
        error: FollowerSnapshotError,
    },
    /// A line of a record is damaged.
    #[error("{}:{line}: expected an observation: {error}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
        /// The damage.
        error: serde_json::Error,
    },
    /// The queue has no such job.
    #[error("{0}: no such job waits or runs")]
    UnknownJob(SeenJobKey),
    /// The words behind `--` submit no job.
    #[error("{0}: expected `sbatch` and its options")]
    NotASubmission(String),
    /// The words behind `--` are not those of the command.
    #[error("{0}")]
    Submission(String),
}

impl CliError for BesideError {
    fn exit(&self) -> ExitKind {
        match self {
            Self::NoStateDir | Self::NotASubmission(_) | Self::Submission(_) => ExitKind::Usage,
            Self::NoEngine
            | Self::Shell(_)
            | Self::Engine(_)
            | Self::File { .. }
            | Self::Locked(_)
            | Self::NothingLearned(_)
            | Self::Snapshot { .. }
            | Self::Line { .. }
            | Self::UnknownJob(_) => ExitKind::Failed,
        }
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        let hint = match self {
            Self::NoEngine => "set PATH so that `squeue` is found",
            Self::Locked(_) => "end the other follower, or name another directory with --state",
            Self::NothingLearned(_) => "run `tollgate beside slurm`, or `tollgate eta`",
            Self::UnknownJob(_) => "`squeue --me` lists your jobs",
            Self::NotASubmission(_) => "as in `tollgate eta -- sbatch -n 4 -t 60 job.sh`",
            Self::Snapshot { .. } => "remove the file: it is learned anew from the accounting",
            Self::Engine(_) => "on a log-in node of the cluster, `scontrol show config` answers",
            Self::Shell(_)
            | Self::NoStateDir
            | Self::File { .. }
            | Self::Line { .. }
            | Self::Submission(_) => return None,
        };
        Some(hint.into())
    }
}

/// Returns an error about a file.
pub(super) fn file_error(path: impl Into<PathBuf>, error: io::Error) -> BesideError {
    BesideError::File {
        path: path.into(),
        error,
    }
}
