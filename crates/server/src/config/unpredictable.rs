//! Jobs whose run time cannot be predicted.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use tollgate_policy::PolicySpec;
use tollgate_service::{UnpredictableAction, UnpredictableRule, UnpredictableTerms};

use super::error::ConfigError;

/// Jobs whose run time cannot be predicted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct UnpredictableConfig {
    /// Treatment of such jobs. `limit:4h` ends them after four hours, `no-promise` promises none of their deadlines, and
    /// `dedicated` runs them on hosts that no other job gets. With `none` they are like other jobs, and their users read
    /// that nothing narrows the forecast.
    pub action: String,
    /// How many times as long the longest tenth of the jobs of a class take, at least, as the shortest tenth, from which on
    /// their run time counts as unpredictable. Less than a minute counts as one. Above 1.
    pub spread: f64,
    /// With `dedicated`: the names of these hosts. Only under `plan`. Default: none.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    #[schemars(example = ["node7"])]
    pub hosts: BTreeSet<String>,
}

impl Default for UnpredictableConfig {
    fn default() -> Self {
        let rule = UnpredictableRule::default();
        Self {
            action: rule.action.to_string(),
            spread: rule.spread,
            hosts: BTreeSet::new(),
        }
    }
}

impl UnpredictableConfig {
    /// Returns the settings, checked for a service with this policy.
    pub(super) fn terms(&self, policy: &PolicySpec) -> Result<UnpredictableTerms, ConfigError> {
        let refused = |key, expected, found: &dyn ToString| {
            let found = found.to_string();
            Err(ConfigError::Range {
                key,
                expected,
                found,
            })
        };
        if !(self.spread.is_finite() && self.spread > 1.0) {
            return refused("unpredictable.spread", "a number above 1", &self.spread);
        }
        let action = self.action.parse().map_err(ConfigError::Unpredictable)?;
        let misfit = match action {
            UnpredictableAction::Limit(_) if policy.shares_nodes() => {
                Some("no limit with a policy under which jobs share processors: it ends none")
            }
            UnpredictableAction::Dedicated if !policy.chooses_hosts() => {
                Some("no `dedicated` without the policy `plan`, which chooses hosts")
            }
            UnpredictableAction::None
            | UnpredictableAction::Limit(_)
            | UnpredictableAction::NoPromise
            | UnpredictableAction::Dedicated => None,
        };
        if let Some(expected) = misfit {
            return refused("unpredictable.action", expected, &self.action);
        }
        if action == UnpredictableAction::Dedicated && self.hosts.is_empty() {
            let expected = "the names of the hosts for `dedicated`";
            return refused("unpredictable.hosts", expected, &"none");
        }
        Ok(UnpredictableTerms {
            rule: UnpredictableRule {
                action,
                spread: self.spread,
            },
            hosts: self.hosts.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_policies::builtin_registry;

    fn terms(policy: &str, toml: &str) -> Result<UnpredictableTerms, ConfigError> {
        let config: UnpredictableConfig = toml::from_str(toml).unwrap();
        let policy = builtin_registry().parse_list(policy).unwrap().remove(0);
        config.terms(&policy)
    }

    #[test]
    fn settings_that_nothing_follows_from_are_refused() {
        let refused = [
            ("plan", "action = 'kill'"),
            ("plan", "action = 'limit:0h'"),
            ("plan", "spread = 1"),
            ("plan", "spread = inf"),
            ("plan", "action = 'dedicated'"),
            ("easy", "action = 'dedicated'\nhosts = ['node7']"),
            ("libra-risk", "action = 'limit:4h'"),
        ];
        let refused = refused.map(|(policy, toml)| terms(policy, toml).unwrap_err().to_string());
        insta::assert_snapshot!(refused.join("\n"));
    }

    #[test]
    fn settings_that_a_policy_can_follow_hold() {
        let dedicated = terms("plan", "action = 'dedicated'\nhosts = ['node7']").unwrap();
        assert_eq!(dedicated.rule.action, UnpredictableAction::Dedicated);
        assert_eq!(terms("libra", "").unwrap(), UnpredictableTerms::default());
        assert!(terms("easy", "action = 'limit:4h'").is_ok());
    }
}
