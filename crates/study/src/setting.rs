//! What a scenario may vary: the settings of a workload, by key.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use tollgate_workload::settings::SettingsError;
use tollgate_workload::{Factor, Settings};

use crate::words::{Vocabulary, Word};

/// A setting of the workload, named as on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Setting {
    /// The probability that a job is of high urgency.
    HighUrgency,
    /// What inter-arrival times are multiplied by.
    ArrivalFactor,
    /// How much of the estimation error is kept.
    Inaccuracy,
    /// One number of the distribution from which an SLA part is drawn.
    Factor(Part, Number),
}

/// A part of an SLA that is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// By when.
    Deadline,
    /// For how much.
    Budget,
    /// What lateness costs.
    Penalty,
}

/// A number of a [`Factor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Number {
    /// The lower mean.
    Low,
    /// The higher mean over the lower.
    Ratio,
    /// How much longer jobs are disadvantaged.
    Bias,
}

impl Setting {
    /// Every setting, in the order of Table VI.
    pub const ALL: [Self; 12] = [
        Self::HighUrgency,
        Self::ArrivalFactor,
        Self::Inaccuracy,
        Self::Factor(Part::Deadline, Number::Bias),
        Self::Factor(Part::Budget, Number::Bias),
        Self::Factor(Part::Penalty, Number::Bias),
        Self::Factor(Part::Deadline, Number::Ratio),
        Self::Factor(Part::Budget, Number::Ratio),
        Self::Factor(Part::Penalty, Number::Ratio),
        Self::Factor(Part::Deadline, Number::Low),
        Self::Factor(Part::Budget, Number::Low),
        Self::Factor(Part::Penalty, Number::Low),
    ];

    /// Gives it `value`, in its unit on the command line. Nothing is checked: see
    /// [`Settings::validate`].
    pub fn apply(self, settings: &mut Settings, value: f64) {
        *self.place(settings) = value;
    }

    fn place(self, settings: &mut Settings) -> &mut f64 {
        match self {
            Self::HighUrgency => &mut settings.high_urgency,
            Self::ArrivalFactor => &mut settings.arrival_factor,
            Self::Inaccuracy => &mut settings.inaccuracy,
            Self::Factor(part, number) => number.place(part.factor(settings)),
        }
    }
}

impl Part {
    fn factor(self, settings: &mut Settings) -> &mut Factor {
        match self {
            Self::Deadline => &mut settings.deadline,
            Self::Budget => &mut settings.budget,
            Self::Penalty => &mut settings.penalty,
        }
    }
}

impl Number {
    fn place(self, factor: &mut Factor) -> &mut f64 {
        match self {
            Self::Low => &mut factor.low,
            Self::Ratio => &mut factor.ratio,
            Self::Bias => &mut factor.bias,
        }
    }
}

impl Vocabulary for Setting {
    const KIND: &'static str = "a setting";

    fn all() -> Vec<Self> {
        Self::ALL.to_vec()
    }

    fn word(self) -> &'static str {
        match self {
            Self::HighUrgency => "high-urgency",
            Self::ArrivalFactor => "arrival-factor",
            Self::Inaccuracy => "inaccuracy",
            Self::Factor(Part::Deadline, Number::Low) => "deadline-low",
            Self::Factor(Part::Deadline, Number::Ratio) => "deadline-ratio",
            Self::Factor(Part::Deadline, Number::Bias) => "deadline-bias",
            Self::Factor(Part::Budget, Number::Low) => "budget-low",
            Self::Factor(Part::Budget, Number::Ratio) => "budget-ratio",
            Self::Factor(Part::Budget, Number::Bias) => "budget-bias",
            Self::Factor(Part::Penalty, Number::Low) => "penalty-low",
            Self::Factor(Part::Penalty, Number::Ratio) => "penalty-ratio",
            Self::Factor(Part::Penalty, Number::Bias) => "penalty-bias",
        }
    }
}

/// Settings that differ from the default, by key.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Overrides(pub BTreeMap<Word<Setting>, f64>);

impl Overrides {
    /// Puts them over `settings`.
    pub fn apply(&self, settings: &mut Settings) {
        for (key, value) in &self.0 {
            key.0.apply(settings, *value);
        }
    }

    /// The first that is outside its range.
    ///
    /// # Errors
    /// Its key and what it may be.
    pub fn validate(&self) -> Result<(), (Setting, SettingsError)> {
        self.0
            .iter()
            .try_for_each(|(key, value)| check(key.0, *value).map_err(|error| (key.0, error)))
    }
}

/// Whether a setting may have this value.
///
/// # Errors
/// What it may be.
pub fn check(setting: Setting, value: f64) -> Result<(), SettingsError> {
    let mut settings = Settings::default();
    setting.apply(&mut settings, value);
    settings.validate()
}

impl JsonSchema for Overrides {
    fn schema_name() -> Cow<'static, str> {
        "Settings".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let properties: serde_json::Map<String, serde_json::Value> = Setting::ALL
            .into_iter()
            .map(|setting| (setting.word().to_owned(), number(setting)))
            .collect();
        json_schema!({
            "type": "object",
            "description": "Settings of the workload that differ from the default.",
            "properties": properties,
            "additionalProperties": false,
        })
    }
}

/// The schema of a setting's value. Its range is what the check of an impossible value says.
fn number(setting: Setting) -> serde_json::Value {
    match check(setting, f64::NAN) {
        Ok(()) => serde_json::json!({ "type": "number" }),
        Err(error) => serde_json::json!({
            "type": "number",
            "minimum": error.range.min,
            "maximum": error.range.max,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_names_the_setting_that_it_sets() {
        for setting in Setting::ALL {
            let error = check(setting, f64::NAN).unwrap_err();
            assert_eq!(error.setting, setting.word());
        }
    }

    #[test]
    fn an_override_leaves_the_rest_alone() {
        let overrides = Overrides([(Word(Setting::Inaccuracy), 0.0)].into());
        let mut settings = Settings::default();
        overrides.apply(&mut settings);
        let expected = Settings {
            inaccuracy: 0.0,
            ..Settings::default()
        };
        assert_eq!(settings, expected);
    }
}
