//! Settings as `KEY=VALUE` words: one table a family gives parsing, printing and the list.

use crate::registry::PolicyError;

/// A setting of a family: how it is called, what it means, how it is read and written.
pub(crate) struct PolicyParameter<S: 'static> {
    pub(crate) key: &'static str,
    pub(crate) values: &'static str,
    pub(crate) meaning: &'static str,
    /// Whether it means anything for a policy with these settings.
    pub(crate) applies: fn(&S) -> bool,
    pub(crate) get: fn(&S) -> String,
    /// Sets it from a word; false if the word is none of `values`.
    pub(crate) set: fn(&mut S, &str) -> bool,
}

/// A choice among a few words.
pub(crate) trait ParameterEnum: Copy + PartialEq + 'static {
    const KEYWORDS: &'static [(&'static str, Self)];

    fn keyword(self) -> String {
        let pair = Self::KEYWORDS.iter().find(|(_, value)| *value == self);
        pair.expect("every value has a word").0.to_owned()
    }

    /// Sets `place` to what `word` means; false if it means nothing.
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

/// Sets `place` to a number that is not negative; false if `word` is none.
pub(crate) fn read_number(place: &mut f64, word: &str) -> bool {
    match word.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => {
            *place = number;
            true
        }
        Ok(_) | Err(_) => false,
    }
}

/// Changes one setting.
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

/// A setting's value as a word; empty if there is no such setting.
pub(crate) fn value<S>(table: &[PolicyParameter<S>], settings: &S, key: &str) -> String {
    table
        .iter()
        .find(|parameter| parameter.key == key)
        .map(|parameter| (parameter.get)(settings))
        .unwrap_or_default()
}
