//! The settings of a workload that a scenario may vary, by key.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use strum::VariantArray;
use tollgate_workload::settings::{ValueRange, WorkloadConfigError};
use tollgate_workload::{SlaFactor, WorkloadConfig};

use crate::keyword::{Keyword, KeywordEnum};
use crate::world::WorldKind;

/// Key of the cost of preemption: the only setting of the cluster itself that a scenario may vary.
pub(crate) const PREEMPTION_COST: &str = "preemption-cost";

/// The legal costs of preemption, in seconds.
pub(crate) const PREEMPTION_COSTS: ValueRange = ValueRange { min: 0.0, max: 1e6 };

/// A setting of the workload, named as on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkloadParameter {
    /// The probability that a job is of high urgency.
    HighUrgency,
    /// Factor of inter-arrival times.
    ArrivalFactor,
    /// Share of the estimation error that is kept.
    Inaccuracy,
    /// One number of the distribution from which an SLA part is drawn.
    Factor(SlaPart, FactorField),
    /// The most that a delay costs, in budgets.
    PenaltyLimit,
}

/// A part of an SLA that is drawn at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SlaPart {
    /// Deadline.
    Deadline,
    /// Budget.
    Budget,
    /// Penalty for lateness.
    Penalty,
}

/// A number of a [`SlaFactor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FactorField {
    /// The lower mean.
    Low,
    /// The higher mean over the lower.
    Ratio,
    /// Disadvantage of longer jobs.
    Bias,
}

impl WorkloadParameter {
    /// Every setting: those of Table VI in its order, then the others.
    pub const ALL: [Self; 13] = [
        Self::HighUrgency,
        Self::ArrivalFactor,
        Self::Inaccuracy,
        Self::Factor(SlaPart::Deadline, FactorField::Bias),
        Self::Factor(SlaPart::Budget, FactorField::Bias),
        Self::Factor(SlaPart::Penalty, FactorField::Bias),
        Self::Factor(SlaPart::Deadline, FactorField::Ratio),
        Self::Factor(SlaPart::Budget, FactorField::Ratio),
        Self::Factor(SlaPart::Penalty, FactorField::Ratio),
        Self::Factor(SlaPart::Deadline, FactorField::Low),
        Self::Factor(SlaPart::Budget, FactorField::Low),
        Self::Factor(SlaPart::Penalty, FactorField::Low),
        Self::PenaltyLimit,
    ];

    /// Sets the setting to `value`, in its unit on the command line. The value is not checked: see
    /// [`WorkloadConfig::validate`].
    pub fn apply(self, settings: &mut WorkloadConfig, value: f64) {
        *self.value_mut(settings) = value;
    }

    fn value_mut(self, settings: &mut WorkloadConfig) -> &mut f64 {
        match self {
            Self::HighUrgency => &mut settings.high_urgency,
            Self::ArrivalFactor => &mut settings.arrival_factor,
            Self::Inaccuracy => &mut settings.inaccuracy,
            Self::Factor(part, number) => number.value_mut(part.factor(settings)),
            Self::PenaltyLimit => &mut settings.penalty_limit,
        }
    }
}

impl SlaPart {
    fn factor(self, settings: &mut WorkloadConfig) -> &mut SlaFactor {
        match self {
            Self::Deadline => &mut settings.deadline,
            Self::Budget => &mut settings.budget,
            Self::Penalty => &mut settings.penalty,
        }
    }
}

impl FactorField {
    fn value_mut(self, factor: &mut SlaFactor) -> &mut f64 {
        match self {
            Self::Low => &mut factor.low,
            Self::Ratio => &mut factor.ratio,
            Self::Bias => &mut factor.bias,
        }
    }
}

impl KeywordEnum for WorkloadParameter {
    const KIND: &'static str = "a setting";
    const VALUES: &'static [Self] = &Self::ALL;

