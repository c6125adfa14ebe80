//! Load of hosts that is not of jobs.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::ConfigError;

/// Load of hosts that is not of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MonitoringConfig {
    /// Whether the service measures how much such load slows jobs on its own host and on those of workers. `plan` then
    /// counts on it: for running jobs, for promises and for the choice of hosts.
    pub foreign_load: bool,
    /// Time between two looks at the load, in seconds. A load that stays is known after five or six looks. At least 0.1, at
    /// most 60.
    pub interval_s: f64,
}

impl Default for MonitoringConfig {
    fn default() -> Self {
        Self {
            foreign_load: false,
            interval_s: 5.0,
        }
    }
}

impl MonitoringConfig {
    /// Returns the time between two looks at the load; None if it is not measured.
    pub(super) fn load_interval(self) -> Result<Option<Duration>, ConfigError> {
        if !(0.1..=60.0).contains(&self.interval_s) {
            return Err(ConfigError::Range {
                key: "monitoring.interval_s",
                expected: "seconds, at least 0.1 and at most 60",
                found: self.interval_s.to_string(),
            });
        }
        let interval = Duration::from_secs_f64(self.interval_s);
        Ok(self.foreign_load.then_some(interval))
    }
}
