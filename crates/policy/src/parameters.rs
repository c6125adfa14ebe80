//! Parameters as `KEY=VALUE` words: one table per type of settings serves parsing, printing and
//! listing.

use tollgate_model::Otherwise;

use crate::policy_error::PolicyError;

/// A parameter of a policy with settings `S`: its key, its meaning, its parser and its formatter.
#[derive(Debug)]
pub struct PolicyParameter<S: 'static> {
    /// The key.
    pub key: &'static str,
    /// The legal values, in words.
    pub values: &'static str,
    /// The meaning.
    pub meaning: &'static str,
    /// Returns true if the parameter applies to a policy with these settings.
    pub applies: fn(&S) -> bool,
    /// Returns the value as a word that `set` parses.
    pub get: fn(&S) -> String,
    /// Parses a word; returns false, and changes nothing, if the word is not one of `values`.
    pub set: fn(&mut S, &str) -> bool,
}

/// A parameter with its present value, for listings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterInfo {
    /// The key.
    pub key: &'static str,
    /// The legal values, in words.
    pub values: &'static str,
    /// The meaning.
    pub meaning: &'static str,
    /// The present value.
    pub value: String,
}

/// Settings whose parameters stand in a table.
pub trait ParameterTable: Sized + 'static {
    /// The parameters, in the order in which they are listed.
    const PARAMETERS: &'static [PolicyParameter<Self>];

    /// Keys that parameters had once, each with what to write instead. Empty by default.
    const FORMER: &'static [(&'static str, &'static str)] = &[];

    /// Changes a parameter by a `KEY=VALUE` word of the policy named `policy`.
    ///
    /// # Errors
    /// Fails if the word is no such pair, no parameter that applies has this key, or the value is
    /// illegal.
    fn set_parameter(&mut self, policy: &str, word: &str) -> Result<(), PolicyError> {
        let policy = || policy.to_owned();
        let (key, value) = word.split_once('=').ok_or_else(|| PolicyError::NotAPair {
            policy: policy(),
            word: word.to_owned(),
        })?;
        if let Some((key, now)) = Self::FORMER.iter().find(|(former, _)| *former == key) {
            return Err(PolicyError::FormerParameter {
                policy: policy(),
                key,
                now,
            });
        }
        let known = applicable(self).find(|parameter| parameter.key == key);
        let parameter = known.ok_or_else(|| PolicyError::UnknownParameter {
            policy: policy(),
            key: key.to_owned(),
            known: applicable(self).map(|parameter| parameter.key).collect(),
        })?;
        if (parameter.set)(self, value) {
            return Ok(());
        }
        Err(PolicyError::BadValue {
            policy: policy(),
            key: parameter.key,
            value: value.to_owned(),
            values: parameter.values,
        })
    }

    /// Returns the parameters that apply, with their values.
    fn list_parameters(&self) -> Vec<ParameterInfo> {
        let info = applicable(self).map(|parameter| ParameterInfo {
            key: parameter.key,
            values: parameter.values,
            meaning: parameter.meaning,
            value: (parameter.get)(self),
        });
        info.collect()
    }

    /// Returns the value of a parameter, whether it applies or not; None if no parameter has this
    /// key.
    fn parameter_value(&self, key: &str) -> Option<String> {
        let mut parameters = Self::PARAMETERS.iter();
        let parameter = parameters.find(|parameter| parameter.key == key)?;
        Some((parameter.get)(self))
    }
}

fn applicable<S: ParameterTable>(
    settings: &S,
) -> impl Iterator<Item = &'static PolicyParameter<S>> {
    let parameters = S::PARAMETERS.iter();
    parameters.filter(|parameter| (parameter.applies)(settings))
}

impl ParameterEnum for Otherwise {
    const KEYWORDS: &'static [(&'static str, Self)] = &[
        ("run", Self::Run),
        ("wait", Self::Wait),
        ("reject", Self::Reject),
    ];
}

/// A parameter with a few named values.
pub trait ParameterEnum: Copy + PartialEq + 'static {
    /// Every value with its word.
    const KEYWORDS: &'static [(&'static str, Self)];

    /// Returns the word of the value.
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
pub fn read_number(place: &mut f64, word: &str) -> bool {
    match word.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 => {
            *place = number;
            true
        }
        Ok(_) | Err(_) => false,
    }
}
