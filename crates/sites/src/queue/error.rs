//! The errors of a queue that is followed.

use std::io;
use std::path::PathBuf;

use tollgate_batch::{EngineFault, EngineKind};
use tollgate_beside::FollowerSnapshotError;

use crate::shell::ShellError;

/// An engine whose queue cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The engine has a queue that cannot be followed.
    #[error("{}: its queue cannot be followed", .0.title())]
    NoDialect(EngineKind),
    /// The first command of the engine cannot be run: the engine is not there.
    #[error("{}: not found here: {error}", kind.title())]
    NotHere {
        /// The engine.
        kind: EngineKind,
        /// The error of the command.
        error: ShellError,
    },
    /// A later command cannot be run.
    #[error(transparent)]
    Shell(#[from] ShellError),
    /// The engine refuses, or its answer is not understood.
    #[error("{} does not answer: {}", kind.title(), words(fault))]
    NoAnswer {
        /// The engine.
        kind: EngineKind,
        /// The fault, with the words of the engine.
        fault: EngineFault,
    },
    /// The host of the engine's commands does not name this user.
    #[error("`id -un`: expected the name of a user, got `{0}`")]
    UnknownUser(String),
}

/// Files with the knowledge of a follower that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FollowerStoreError {
    /// A file cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The stored knowledge is damaged, or of another version.
    #[error("{}: {error}", path.display())]
    Snapshot {
        /// The file.
        path: PathBuf,
        /// The damage.
        error: FollowerSnapshotError,
    },
    /// A line with an observation is damaged.
    #[error("{}:{line}: expected an observation: {error}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
        /// The damage.
        error: serde_json::Error,
    },
}

impl FollowerStoreError {
    /// Returns an error about a file.
    pub(super) fn file(path: impl Into<PathBuf>, error: io::Error) -> Self {
        Self::File {
            path: path.into(),
            error,
        }
    }
}

fn words(fault: &EngineFault) -> &str {
    match fault {
        EngineFault::Refused { message, .. } | EngineFault::Unreadable { message, .. } => message,
    }
}
