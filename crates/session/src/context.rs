//! The program that acts on sessions, and the events that are reported to it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tollgate_agents::AgentError;
use tollgate_client::{ApiClient, ReconnectPolicy, ServiceTarget};
use tollgate_store::data_dir;

use crate::error::SessionError;
use crate::folder::SessionFolder;

/// The program that starts and ends sessions.
#[derive(Clone, Copy)]
pub struct SessionContext<'a> {
    /// The file of the program. The processes of a session are commands of it.
    pub program: &'a Path,
    /// The time for which a service that does not answer is asked again.
    pub reconnect: ReconnectPolicy,
    /// Receives what happens, in this order.
    pub report: &'a dyn Fn(SessionEvent),
}

/// An event while a session is started or ended.
#[derive(Debug)]
pub enum SessionEvent {
    /// A process wrote this line to its log before it was ready.
    ProcessMessage(String),
    /// The agent of a site was started.
    AgentStarted {
        /// The site.
        site: String,
        /// The number of pilots with which it begins.
        pilots: u32,
    },
    /// The agent of a site on another host does not answer: its user has to start it there.
    AgentMissing {
        /// The site.
        site: String,
        /// The address at which the agent is to answer.
        address: String,
        /// The directory of the agent, to be copied to its host.
        dir: PathBuf,
        /// The socket of the session's service, on this host.
        socket: PathBuf,
    },
    /// The agent of a site does not learn of a change of the list of sites.
    MembersNotSent {
        /// The site.
        site: String,
        /// The error of its agent.
        error: AgentError,
    },
    /// It is not known which jobs have ended, and the session ends nevertheless.
    JobsUnknown(SessionError),
    /// This number of jobs is cancelled.
    JobsCancelled(usize),
    /// No pilot is left at a site.
    SiteEnded(String),
    /// Pilots may be left, and the session ends nevertheless.
    RemainingPilots(String),
    /// The session has ended.
    Ended {
        /// The session.
        session: String,
        /// The time that its end took.
        took: Duration,
    },
}

impl SessionContext<'_> {
    /// Returns the file of the program as text.
    pub(crate) fn program_text(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }

    /// Connects to the service of a session.
    pub(crate) fn connect(&self, folder: &SessionFolder) -> Result<ApiClient, SessionError> {
        let socket = ServiceTarget::Socket(data_dir::socket(&folder.data()));
        Ok(ApiClient::open(socket, self.reconnect)?)
    }
}
