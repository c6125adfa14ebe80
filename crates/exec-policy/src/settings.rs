//! The settings of the policy.

use std::time::Duration;

use tollgate_model::Market;
use tollgate_policy::{DynSettings, ParameterInfo, Policy, PolicyError, PolicySettings};

use crate::policy::ExecPolicy;

const COMMAND: &str = "command";
const COMMAND_VALUES: &str = "a program and its arguments, split at blanks; no commas";
const TIMEOUT: &str = "timeout-s";
const TIMEOUT_VALUES: &str = "seconds, from 0.001 to 86400";

/// The command and the longest wait for an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ExecSettings {
    /// The program and its arguments, split at blanks. Empty if none is named.
    pub(crate) command: String,
    /// The longest wait for an answer.
    pub(crate) timeout: Duration,
}

impl PolicySettings for ExecSettings {
    fn build(&self, market: Market) -> Box<dyn Policy> {
        Box::new(ExecPolicy::new(self.clone(), market))
    }

    fn is_external(&self) -> bool {
        true
    }
}

/// The command stands behind the colon without a key: `exec:./my-policy.py`.
impl DynSettings for ExecSettings {
    fn set(&mut self, policy: &str, word: &str) -> Result<(), PolicyError> {
        let bad_value = |key, value: &str, values: &str| PolicyError::BadValue {
            policy: policy.to_owned(),
            key,
            value: value.to_owned(),
            values: values.to_owned(),
        };
        let pair = word.split_once('=');
        match pair.filter(|(key, _)| [COMMAND, TIMEOUT].contains(key)) {
            Some((TIMEOUT, value)) => {
                let seconds = value.parse().ok();
                let seconds = seconds.filter(|seconds| (0.001..=86_400.0).contains(seconds));
                let seconds = seconds.ok_or_else(|| bad_value(TIMEOUT, value, TIMEOUT_VALUES))?;
                self.timeout = Duration::from_secs_f64(seconds);
            }
            given => {
                let command = given.map_or(word, |(_, command)| command).trim();
                if command.is_empty() {
                    return Err(bad_value(COMMAND, command, COMMAND_VALUES));
                }
                if !self.command.is_empty() {
                    return Err(PolicyError::UnknownParameter {
                        policy: policy.to_owned(),
                        key: pair.map_or(word, |(key, _)| key).to_owned(),
                        known: vec![COMMAND, TIMEOUT],
                    });
                }
                command.clone_into(&mut self.command);
            }
        }
        Ok(())
    }

    fn list(&self) -> Vec<ParameterInfo> {
        vec![
            ParameterInfo {
                key: COMMAND,
                values: COMMAND_VALUES.to_owned(),
                meaning: "the program that decides",
                value: self.command.clone(),
            },
            ParameterInfo {
                key: TIMEOUT,
                values: TIMEOUT_VALUES.to_owned(),
                meaning: "the longest wait for its answer",
                value: self.timeout.as_secs_f64().to_string(),
            },
        ]
    }

    fn value(&self, key: &str) -> Option<String> {
        let mut parameters = self.list().into_iter();
        let found = parameters.find(|parameter| parameter.key == key);
        found.map(|parameter| parameter.value)
    }

    fn clone_box(&self) -> Box<dyn PolicySettings> {
        Box::new(self.clone())
    }
}
