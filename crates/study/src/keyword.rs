//! Values that are written as one of a few keywords, with one message for an unknown keyword.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tollgate_model::Market;
use tollgate_risk::{Normalisation, Objective};
use tollgate_sim::TaskCoupling;
use tollgate_workload::{DeadlineModel, NeverRanHandling};

use crate::did_you_mean::nearest;

/// A kind of value with a closed list of keywords.
pub trait KeywordEnum: Copy + PartialEq + 'static {
    /// Description of the kind in messages, with its article: `a market`.
    const KIND: &'static str;

    /// Every value, in the order of messages.
    const VALUES: &'static [Self];

    /// Returns the keyword.
    fn keyword(self) -> &'static str;
}

/// A value that is written as a keyword in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Keyword<T>(pub T);

impl<T: KeywordEnum> Keyword<T> {
    /// Parses the value of a keyword.
    ///
    /// # Errors
    /// One line that lists the keywords and, if one is similar, suggests it.
    pub fn parse(word: &str) -> Result<Self, String> {
        let mut values = T::VALUES.iter();
        if let Some(value) = values.find(|value| value.keyword() == word) {
            return Ok(Self(*value));
        }
        let words = keywords::<T>();
        let meant = nearest(word, words.iter().copied())
            .map(|meant| format!("; did you mean `{meant}`?"))
            .unwrap_or_default();
        let listed = words.join(", ");
        Err(format!(
            "`{word}` is not {}: expected one of {listed}{meant}",
            T::KIND
        ))
    }
}

impl<T: Default + PartialEq> Keyword<T> {
    /// Returns whether the value is the default of its kind.
    pub(crate) fn is_default(&self) -> bool {
        self.0 == T::default()
    }
}

impl<T: KeywordEnum> fmt::Display for Keyword<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.keyword())
    }
}

impl<T: KeywordEnum> Serialize for Keyword<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.keyword())
    }
}

impl<'de, T: KeywordEnum> Deserialize<'de> for Keyword<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(KeywordVisitor(PhantomData))
    }
}

struct KeywordVisitor<T>(PhantomData<T>);

impl<T: KeywordEnum> Visitor<'_> for KeywordVisitor<T> {
    type Value = Keyword<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::KIND)
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<Keyword<T>, E> {
        Keyword::parse(word).map_err(E::custom)
    }
}

impl<T: KeywordEnum> JsonSchema for Keyword<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        T::KIND.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": keywords::<T>() })
    }
}

fn keywords<T: KeywordEnum>() -> Vec<&'static str> {
    let values = T::VALUES.iter().copied();
    values.map(T::keyword).collect()
}

impl KeywordEnum for Market {
    const KIND: &'static str = "a market";
    const VALUES: &'static [Self] = &Self::ALL;

    fn keyword(self) -> &'static str {
        self.name()
    }
}

impl KeywordEnum for Objective {
    const KIND: &'static str = "an objective";
    const VALUES: &'static [Self] = &Self::ALL;

    fn keyword(self) -> &'static str {
        self.name()
    }
}

impl KeywordEnum for Normalisation {
    const KIND: &'static str = "a normalisation";
    const VALUES: &'static [Self] = &Self::ALL;

    fn keyword(self) -> &'static str {
        self.name()
    }
}

impl KeywordEnum for DeadlineModel {
    const KIND: &'static str = "a model of deadlines";
    const VALUES: &'static [Self] = &Self::ALL;

    fn keyword(self) -> &'static str {
        self.name()
    }
}

impl KeywordEnum for TaskCoupling {
    const KIND: &'static str = "a coupling of tasks";
    const VALUES: &'static [Self] = &[Self::Independent, Self::Rigid];

    fn keyword(self) -> &'static str {
        match self {
            Self::Independent => "independent",
            Self::Rigid => "rigid",
        }
    }
}

impl KeywordEnum for NeverRanHandling {
    const KIND: &'static str = "a way to treat jobs that never ran";
    const VALUES: &'static [Self] = &[Self::Drop, Self::One];

    fn keyword(self) -> &'static str {
        self.name()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keyword_error_lists_the_known_ones() {
        let message = Keyword::<Market>::parse("comodity").unwrap_err();
        assert_eq!(
            message,
            "`comodity` is not a market: expected one of none, commodity, bid; \
             did you mean `commodity`?"
        );
        assert!(
            !Keyword::<Market>::parse("xyz")
                .unwrap_err()
                .contains("did you")
        );
    }

    #[test]
    fn keywords_round_trip() {
        for objective in Objective::ALL {
            assert_eq!(Keyword::parse(objective.keyword()), Ok(Keyword(objective)));
        }
    }
}
