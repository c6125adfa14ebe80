//! Errors.

use std::io;
use std::path::PathBuf;

use tollgate_batch::{EngineFault, RejectedArgument, RetryAdvice};

use crate::shell::ShellError;

/// An error at a site.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// The file of sites is not understood.
    #[error("{}: {message}", path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// Description of the problem.
        message: String,
    },
    /// No site has this name.
    #[error("no site is called `{0}`")]
    Unknown(String),
    /// The user has no sites.
    #[error("no sites")]
    NoSites,
    /// A site has this name already.
    #[error("a site is called `{0}` already")]
    Exists(String),
    /// A setting of a site is illegal.
    #[error("{key}: expected {expected}, got `{found}`")]
    Setting {
        /// The setting.
        key: &'static str,
        /// The legal values.
        expected: &'static str,
        /// The illegal value.
        found: String,
    },
    /// A further argument of the submit command is not passed on.
    #[error(transparent)]
    Argument(RejectedArgument),
    /// Another process works at the site.
    #[error("site {0}: another command is at work")]
    Busy(String),
    /// Another process follows the work, with this process id if it is known.
    #[error("another `tollgate site keep` runs{}", describe_process(*.0))]
    Kept(Option<u32>),
    /// Pilots of the site wait or run.
    #[error("site {site}: pilots wait or run: {pilots}")]
    Occupied {
        /// The site.
        site: String,
        /// The number of pilots.
        pilots: usize,
    },
    /// There is no home directory.
    #[error("no directory for sites: set HOME, or XDG_CONFIG_HOME and XDG_STATE_HOME")]
    NoHome,
    /// A file of the site cannot be used.
    #[error("{}: {action}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The action that failed.
        action: &'static str,
        /// The system's error.
        error: io::Error,
    },
    /// A command of the engine did not end by itself.
    #[error("site {site}: {error}")]
    Command {
        /// The site.
        site: String,
        /// The error.
        error: ShellError,
    },
    /// The engine refused, or its answer is not understood.
    #[error("site {site}: {command}: {fault}")]
    Engine {
        /// The site.
        site: String,
        /// The command.
        command: String,
        /// The fault.
        fault: EngineFault,
    },
    /// The service creates no token for a pilot, as when it does not run. The site is not at fault.
    #[error("no token for a pilot: {0}")]
    Token(String),
    /// The token of a pilot cannot be put on the host of the engine's commands.
    #[error("no directory for the token of a pilot: {0}")]
    TokenDirectory(String),
}

impl SiteError {
    /// Returns what the user can do about the error.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Unknown(_) | Self::NoSites => {
                Some("`tollgate site list` lists the sites, `tollgate site add` adds one")
            }
            Self::Exists(_) => {
                Some("choose another name, or remove it with `tollgate site remove`")
            }
            Self::Busy(_) => Some("try again when the other command has ended"),
            Self::Kept(_) => Some("end that process first, or let it go on"),
            Self::Occupied { .. } => Some("end them first with `tollgate site scale NAME 0`"),
            Self::Command { error, .. } => match error {
                ShellError::Start { .. } => Some(
                    "is the engine's software installed on this host? Else name another with --via",
                ),
                ShellError::TimedOut { .. } => {
                    Some("the next command finds by its name whatever was carried out")
                }
                ShellError::System { .. } => None,
            },
            Self::Engine { fault, .. } => match fault {
                EngineFault::Refused {
                    retry: RetryAdvice::Now,
                    ..
                } => Some(
                    "the engine is out of reach; the next command finds by its name whatever was carried out",
                ),
                EngineFault::Refused {
                    retry: RetryAdvice::Later,
                    ..
                } => Some("try again when jobs have ended, or lower --queue-at-most"),
                EngineFault::Refused {
                    retry: RetryAdvice::Never,
                    ..
                } => Some("`tollgate site check NAME` shows the limits of the site"),
                EngineFault::Unreadable { .. } => None,
            },
            Self::Settings { .. }
            | Self::Setting { .. }
            | Self::Argument(_)
            | Self::NoHome
            | Self::File { .. }
            | Self::Token(_)
            | Self::TokenDirectory(_) => None,
        }
    }
}

fn describe_process(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" as process {pid}"))
}
