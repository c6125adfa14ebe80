//! Errors of sessions.

use std::io;
use std::path::{Path, PathBuf};

use tollgate_agents::AgentError;
use tollgate_client::ClientError;
use tollgate_host::DetachError;
use tollgate_inside::InsideError;
use tollgate_sites::SiteError;
use tollgate_terminal::AttachError;

/// An error of a session.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A name that is no directory name.
    #[error("{0}: expected small letters, digits and `-`, at most 32")]
    Name(String),
    /// No session has this name.
    #[error("there is no session `{0}`")]
    Unknown(String),
    /// The session has ended.
    #[error("session {0} has ended")]
    Ended(String),
    /// The session runs already.
    #[error("session {0} runs already")]
    Runs(String),
    /// The command runs inside a session.
    #[error("this shell is in session {0}")]
    Inside(String),
    /// Another command starts or ends the session.
    #[error("another command starts or ends session {0}")]
    Busy(String),
    /// Jobs have not ended.
    #[error("session {name}: {jobs}")]
    Unfinished {
        /// The session.
        name: String,
        /// A sentence: how many have not ended.
        jobs: String,
    },
    /// Pilots have not ended.
    #[error("session {name} goes on: pilots that may be left: {left}")]
    RemainingPilots {
        /// The session.
        name: String,
        /// The pilots that may be left, by site.
        left: String,
    },
    /// Another terminal types in the session.
    #[error("session {name}: {error}")]
    Occupied {
        /// The session.
        name: String,
        /// The answer of the terminal's holder.
        error: AttachError,
    },
    /// The pilots of the session do not move.
    #[error("session {0} has no agents: its pilots do not move")]
    Still(String),
    /// A site cannot be written off.
    #[error("site {site}: {problem}")]
    Undroppable {
        /// The site.
        site: String,
        /// The reason.
        problem: String,
    },
    /// A process of the session did not start or did not end.
    #[error("session {name}: {problem}")]
    Process {
        /// The session.
        name: String,
        /// A description of the problem, or the messages of the process.
        problem: String,
    },
    /// A file of the session cannot be used.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A file, a socket or a program cannot be read or run.
    #[error("{file}: cannot be read: {error}")]
    Unreadable {
        /// The file, or its name in messages.
        file: String,
        /// The system's error.
        error: io::Error,
    },
    /// A file or a terminal cannot be written.
    #[error("{file}: cannot be written: {error}")]
    Unwritable {
        /// The file, or its name in messages.
        file: String,
        /// The system's error.
        error: io::Error,
    },
    /// A site cannot be used.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// An agent cannot be used.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The scheduler inside the pilots cannot be used.
    #[error(transparent)]
    Scheduler(#[from] InsideError),
    /// The service of the session does not answer.
    #[error(transparent)]
    Service(#[from] ClientError),
    /// A process of the session is not ready.
    #[error(transparent)]
    Detach(#[from] DetachError),
}

impl SessionError {
    pub(crate) fn file(path: &Path, error: io::Error) -> Self {
        let path = path.to_owned();
        Self::File { path, error }
    }

    pub(crate) fn unreadable(path: &Path, error: io::Error) -> Self {
        let file = path.display().to_string();
        Self::Unreadable { file, error }
    }

    pub(crate) fn unwritable(path: &Path, error: io::Error) -> Self {
        let file = path.display().to_string();
        Self::Unwritable { file, error }
    }

    /// Returns the error of a program that cannot be run again.
    pub(crate) fn own_program(error: io::Error) -> Self {
        let file = "the program itself".to_owned();
        Self::Unreadable { file, error }
    }
}
