//! What a runner is told by the service that starts it: `runner.json` in its folder.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::state_dir::{FILE_MODE, set_mode};
use crate::EngineError;
use crate::log::LogSettings;
use crate::starter::LaunchGuard;

/// The settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunnerConfig {
    /// Nodes to offer: so many of the cores there are, all of them without a number.
    pub(crate) nodes: Option<u32>,
    /// Attempts that run at once, on each node; others wait.
    pub(crate) slots_per_node: u32,
    /// Whether tasks of other users are run.
    pub(crate) other_users: bool,
    /// Milliseconds from asking a task to end until it is made to.
    pub(crate) grace_ms: u64,
    /// Milliseconds that a child may take until its program replaces it.
    pub(crate) setup_ms: u64,
    /// Milliseconds after which a runner ends that nobody is connected to and that runs nothing.
    pub(crate) idle_ms: u64,
    /// Milliseconds of the first lease, once which has ended all that runs is ended; no lease without a
    /// number.
    #[serde(default)]
    pub(crate) lease_ms: Option<u64>,
    /// Whether control groups are used where they can be.
    pub(crate) control_groups: bool,
    /// How its log is written.
    #[serde(default)]
    pub(crate) log: LogSettings,
    /// What each launch is held to, if the service that asks for it is not believed.
    #[serde(default)]
    pub(crate) guard: Option<LaunchGuard>,
}

const FILE_NAME: &str = "runner.json";

impl RunnerConfig {
    /// Leaves the settings for the next runner that begins in `folder`.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), EngineError> {
        let path = folder.join(FILE_NAME);
        let new = folder.join("runner.json.new");
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(true).write(true);
        let open = options.mode(FILE_MODE).open(&new);
        let written = open.and_then(|mut file| file.write_all(&crate::protocol::encode_line(self)));
        let closed = written.and_then(|()| set_mode(&new, FILE_MODE));
        let renamed = closed.and_then(|()| std::fs::rename(&new, &path));
        renamed.map_err(|source| EngineError::Setup {
            path,
            step: "writing it",
            source,
        })
    }

    pub(super) fn read(folder: &Path) -> Result<Self, EngineError> {
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

    pub(super) const fn grace(&self) -> Duration {
        Duration::from_millis(self.grace_ms)
    }

    pub(super) const fn setup(&self) -> Duration {
        Duration::from_millis(self.setup_ms)
    }

    pub(super) fn lease(&self) -> Option<Duration> {
        self.lease_ms.map(Duration::from_millis)
    }

    pub(super) const fn idle(&self) -> Duration {
        Duration::from_millis(self.idle_ms)
    }
}
