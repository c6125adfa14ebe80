//! The settings of a runner, written by the service that starts it: `runner.json` in its directory.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tollgate_engine::EngineError;
use tollgate_host::replace_private;
use tollgate_model::KillReason;

use crate::guard::LaunchGuard;
use crate::log::LogSettings;

/// The settings of a runner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunnerConfig {
    /// Number of nodes to offer, out of all cores; None for all cores.
    pub(crate) nodes: Option<u32>,
    /// Maximum memory to offer, in bytes; None for all that the runner may use.
    #[serde(default)]
    pub(crate) memory: Option<u64>,
    /// Maximum number of attempts that run at once on each node; others wait.
    pub(crate) slots_per_node: u32,
    /// Whether tasks of other users are run.
    pub(crate) other_users: bool,
    /// Milliseconds from asking a task to end until it is killed.
    pub(crate) grace_ms: u64,
    /// Milliseconds from asking a task to end that gives way to a user until it is killed; None for `grace_ms`.
    #[serde(default)]
    pub(crate) evict_grace_ms: Option<u64>,
    /// Maximum milliseconds from the birth of a child until its program replaces it.
    pub(crate) setup_ms: u64,
    /// Milliseconds after which a runner without a connection and without running tasks ends.
    pub(crate) idle_ms: u64,
    /// Milliseconds of the first lease. Once it has ended, all running tasks are ended. None for no
    /// lease.
    #[serde(default)]
    pub(crate) lease_ms: Option<u64>,
    /// Whether control groups are used where possible.
    pub(crate) control_groups: bool,
    /// Whether tasks give way to all other processes of the host, and can be frozen at once.
    #[serde(default)]
    pub(crate) low_priority: bool,
    /// The settings of its log.
    #[serde(default)]
    pub(crate) log: LogSettings,
    /// The launch guard, if the service that submits the launches is not trusted.
    #[serde(default)]
    pub(crate) guard: Option<LaunchGuard>,
}

const FILE_NAME: &str = "runner.json";

impl RunnerConfig {
    /// Writes the settings for the next runner that starts in `folder`.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), EngineError> {
        let path = folder.join(FILE_NAME);
        let written = replace_private(&path, &crate::protocol::encode_line(self));
        written.map_err(|source| EngineError::Setup {
            path,
            step: "writing it",
            source,
        })
    }

    pub(crate) fn read(folder: &Path) -> Result<Self, EngineError> {
        let path = folder.join(FILE_NAME);
        let text = std::fs::read(&path).map_err(|source| EngineError::Setup {
            path: path.clone(),
            step: "reading it",
            source,
        })?;
        serde_json::from_slice(&text).map_err(|error| EngineError::Damaged {
            path,
            reason: error.to_string(),
        })
    }

    pub(crate) const fn grace(&self) -> Duration {
        Duration::from_millis(self.grace_ms)
    }

    /// Returns the time that a task has to end if it was asked for this reason.
    pub(crate) fn grace_for(&self, why: KillReason) -> Duration {
        let eviction = self.evict_grace_ms.map(Duration::from_millis);
        match why {
            KillReason::GaveWay(_) => eviction.unwrap_or(self.grace()),
            KillReason::Cancelled
            | KillReason::TimeLimit
            | KillReason::MemoryLimit
            | KillReason::OutputLimit
            | KillReason::Evicted
            | KillReason::Withdrawn => self.grace(),
        }
    }

    pub(crate) const fn setup(&self) -> Duration {
        Duration::from_millis(self.setup_ms)
    }

    pub(crate) fn lease(&self) -> Option<Duration> {
        self.lease_ms.map(Duration::from_millis)
    }

    pub(crate) const fn idle(&self) -> Duration {
        Duration::from_millis(self.idle_ms)
    }
}
