//! Errors.

use std::io;
use std::path::PathBuf;

use tollgate_sites::ShellError;

use crate::SchedulerKind;

/// An error of a personal scheduler or of one of its nodes.
#[derive(Debug, thiserror::Error)]
pub enum InsideError {
    /// A program of the scheduler is not installed on this host.
    #[error("{scheduler}: no program `{program}` on host {host}")]
    NoProgram {
        /// The scheduler.
        scheduler: SchedulerKind,
        /// The program.
        program: &'static str,
        /// The name of this host.
        host: String,
    },
    /// HTCondor runs no jobs of root.
    #[error("htcondor: runs no jobs of root: expected another user")]
    Root,
    /// The account on the node is not the account of the scheduler.
    #[error(
        "slurm: this pilot runs as {found}, the scheduler as {expected}: expected the same user id"
    )]
    OtherAccount {
        /// The account of the scheduler: name and user id.
        expected: String,
        /// The account of the pilot: name and user id.
        found: String,
    },
    /// The user has no name.
    #[error("user id {0} has no name on this host")]
    NoName(u32),
    /// The path of a socket is too long for the system.
    #[error("{}: too long for a socket: expected a directory of at most {most} bytes", dir.display())]
    LongPath {
        /// The directory.
        dir: PathBuf,
        /// The maximum length of the directory's path in bytes.
        most: usize,
    },
    /// A file or directory cannot be used.
    #[error("{}: {action}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What cannot be done.
        action: &'static str,
        /// The system's error.
        error: io::Error,
    },
    /// The system refused something.
    #[error("{what}: {error}")]
    System {
        /// What was refused.
        what: &'static str,
        /// The system's error.
        error: io::Error,
    },
    /// A command of the scheduler cannot be run.
    #[error(transparent)]
    Shell(#[from] ShellError),
    /// A command of the scheduler failed.
    #[error("{command}: {reason}")]
    Command {
        /// The program.
        command: String,
        /// The message of the program.
        reason: String,
    },
    /// The scheduler or a node of it did not start in time.
    #[error("{what} is not ready after {seconds} s; the last lines of its log:\n{log}")]
    NotReady {
        /// The daemon.
        what: String,
        /// The maximum time in seconds.
        seconds: u64,
        /// The end of its log.
        log: String,
    },
    /// A pilot's ticket is not understood.
    #[error("{}: no ticket of a personal scheduler: {message}", path.display())]
    Ticket {
        /// The file.
        path: PathBuf,
        /// Description of the problem.
        message: String,
    },
    /// The directory has no personal scheduler.
    #[error("{}: no personal scheduler", .0.display())]
    NoScheduler(PathBuf),
}

impl InsideError {
    /// Returns what to do about the error, if that is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoProgram { .. } => {
                Some("install the scheduler's programs there, or extend PATH")
            }
            Self::Root => Some("use --inside slurm, or start the session as another user"),
            Self::OtherAccount { .. } => {
                Some("use --inside htcondor: its nodes may have other user ids")
            }
            Self::LongPath { .. } => Some("set XDG_STATE_HOME to a shorter directory"),
            Self::NoName(_)
            | Self::File { .. }
            | Self::System { .. }
            | Self::Shell(_)
            | Self::Command { .. }
            | Self::NotReady { .. }
            | Self::Ticket { .. }
            | Self::NoScheduler(_) => None,
        }
    }
}
