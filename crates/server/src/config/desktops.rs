//! Tasks on computers that people work at.

use serde::{Deserialize, Serialize};
use tollgate_policy::PolicySpec;
use tollgate_service::RetryPolicy;

use super::error::ConfigError;

/// Tasks on computers that people work at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DesktopConfig {
    /// Rule for evicted tasks of jobs with `--requeue`, as in `max-non-user-evictions:6+held-time:3d`: a task that
    /// exceeds it is abandoned. `tollgate policies --world campus` lists the rules. `forever` tries each task again.
    pub retry: String,
}

impl Default for DesktopConfig {
    fn default() -> Self {
        Self {
            retry: RetryPolicy::forever().to_string(),
        }
    }
}

impl DesktopConfig {
    /// Returns the rule for evicted tasks. Only a policy that chooses the hosts of jobs sends them to computers without users.
    pub(super) fn retry(&self, policy: &PolicySpec) -> Result<RetryPolicy, ConfigError> {
        let rule: RetryPolicy = self.retry.parse().map_err(|error| ConfigError::Rule {
            key: "desktops.retry",
            error,
        })?;
        match rule.dedicated().is_none() || policy.chooses_hosts() {
            true => Ok(rule),
            false => Err(ConfigError::Range {
                key: "desktops.retry",
                expected: "a rule without `dedicated`, or the policy `plan`, which chooses computers",
                found: self.retry.clone(),
            }),
        }
    }
}
