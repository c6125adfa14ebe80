//! The surroundings of an agent: its engine, its state on disk, and its settings.

use std::ffi::OsString;
use std::io;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tollgate_engine::{EngineError, LaunchUser, SpreadAccess};
use tollgate_model::Instant;

use super::desktop::DesktopSettings;
use crate::departure::WorkerEnd;
use crate::lease::LeaseTimings;

/// Opens the engine with the given lease timings.
pub type EngineOpener<E> = Box<dyn FnMut(&LeaseTimings) -> Result<E, EngineError> + Send>;

/// Maps an owner's name to the user that a job runs as, or to the reason for a rejection.
pub type OwnerResolver = Box<dyn Fn(&str) -> Result<Option<LaunchUser>, String> + Send>;

/// Writes the persistent state.
pub type StateWriter = Box<dyn FnMut(&AgentPersistentState) -> io::Result<()> + Send>;

/// Runs a trivial task, and returns the reason if it could not be run.
pub type EngineProbe<E> = Box<dyn FnMut(&mut E) -> Result<(), String> + Send>;

/// Returns environment variables for the known end of a worker.
pub type AttemptEnvironment = Box<dyn Fn(Option<Instant>) -> Vec<(OsString, OsString)> + Send>;

/// Configuration of a worker agent.
pub struct AgentConfig<E> {
    /// The worker's unique identity.
    pub identity: String,
    /// The worker's display name.
    pub name: String,
    /// Name of the user that the worker runs as.
    pub user: String,
    /// Whether the worker runs jobs of every user.
    pub all_users: bool,
    /// Whether the worker runs jobs of root.
    pub root_jobs: bool,
    /// Name of the site that the worker is at, if it has one.
    pub site: Option<String>,
    /// The known end of the worker: it leaves in time before it.
    pub end: Option<WorkerEnd>,
    /// Time without a running attempt after which the worker leaves if no job waits; None for
    /// never.
    pub max_idle: Option<Duration>,
    /// How tasks give way to the users of the host; None if no one else uses it.
    pub desktop: Option<DesktopSettings>,
    /// Whether the worker is a pilot: it leaves when the service retires it, and does not come again.
    pub is_pilot: bool,
    /// Returns the environment variables of attempts that start while the worker has this end.
    pub environment: AttemptEnvironment,
    /// Opens the engine with these timings, under a lease that the worker renews.
    pub open_engine: EngineOpener<E>,
    /// Tries the engine before each offer; None if it is not tried.
    pub probe: Option<EngineProbe<E>>,
    /// Maps an owner's name to the user that the job runs as; None for the engine's own user.
    pub resolve_owner: OwnerResolver,
    /// How attempts on this host reach the other hosts of theirs, and how parts are started here.
    pub access: SpreadAccess,
    /// Stores the worker's persistent state, which is on disk when this returns.
    pub write_state: StateWriter,
}

/// The state of a worker that survives a restart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentPersistentState {
    /// The service that the worker belongs to.
    pub service: Option<String>,
    /// The worker's last incarnation; 0 if none goes on.
    #[serde(rename = "incarnation")]
    pub incarnation: u32,
    /// The known end of the worker in that incarnation. Plans of the service rest on it, so a worker
    /// with another end begins a new incarnation.
    #[serde(default)]
    pub until: Option<Instant>,
}

/// The reason for giving a connection up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DisconnectReason {
    /// Connecting again may help.
    Reconnect(String),
    /// The service does not want this worker.
    Refused(String),
    /// The worker's engine cannot run a trivial task.
    Unfit(String),
}
