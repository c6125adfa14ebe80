//! Parameters as `KEY=VALUE` words: one table per family serves parsing, printing and listing.

use crate::definition::PolicyDefinition;
use crate::registry::PolicyError;

/// A parameter of a family: its key, its meaning, its parser and its formatter.
pub(crate) struct PolicyParameter<S: 'static> {
    pub(crate) key: &'static str,
    pub(crate) values: &'static str,
    pub(crate) meaning: &'static str,
    /// Returns true if the parameter applies to a policy with these settings.
    pub(crate) applies: fn(&S) -> bool,
    pub(crate) get: fn(&S) -> String,
    /// Parses a word; returns false if the word is not one of `values`.
    pub(crate) set: fn(&mut S, &str) -> bool,
}

/// A parameter with a few named values.
pub(crate) trait ParameterEnum: Copy + PartialEq + 'static {
    const KEYWORDS: &'static [(&'static str, Self)];

    fn keyword(self) -> String {
        let pair = Self::KEYWORDS.iter().find(|(_, value)| *value == self);
        pair.expect("every value has a word").0.to_owned()
    }

    /// Sets `place` to the value named `word`; returns false if there is no such value.
    fn read(place: &mut Self, word: &str) -> bool {
        match Self::KEYWORDS.iter().find(|(known, _)| *known == word) {
            Some(&(_, value)) => {
                *place = value;
                true
            }
            None => false,
        }
    }
}

impl ParameterEnum for bool {
    const KEYWORDS: &'static [(&'static str, Self)] = &[("true", true), ("false", false)];
}

/// Sets `place` to a number that is not negative; returns false if `word` is not such a number.
pub(crate) fn read_number(place: &mut f64, word: &str) -> bool {
    match word.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => {
            *place = number;
            true
        }
        Ok(_) | Err(_) => false,
    }
}

/// Changes one parameter.
pub(crate) fn set<S>(
    table: &[PolicyParameter<S>],
    settings: &mut S,
    policy: &str,
    key: &str,
    value: &str,
) -> Result<(), PolicyError> {
    let known = table
        .iter()
        .find(|parameter| parameter.key == key && (parameter.applies)(settings));
    let Some(parameter) = known else {
        return Err(PolicyError::UnknownParameter {
            policy: policy.to_owned(),
            key: key.to_owned(),
            known: table
                .iter()
                .filter(|parameter| (parameter.applies)(settings))
                .map(|parameter| parameter.key)
                .collect(),
        });
    };
    if (parameter.set)(settings, value) {
        return Ok(());
    }
    Err(PolicyError::BadValue {
        policy: policy.to_owned(),
        key: parameter.key,
        value: value.to_owned(),
        values: parameter.values,
    })
}

/// Checks that a policy of another crate has a parameter with this value.
pub(crate) fn check_defined(
    definition: &PolicyDefinition,
    key: &str,
    value: &str,
) -> Result<(), PolicyError> {
    let policy = || definition.name.to_owned();
    let mut parameters = definition.parameters.iter();
    match parameters.find(|parameter| parameter.key == key) {
        Some(parameter) if (parameter.is_legal)(value) => Ok(()),
        Some(parameter) => Err(PolicyError::BadValue {
            policy: policy(),
            key: parameter.key,
            value: value.to_owned(),
            values: parameter.values,
        }),
        None => Err(PolicyError::UnknownParameter {
            policy: policy(),
            key: key.to_owned(),
            known: definition
                .parameters
                .iter()
                .map(|known| known.key)
                .collect(),
        }),
    }
}

/// Returns a parameter's value as a word; empty if there is no such parameter.
pub(crate) fn value<S>(table: &[PolicyParameter<S>], settings: &S, key: &str) -> String {
    table
        .iter()
        .find(|parameter| parameter.key == key)
        .map(|parameter| (parameter.get)(settings))
        .unwrap_or_default()
}
