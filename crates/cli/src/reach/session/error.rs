//! The errors of `tollgate session`.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

use crate::exit::{CliError, ExitKind};

/// An error of a session.
#[derive(Debug, thiserror::Error)]
pub(super) enum SessionError {
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
    Unfinished { name: String, jobs: String },
    /// Pilots have not ended.
    #[error("session {name} goes on: pilots that may be left: {left}")]
    PilotsLeft { name: String, left: String },
    /// Another terminal types in the session.
    #[error("session {name}: {problem}")]
    Occupied { name: String, problem: String },
    /// The pilots of the session do not move.
    #[error("session {0} has no agents: its pilots do not move")]
    Still(String),
    /// A site cannot be written off.
    #[error("site {site}: {problem}")]
    Undroppable { site: String, problem: String },
    /// A process of the session did not start or did not end.
    #[error("session {name}: {problem}")]
    Process { name: String, problem: String },
    /// A file of the session cannot be used.
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
}

impl CliError for SessionError {
    fn exit(&self) -> ExitKind {
        match self {
            Self::Name(_)
            | Self::Unknown(_)
            | Self::Ended(_)
            | Self::Inside(_)
            | Self::Still(_) => ExitKind::Usage,
            Self::Runs(_)
            | Self::Busy(_)
            | Self::Unfinished { .. }
            | Self::PilotsLeft { .. }
            | Self::Occupied { .. }
            | Self::Undroppable { .. }
            | Self::Process { .. }
            | Self::File { .. } => ExitKind::Failed,
        }
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        let hint = match self {
            Self::Unknown(_) => "`tollgate session list` lists the sessions".into(),
            Self::Ended(name) => {
                format!("`tollgate session start --name {name}` starts it again, with its history")
            }
            Self::Runs(name) => format!("`tollgate session attach {name}` goes on with it"),
            Self::Inside(_) => "`exit` ends the session; Ctrl-] d leaves it running".into(),
            Self::Busy(_) => "wait a moment, then repeat the command".into(),
            Self::Unfinished { .. } => {
                "`tollgate session exit --force` cancels them and ends the session".into()
            }
            Self::Occupied { .. } => {
                "--take detaches it; with --read-only both see the session".into()
            }
            Self::PilotsLeft { .. } => {
                "repeat the command; with --force it ends the session as it is".into()
            }
            Self::Still(_) => "`tollgate session start --move` starts a session with agents".into(),
            Self::Undroppable { .. } => "`tollgate session agents` shows the sites".into(),
            Self::Name(_) | Self::Process { .. } | Self::File { .. } => return None,
        };
        Some(Cow::Owned(hint))
    }
}
