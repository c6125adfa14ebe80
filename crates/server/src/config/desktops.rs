//! Tasks on computers that people work at.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tollgate_model::{Power, Watts};
use tollgate_policy::PolicySpec;
use tollgate_service::{BuiltinSelectPolicy, DesktopChoice, RetryPolicy};

use super::error::ConfigError;

/// Tasks on computers that people work at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DesktopConfig {
    /// Rule for evicted tasks of jobs with `--requeue`, as in `max-non-user-evictions:6+held-time:3d`: a task that
    /// exceeds it is abandoned. `tollgate policies --world campus` lists the rules. `forever` tries each task again.
    pub retry: String,
    /// Policy that chooses among several idle computers for a task, as in `soonest-end-online`. `tollgate policies --world campus` lists
    /// the policies. Default: the first.
    #[schemars(example = &"soonest-end-online")]
    pub choose: Option<String>,
    /// By group of computers, for policies that save energy: what a computer draws. The group is the name without the
    /// number: `lab1-07` belongs to `lab1`. A group that is not here draws 57, 40 and 2 watts.
    pub power: BTreeMap<String, PowerConfig>,
}

/// The power that a computer draws, in watts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerConfig {
    /// While a user or a task is there.
    pub active: f64,
    /// After its last use, until it sleeps.
    pub idle: f64,
    /// While it sleeps.
    pub asleep: f64,
}

impl Default for DesktopConfig {
    fn default() -> Self {
        Self {
            retry: RetryPolicy::forever().to_string(),
            choose: None,
            power: BTreeMap::new(),
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

    /// Returns the choice among idle computers, if one is set.
    pub(super) fn choice(&self, policy: &PolicySpec) -> Result<Option<DesktopChoice>, ConfigError> {
        let Some(words) = &self.choose else {
            return Ok(None);
        };
        let refused = |expected: &'static str| ConfigError::Range {
            key: "desktops.choose",
            expected,
            found: words.clone(),
        };
        let chosen: &BuiltinSelectPolicy = words.parse().map_err(ConfigError::SelectPolicy)?;
        if chosen.uses_future_logins {
            return Err(refused(
                "a policy that needs no record of log-ins, as soonest-end-online",
            ));
        }
        if chosen.waits {
            return Err(refused(
                "a policy that leaves no computer idle while tasks wait, as least-added-energy",
            ));
        }
        if policy.shares_nodes() {
            return Err(refused(
                "no choice with a policy under which jobs share processors: it chooses them itself",
            ));
        }
        let power = self.power.iter().map(|(group, power)| {
            let power = power.checked().ok_or_else(|| ConfigError::Power {
                group: group.clone(),
            });
            Ok((group.clone(), power?))
        });
        Ok(Some(DesktopChoice {
            policy: chosen,
            power: power.collect::<Result<_, ConfigError>>()?,
        }))
    }
}

impl PowerConfig {
    /// Returns None if a figure is negative or not finite, or a computer draws more when it does less.
    fn checked(self) -> Option<Power> {
        let figures = [0.0, self.asleep, self.idle, self.active, f64::MAX];
        figures.is_sorted().then_some(Power {
            active: Watts(self.active),
            idle: Watts(self.idle),
            asleep: Watts(self.asleep),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tollgate_policies::builtin_registry;

    fn refusal(policy: &str, toml: &str) -> String {
        let config: DesktopConfig = toml::from_str(toml).unwrap();
        let policy = builtin_registry().parse_list(policy).unwrap().remove(0);
        config.choice(&policy).unwrap_err().to_string()
    }

    #[test]
    fn choices_that_cannot_be_made_live_are_refused() {
        let refused = [
            refusal("plan", "choose = 'best'"),
            refusal("plan", "choose = 'least-energy'"),
            refusal("plan", "choose = 'least-added-energy-patient'"),
            refusal("libra-risk", "choose = 'prefer-awake'"),
            refusal(
                "plan",
                "choose = 'prefer-awake'\npower.lab = { active = 1, idle = 2, asleep = 0 }",
            ),
        ];
        insta::assert_snapshot!(refused.join("\n"));
        let missing = toml::from_str::<DesktopConfig>("power.lab = { active = 1, asleep = 0 }");
        assert!(missing.unwrap_err().message().contains("idle"));
    }
}
