//! The errors of an agent.

use std::io;
use std::path::{Path, PathBuf};

use tollgate_client::certificate::CertificateError;
use tollgate_sites::SiteError;

/// An error that ends an agent.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// A file cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A file of the site's settings cannot be used.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// The list of sites is not understood.
    #[error("{}: {message}", path.display())]
    Members {
        /// The file.
        path: PathBuf,
        /// Description of the problem.
        message: String,
    },
    /// No site of the list has the key of this agent.
    #[error("no site of session {session} has the key of this agent, {fingerprint}")]
    UnknownMember {
        /// The session.
        session: String,
        /// The fingerprint of the key.
        fingerprint: String,
    },
    /// The journal is damaged before its last line, or belongs to another site or session.
    #[error("{}: line {line}: {problem}", path.display())]
    Journal {
        /// The file.
        path: PathBuf,
        /// The number of the line.
        line: usize,
        /// Description of the problem.
        problem: String,
    },
    /// Another agent uses the directory.
    #[error("{}: another agent uses this directory", .0.display())]
    Busy(PathBuf),
    /// The agent's key cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The key cannot be used for TLS.
    #[error("the key of the agent: {0}")]
    Tls(#[from] rustls::Error),
    /// The address of the agent cannot be listened at.
    #[error("{address}: cannot listen: {error}")]
    Listen {
        /// The address.
        address: String,
        /// The system's error.
        error: io::Error,
    },
    /// An agent cannot be asked.
    #[error("the agent of site {site} at {address} does not answer: {problem}")]
    Silent {
        /// The site.
        site: String,
        /// The address of its agent.
        address: String,
        /// Description of the problem.
        problem: String,
    },
}

impl AgentError {
    pub(crate) fn file(path: &Path, error: io::Error) -> Self {
        Self::File {
            path: path.to_owned(),
            error,
        }
    }

    /// Returns what the user can do about the error.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Journal { .. } => Some(
                "without its journal a site cannot go on; `tollgate session drop` writes it off",
            ),
            Self::UnknownMember { .. } => {
                Some("its list may be older than a change of the session")
            }
            Self::Site(error) => error.hint(),
            Self::Busy(_) => Some("end that process first, or let it go on"),
            Self::File { .. }
            | Self::Members { .. }
            | Self::Certificate(_)
            | Self::Tls(_)
            | Self::Listen { .. }
            | Self::Silent { .. } => None,
        }
    }
}
