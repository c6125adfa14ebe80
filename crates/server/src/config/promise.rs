//! What the site says about promises.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_client::types::JobOtherwise;

/// What the site says about promises.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PromiseConfig {
    /// Minimum probability at which a deadline is promised. Between 0 and 1.
    pub least: f64,
    /// Treatment of a job whose deadline cannot be promised, if its user does not choose: `run`, `wait` or
    /// `reject`. Policies other than `plan` reject it.
    pub otherwise: JobOtherwise,
    /// Weights of users in the fair order of `plan`, by name or number, each above 0. All other users have 1.
    pub weights: BTreeMap<String, f64>,
}

impl Default for PromiseConfig {
    fn default() -> Self {
        Self {
            least: 0.5,
            otherwise: JobOtherwise::Run,
            weights: BTreeMap::new(),
        }
    }
}
