//! What a scenario may vary: the settings of a workload, by key.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use tollgate_workload::settings::{Range, SettingsError};
use tollgate_workload::{Factor, Settings};

use crate::words::{Vocabulary, Word};
use crate::world::WorldKind;

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

/// Settings that differ from the default, by key. Which there are is for the experiment's world to
/// say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Overrides(pub BTreeMap<String, f64>);

impl Overrides {
    /// Puts them over the settings of a workload; a key that is none of its changes nothing.
    pub fn apply(&self, settings: &mut Settings) {
        for (key, value) in &self.0 {
            apply(key, *value, settings);
        }
    }
}

/// Gives the setting called `key` a value; a key that is none changes nothing.
pub(crate) fn apply(key: &str, value: f64, settings: &mut Settings) {
    if let Ok(setting) = Word::<Setting>::parse(key) {
        setting.0.apply(settings, value);
    }
}

/// The key of a setting as a file names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Key(pub String);

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
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

impl JsonSchema for Key {
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

impl JsonSchema for Overrides {
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

/// The settings of all worlds, each key once, with its range if that is the same in all.
fn ranges() -> Vec<(&'static str, Option<Range>)> {
    let mut all: Vec<(&str, Option<Range>)> = Vec::new();
    for world in WorldKind::all() {
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

fn number(range: Option<Range>) -> serde_json::Value {
    match range {
        None => serde_json::json!({ "type": "number" }),
        Some(Range { min, max }) => serde_json::json!({
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
    fn every_key_names_the_setting_that_it_sets() {
        for setting in Setting::ALL {
            let error = check(setting, f64::NAN).unwrap_err();
            assert_eq!(error.setting, setting.word());
        }
    }

    #[test]
    fn an_override_leaves_the_rest_alone() {
        let overrides = Overrides([("inaccuracy".to_owned(), 0.0)].into());
        let mut settings = Settings::default();
        overrides.apply(&mut settings);
        let expected = Settings {
            inaccuracy: 0.0,
            ..Settings::default()
        };
        assert_eq!(settings, expected);
    }
}
