//! Parameters as `KEY=VALUE` words: one table per type of settings serves parsing, printing and
//! listing.

use std::str::FromStr;

use tollgate_model::{Otherwise, Probability, Span};

use crate::policy_error::PolicyError;

/// A parameter of a policy with settings `S`: a row of `parameter_table!`.
#[derive(Debug)]
pub struct PolicyParameter<S: 'static> {
    /// The key.
    pub key: &'static str,
    /// The meaning.
    pub meaning: &'static str,
    /// Returns true if the parameter applies to a policy with these settings.
    pub applies: fn(&S) -> bool,
    /// Returns the place of the parameter in the settings, for reading and writing.
    pub place: fn(&mut S) -> ParameterPlace<'_>,
}

/// The place of a parameter in the settings of a policy, with its legal values.
pub enum ParameterPlace<'a> {
    /// A type that knows its words.
    Word(&'a mut dyn ParameterWord),
    /// A finite number with its legal range, as a function and in words.
    Number(&'a mut f64, fn(f64) -> bool, &'static str),
    /// A whole number with its legal range, as a function and in words.
    Count(&'a mut u32, fn(u32) -> bool, &'static str),
}

impl ParameterPlace<'_> {
    /// Returns the legal values, in words.
    fn values(&self) -> String {
        match self {
            Self::Word(value) => value.values(),
            Self::Number(_, _, values) | Self::Count(_, _, values) => (*values).to_owned(),
        }
    }

    /// Returns the value as a word that [`Self::set`] parses.
    fn word(&self) -> String {
        match self {
            Self::Word(value) => value.word(),
            Self::Number(number, ..) => number.to_string(),
            Self::Count(number, ..) => number.to_string(),
        }
    }

    /// Parses a word; returns false, and changes nothing, if the word is no legal value.
    fn set(self, word: &str) -> bool {
        match self {
            Self::Word(value) => value.set_word(word),
            Self::Number(place, is_legal, _) => replace(place, word, |number| {
                number.is_finite() && is_legal(*number)
            }),
            Self::Count(place, is_legal, _) => replace(place, word, |number| is_legal(*number)),
        }
    }
}

/// Sets `place` to the value of a word, if it is legal.
fn replace<T: FromStr>(place: &mut T, word: &str, is_legal: impl Fn(&T) -> bool) -> bool {
    let value = word.parse().ok().filter(is_legal);
    value.map(|value| *place = value).is_some()
}

/// A parameter with its present value, for listings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterInfo {
    /// The key.
    pub key: &'static str,
    /// The legal values, in words.
    pub values: String,
    /// The meaning.
    pub meaning: &'static str,
    /// The present value.
    pub value: String,
}

/// Settings whose parameters stand in a table.
pub trait ParameterTable: Copy + 'static {
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
        if (parameter.place)(self).set(value) {
            return Ok(());
        }
        Err(PolicyError::BadValue {
            policy: policy(),
            key: parameter.key,
            value: value.to_owned(),
            values: (parameter.place)(self).values(),
        })
    }

    /// Returns the parameters that apply, with their values.
    fn list_parameters(&self) -> Vec<ParameterInfo> {
        let info = applicable(self).map(|parameter| {
            let mut settings = *self;
            let place = (parameter.place)(&mut settings);
            ParameterInfo {
                key: parameter.key,
                values: place.values(),
                meaning: parameter.meaning,
                value: place.word(),
            }
        });
        info.collect()
    }

    /// Returns the value of a parameter, whether it applies or not; None if no parameter has this
    /// key.
    fn parameter_value(&self, key: &str) -> Option<String> {
        let mut parameters = Self::PARAMETERS.iter();
        let parameter = parameters.find(|parameter| parameter.key == key)?;
        Some((parameter.place)(&mut { *self }).word())
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

/// A parameter's value that is read and written as a word.
pub trait ParameterWord {
    /// Returns the legal words, in words.
    fn values(&self) -> String;

    /// Returns the word of the value.
    fn word(&self) -> String;

    /// Parses a word; returns false, and changes nothing, if the word is not legal.
    fn set_word(&mut self, word: &str) -> bool;
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

    /// Returns the value with this word; None if there is none.
    fn from_keyword(word: &str) -> Option<Self> {
        let pair = Self::KEYWORDS.iter().find(|(known, _)| *known == word);
        pair.map(|(_, value)| *value)
    }
}

impl<T: ParameterEnum> ParameterWord for T {
    fn values(&self) -> String {
        let words: Vec<&str> = Self::KEYWORDS.iter().map(|(word, _)| *word).collect();
        match words.as_slice() {
            [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
            _ => words.join(", "),
        }
    }

    fn word(&self) -> String {
        self.keyword()
    }

    fn set_word(&mut self, word: &str) -> bool {
        Self::from_keyword(word)
            .map(|value| *self = value)
            .is_some()
    }
}

impl ParameterEnum for bool {
    const KEYWORDS: &'static [(&'static str, Self)] = &[("true", true), ("false", false)];
}

/// A probability above 0 and below 1.
impl ParameterWord for Probability {
    fn values(&self) -> String {
        "a probability, above 0 and below 1".to_owned()
    }

    fn word(&self) -> String {
        self.as_f64().to_string()
    }

    fn set_word(&mut self, word: &str) -> bool {
        let value = word.parse().ok().and_then(Self::new);
        let value = value.filter(|value| 0.0 < value.as_f64() && value.as_f64() < 1.0);
        value.map(|value| *self = value).is_some()
    }
}

/// A number of hours, at most a century: `1h` or `1`.
impl ParameterWord for Span {
    fn values(&self) -> String {
        "hours, at least 0.01".to_owned()
    }

    fn word(&self) -> String {
        format!("{}h", self.as_secs_f64() / 3600.0)
    }

    fn set_word(&mut self, word: &str) -> bool {
        let hours = word.strip_suffix('h').unwrap_or(word).parse().ok();
        let hours = hours.filter(|hours| (0.01..=876_600.0).contains(hours));
        hours
            .map(|hours: f64| *self = Self::from_secs_f64(hours * 3600.0))
            .is_some()
    }
}
