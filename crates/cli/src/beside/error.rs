//! The errors of the commands beside a scheduler.

use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use tollgate_batch::EngineFault;
use tollgate_beside::{FollowerSnapshotError, SeenJobKey};
use tollgate_sites::ShellError;

use super::engine::FollowedEngine;
use crate::exit::{CliError, ExitKind};

/// An error of a command beside a scheduler.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BesideError {
    /// No scheduler that is known has its commands here.
    #[error("no scheduler found: expected `squeue`, `qconf` or `condor_q` in PATH")]
    NoEngine,
    /// A command of the engine cannot be run.
    #[error(transparent)]
    Shell(#[from] ShellError),
    /// A named engine has no commands here.
    #[error("{}: not found here: {error}", engine.title())]
    NotHere {
        /// The engine.
        engine: FollowedEngine,
        /// The error of its command.
        error: ShellError,
    },
    /// The engine refuses, or its answer is not understood.
    #[error("{} does not answer: {words}", engine.title())]
    NoAnswer {
        /// The engine.
        engine: FollowedEngine,
        /// What it said, in one line.
        words: String,
    },
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
            Self::NoEngine
            | Self::Shell(_)
            | Self::NotHere { .. }
            | Self::NoAnswer { .. }
            | Self::File { .. }
            | Self::Locked(_)
            | Self::Listen { .. }
            | Self::NoRun(_)
            | Self::NothingLearned(_)
            | Self::Snapshot { .. }
            | Self::Line { .. }
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
            Self::Snapshot { .. } => {
                "remove the file: it is learned anew from the accounting".into()
            }
            Self::NoAnswer { engine, .. } | Self::NotHere { engine, .. } => format!(
                "use a log-in node of the cluster, where `{}` answers",
                engine.check_command()
            )
            .into(),
            Self::Shell(_)
            | Self::NoStateDir
            | Self::File { .. }
            | Self::Line { .. }
            | Self::Submission(_) => return None,
        };
        Some(hint)
    }
}

impl BesideError {
    /// Returns an error with the words of an engine that gives no answer that is understood.
    pub(super) fn no_answer(engine: FollowedEngine, fault: EngineFault) -> Self {
        let words = match fault {
            EngineFault::Refused { message, .. } | EngineFault::Unreadable { message, .. } => {
                message
            }
        };
        Self::NoAnswer { engine, words }
    }
}

/// Returns an error about a file.
pub(super) fn file_error(path: impl Into<PathBuf>, error: io::Error) -> BesideError {
    BesideError::File {
        path: path.into(),
        error,
    }
}