    fn keyword(self) -> &'static str {
        match self {
            Self::HighUrgency => "high-urgency",
            Self::ArrivalFactor => "arrival-factor",
            Self::Inaccuracy => "inaccuracy",
            Self::Factor(SlaPart::Deadline, FactorField::Low) => "deadline-low",
            Self::Factor(SlaPart::Deadline, FactorField::Ratio) => "deadline-ratio",
            Self::Factor(SlaPart::Deadline, FactorField::Bias) => "deadline-bias",
            Self::Factor(SlaPart::Budget, FactorField::Low) => "budget-low",
            Self::Factor(SlaPart::Budget, FactorField::Ratio) => "budget-ratio",
            Self::Factor(SlaPart::Budget, FactorField::Bias) => "budget-bias",
            Self::Factor(SlaPart::Penalty, FactorField::Low) => "penalty-low",
            Self::Factor(SlaPart::Penalty, FactorField::Ratio) => "penalty-ratio",
            Self::Factor(SlaPart::Penalty, FactorField::Bias) => "penalty-bias",
            Self::PenaltyLimit => "penalty-limit",
        }
    }
}

/// Settings that differ from the default, by key. The experiment's world determines the valid keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SettingOverrides(pub BTreeMap<String, f64>);

impl SettingOverrides {
    /// Applies the overrides to the settings of a workload; keys of other worlds are ignored.
    pub fn apply(&self, settings: &mut WorkloadConfig) {
        for (key, value) in &self.0 {
            apply(key, *value, settings);
        }
    }
}

/// Sets the setting called `key` to a value; an unknown key is ignored.
pub(crate) fn apply(key: &str, value: f64, settings: &mut WorkloadConfig) {
    if let Ok(setting) = Keyword::<WorkloadParameter>::parse(key) {
        setting.0.apply(settings, value);
    }
}

/// The key of a setting in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SettingKey(pub String);

impl fmt::Display for SettingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Checks whether a setting may have this value.
///
/// # Errors
/// The legal range.
pub fn check(setting: WorkloadParameter, value: f64) -> Result<(), WorkloadConfigError> {
    let mut settings = WorkloadConfig::default();
    setting.apply(&mut settings, value);
    settings.validate()
}

impl JsonSchema for SettingKey {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Key".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let words: Vec<&str> = ranges().into_iter().map(|(key, _)| key).collect();
        json_schema!({ "type": "string", "enum": words })
    }
}

impl JsonSchema for SettingOverrides {
    fn schema_name() -> Cow<'static, str> {
        "Settings".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let properties: serde_json::Map<String, serde_json::Value> = ranges()
            .into_iter()
            .map(|(key, range)| (key.to_owned(), number(range)))
            .collect();
        json_schema!({
            "type": "object",
            "description": "Settings that differ from the default.",
            "properties": properties,
            "additionalProperties": false,
        })
    }
}

/// Returns the settings of all worlds, each key once, with its range if all worlds agree on it.
fn ranges() -> Vec<(&'static str, Option<ValueRange>)> {
    let mut all: Vec<(&str, Option<ValueRange>)> = Vec::new();
    for world in WorldKind::VARIANTS {
        for key in world.settings() {
            let range = world.range(key);
            match all.iter_mut().find(|(known, _)| *known == key) {
                Some((_, known)) => *known = known.filter(|known| range == Some(*known)),
                None => all.push((key, range)),
            }
        }
    }
    all
}

fn number(range: Option<ValueRange>) -> serde_json::Value {
    match range {
        None => serde_json::json!({ "type": "number" }),
        Some(ValueRange { min, max }) => serde_json::json!({
            "type": "number",
            "minimum": min,
            "maximum": max,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_sets_the_parameter_it_names() {
        for setting in WorkloadParameter::ALL {
            let error = check(setting, f64::NAN).unwrap_err();
            assert_eq!(error.setting, setting.keyword());
        }
    }

    #[test]
    fn override_changes_only_its_parameter() {
        let overrides = SettingOverrides([("inaccuracy".to_owned(), 0.0)].into());
        let mut settings = WorkloadConfig::default();
        overrides.apply(&mut settings);
        let expected = WorkloadConfig {
            inaccuracy: 0.0,
            ..WorkloadConfig::default()
        };
        assert_eq!(settings, expected);
    }
}
