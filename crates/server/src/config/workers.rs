//! Settings for workers on other hosts.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tollgate_workers::lease::{self, LeaseTimings};

use super::error::ConfigError;

/// Settings for workers on other hosts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WorkerConfig {
    /// Time without a message after which a worker and its jobs are lost, in seconds. At least 2, at most
    /// 3600.
    pub grace_s: f64,
}

impl Default for WorkerConfig {
    fn default() -> Self {
        Self {
            grace_s: LeaseTimings::default().grace.as_secs_f64(),
        }
    }
}

impl WorkerConfig {
    pub(super) fn timings(self) -> Result<LeaseTimings, ConfigError> {
        let allowed = lease::MIN_GRACE.as_secs_f64()..=lease::MAX_GRACE.as_secs_f64();
        if allowed.contains(&self.grace_s) {
            let grace = Duration::from_secs_f64(self.grace_s);
            return Ok(LeaseTimings { grace });
        }
        Err(ConfigError::Range {
            key: "workers.grace_s",
            expected: "seconds, at least 2 and at most 3600",
            found: self.grace_s.to_string(),
        })
    }
}
