//! Load of hosts that is not of jobs.

use serde::{Deserialize, Serialize};

/// Load of hosts that is not of jobs.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(default, deny_unknown_fields)]
pub struct MonitoringConfig {
    /// Whether the service measures how much such load slows jobs on its own host and on those of workers. `plan` then
    /// counts on it: for running jobs, for promises and for the choice of hosts.
    pub foreign_load: bool,
}
