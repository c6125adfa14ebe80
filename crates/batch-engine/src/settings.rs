//! The settings of a batch system, and the errors at the start.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tollgate_batch::{EngineFault, EngineKind};
use tollgate_sites::ShellError;

/// The settings of a batch system.
#[derive(Clone, Debug)]
pub struct BatchSystemConfig {
    /// The engine.
    pub kind: EngineKind,
    /// The queue (of Slurm: the partition) whose nodes the service owns. None for the engine's default.
    pub queue: Option<String>,
    /// The directory of the attempts, which all nodes share. Created if it is missing, provided that its parent
    /// exists. No other user may enter it.
    pub folder: PathBuf,
    /// The program and arguments that run an attempt, as nodes find them; the directory and the attempt are
    /// appended.
    pub attempt: Vec<String>,
    /// Time between two queries for all jobs.
    pub period: Duration,
    /// Time between two looks at the files of attempts.
    pub look: Duration,
    /// Time from asking a task to end until it is killed. Shorter than the engine's own.
    pub grace: Duration,
}

impl BatchSystemConfig {
    /// Returns the settings with a query every 5 s, a look at the files every half a second, and 3 s of grace.
    pub fn new(
        kind: EngineKind,
        queue: Option<String>,
        folder: impl Into<PathBuf>,
        attempt: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        Self {
            kind,
            queue,
            folder: folder.into(),
            attempt: attempt.into_iter().map(Into::into).collect(),
            period: Duration::from_secs(5),
            look: Duration::from_millis(500),
            grace: Duration::from_secs(3),
        }
    }
}

/// An error that keeps a service from using a batch system.
#[derive(Debug, thiserror::Error)]
pub enum BatchSystemError {
    /// The directory of the attempts cannot be used.
    #[error("{}: {error}", path.display())]
    Folder {
        /// The directory, or the file in it.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A command of the engine did not end by itself.
    #[error("{kind}: {error}")]
    Command {
        /// The engine.
        kind: EngineKind,
        /// The error.
        error: ShellError,
    },
    /// The engine refused, or its answer is not understood.
    #[error("{kind}: {command}: {fault}")]
    Engine {
        /// The engine.
        kind: EngineKind,
        /// The command.
        command: String,
        /// The fault.
        fault: EngineFault,
    },
    /// The engine has no such queue.
    #[error("{kind}: no queue `{queue}`: expected {known}")]
    UnknownQueue {
        /// The engine.
        kind: EngineKind,
        /// The queue.
        queue: String,
        /// The queues of the engine, separated by commas.
        known: String,
    },
    /// The queue has no nodes.
    #[error("{kind}: the queue `{queue}` has no nodes")]
    NoNodes {
        /// The engine.
        kind: EngineKind,
        /// The queue.
        queue: String,
    },
    /// A trivial task did not run.
    #[error("a trivial task did not run on node {node}: {reason}")]
    Probe {
        /// The node.
        node: String,
        /// The failure, in words.
        reason: String,
    },
    /// A thread cannot be started.
    #[error("no thread can be started: {0}")]
    Thread(io::Error),
}

impl BatchSystemError {
    /// Returns what an operator can do about the error.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Folder { .. } => {
                Some("name a directory of your own that all nodes share: folder in [engine]")
            }
            Self::Command { error, .. } => match error {
                ShellError::Start { .. } => {
                    Some("is the engine's software installed on this host?")
                }
                ShellError::TimedOut { .. } | ShellError::System { .. } => None,
            },
            Self::Engine { fault, .. } => match fault {
                EngineFault::Refused { .. } => {
                    Some("does the engine answer? Try its command by hand")
                }
                EngineFault::Unreadable { .. } => None,
            },
            Self::UnknownQueue { .. } | Self::NoNodes { .. } => {
                Some("name a queue with --partition")
            }
            Self::Probe { .. } => Some(
                "all nodes need the data directory and the program under the same paths: see folder and program in [engine]",
            ),
            Self::Thread(_) => None,
        }
    }
}
