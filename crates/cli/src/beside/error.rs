//! The errors of the commands beside a scheduler.

use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use tollgate_beside::SeenJobKey;
use tollgate_sites::{FollowerStoreError, QueueError};

use super::engine::FollowedEngine;
use crate::exit::{CliError, ExitKind};

/// An error of a command beside a scheduler.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BesideError {
    /// No scheduler that is known has its commands here.
    #[error("no scheduler found: expected `squeue`, `qconf` or `condor_q` in PATH")]
    NoEngine,
    /// The queue of the engine cannot be looked at.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The stored knowledge, or an observation of a record, cannot be used.
    #[error(transparent)]
    Store(#[from] FollowerStoreError),
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
    /// The address of --listen cannot be used.
    #[error("--listen: {address}: {error}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        error: io::Error,
    },
    /// The site hides jobs, which --listen would show to every user of this host.
    #[error("--listen: the site hides the jobs of others, and every user of this host may connect")]
    HidesJobs,
    /// A directory has no record.
    #[error("{}: no record of a follower: expected the directory of --record, or of one run below it", .0.display())]
    NoRun(PathBuf),
    /// Nothing was learned yet.
    #[error("{}: nothing was learned yet", .0.display())]
    NothingLearned(PathBuf),
    /// The queue has no such job.
    #[error("{key}: no such job waits or runs")]
    UnknownJob {
        /// The job.
        key: SeenJobKey,
        /// The engine that has no such job.
        engine: FollowedEngine,
    },
    /// The words behind `--` submit no job.
    #[error("{0}: expected `sbatch`, `qsub` or `condor_submit`, and its options")]
    NotASubmission(String),
    /// The words behind `--` are not those of the command.
    #[error("{0}")]
    Submission(String),
}

impl CliError for BesideError {
    fn exit(&self) -> ExitKind {
        match self {
            Self::NoStateDir | Self::HidesJobs | Self::NotASubmission(_) | Self::Submission(_) => {
                ExitKind::Usage
            }
            Self::Queue(error) => error.exit(),
            Self::Store(error) => error.exit(),
            Self::NoEngine
            | Self::File { .. }
            | Self::Locked(_)
            | Self::Listen { .. }
            | Self::NoRun(_)
            | Self::NothingLearned(_)
            | Self::UnknownJob { .. } => ExitKind::Failed,
        }
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        let hint = match self {
            Self::NoEngine => "set PATH so that a command of the scheduler is found".into(),
            Self::Locked(_) => {
                "end the other follower, or name another directory with --state".into()
            }
            Self::Listen { .. } => "port 0 is any port that is free".into(),
            Self::HidesJobs => "leave out --listen: `tollgate eta` answers each user".into(),
            Self::NoRun(_) => "`tollgate beside slurm --record DIR` writes one".into(),
            Self::NothingLearned(_) => "run `tollgate eta`, which learns from the records".into(),
            Self::UnknownJob { engine, .. } => {
                format!("`{}` lists your jobs", engine.list_command()).into()
            }
            Self::NotASubmission(_) => "as in `tollgate eta -- sbatch -n 4 -t 60 job.sh`".into(),
            Self::Queue(error) => return error.hint(),
            Self::Store(error) => return error.hint(),
            Self::NoStateDir | Self::File { .. } | Self::Submission(_) => return None,
        };
        Some(hint)
    }
}

impl CliError for QueueError {
    fn exit(&self) -> ExitKind {
        ExitKind::Failed
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        let kind = match self {
            Self::NoAnswer { kind, .. } | Self::NotHere { kind, .. } => *kind,
            Self::NoDialect(_) | Self::Shell(_) | Self::UnknownUser(_) => return None,
        };
        let check = FollowedEngine::of_kind(kind)?.check_command();
        Some(format!("use a log-in node of the cluster, where `{check}` answers").into())
    }
}

impl CliError for FollowerStoreError {
    fn exit(&self) -> ExitKind {
        ExitKind::Failed
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::Snapshot { .. } => {
                Some("remove the file: it is learned anew from the accounting".into())
            }
            Self::File { .. } | Self::Line { .. } => None,
        }
    }
}

/// Returns an error about a file.
pub(super) fn file_error(path: impl Into<PathBuf>, error: io::Error) -> BesideError {
    BesideError::File {
        path: path.into(),
        error,
    }
}
