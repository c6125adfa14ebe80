//! The exit codes and hints of sessions.

use std::borrow::Cow;

use tollgate_session::SessionError;

use crate::exit::{CliError, ExitKind};

/// The session cannot be started, used or ended.
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
            | Self::RemainingPilots { .. }
            | Self::Occupied { .. }
            | Self::Undroppable { .. }
            | Self::Process { .. }
            | Self::File { .. }
            | Self::Unreadable { .. }
            | Self::Unwritable { .. } => ExitKind::Failed,
            Self::Site(error) => error.exit(),
            Self::Agent(error) => error.exit(),
            Self::Scheduler(error) => error.exit(),
            Self::Service(error) => error.exit(),
            Self::Detach(error) => error.exit(),
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
            Self::RemainingPilots { .. } => {
                "repeat the command; with --force it ends the session as it is".into()
            }
            Self::Still(_) => "`tollgate session start --move` starts a session with agents".into(),
            Self::Undroppable { .. } => "`tollgate session agents` shows the sites".into(),
            Self::Site(error) => return CliError::hint(error),
            Self::Agent(error) => return CliError::hint(error),
            Self::Scheduler(error) => return CliError::hint(error),
            Self::Service(error) => return CliError::hint(error),
            Self::Detach(error) => return CliError::hint(error),
            Self::Name(_)
            | Self::Process { .. }
            | Self::File { .. }
            | Self::Unreadable { .. }
            | Self::Unwritable { .. } => return None,
        };
        Some(Cow::Owned(hint))
    }
}
