//! Words of the API, also those of a later version of the service.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use strum::VariantArray;

/// The words that a field of a response may have, as this version knows them.
pub trait WireVocabulary: Copy + Eq + fmt::Debug + fmt::Display + JsonSchema + 'static {
    /// Every word that this version knows.
    const ALL: &'static [Self];

    /// Returns the word in JSON.
    fn key(self) -> &'static str;

    /// Returns the word with this key; None for a key that this version does not know.
    fn from_key(key: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|word| word.key() == key)
    }
}

impl<T> WireVocabulary for T
where
    T: Copy + Eq + fmt::Debug + fmt::Display + JsonSchema + VariantArray + Into<&'static str>,
{
    const ALL: &'static [Self] = Self::VARIANTS;

    fn key(self) -> &'static str {
        self.into()
    }
}

/// A word in a response of the service. A client that is older than its service keeps a word that it does not know, and
/// shows it as it is.
///
/// ```
/// use tollgate_client::types::{JobState, WireWord};
///
/// let states: Vec<WireWord<JobState>> = serde_json::from_str(r#"["running", "suspended"]"#)?;
/// assert_eq!(states[0], JobState::Running);
/// assert_eq!((states[1].known(), states[1].key()), (None, "suspended"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireWord<T> {
    /// A word that this version knows.
    Known(T),
    /// A word of a later version, as it was received.
    Unknown(Box<str>),
}

impl<T: WireVocabulary> WireWord<T> {
    /// Returns the word that this version knows; None for a word of a later version.
    pub const fn known(&self) -> Option<T> {
        match self {
            Self::Known(word) => Some(*word),
            Self::Unknown(_) => None,
        }
    }

    /// Returns the word in JSON.
    pub fn key(&self) -> &str {
        match self {
            Self::Known(word) => word.key(),
            Self::Unknown(key) => key,
        }
    }
}

impl<T> From<T> for WireWord<T> {
    fn from(word: T) -> Self {
        Self::Known(word)
    }
}

impl<T: WireVocabulary> WireWord<T> {
    /// Reads a word from its key.
    pub fn from_key(key: &str) -> Self {
        T::from_key(key).map_or_else(|| Self::Unknown(key.into()), Self::Known)
    }
}

impl<T: PartialEq> PartialEq<T> for WireWord<T> {
    fn eq(&self, other: &T) -> bool {
        matches!(self, Self::Known(word) if word == other)
    }
}

/// Writes a known word as its type does, and an unknown one as it is.
impl<T: fmt::Display> fmt::Display for WireWord<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(word) => word.fmt(f),
            Self::Unknown(key) => f.pad(key),
        }
    }
}

impl<T: WireVocabulary> Serialize for WireWord<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.key())
    }
}

impl<'de, T: WireVocabulary> Deserialize<'de> for WireWord<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from_key(&String::deserialize(deserializer)?))
    }
}

/// The schema of the known words, or any other: later versions of the service may add words.
impl<T: WireVocabulary> JsonSchema for WireWord<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("{}Word", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let known = generator.subschema_for::<T>();
        json_schema!({
            "anyOf": [
                known,
                { "type": "string", "description": "A word of a later version of the service." },
            ],
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::records::LedgerEntryKind;
    use crate::types::{
        AccessRole, BrokenPromiseCause, CredentialProof, DroppedText, JobDecision,
        JobEstimateSource, JobEventKind, JobState, NodeAvailability, OfferChange, OutputSource,
        PromiseOutcome, ServiceMarket, WorkerLinkState,
    };

    /// Checks a vocabulary: its words and one of a later version survive JSON, and its schema names just its words.
    fn check<T: WireVocabulary>() {
        let words = T::ALL.iter().map(|word| WireWord::Known(*word));
        let later = WireWord::Unknown("of_a_later_version".into());
        for word in words.chain([later]) {
            let text = serde_json::to_string(&word).unwrap();
            assert_eq!(text, format!("\"{}\"", word.key()));
            assert_eq!(serde_json::from_str::<WireWord<T>>(&text).unwrap(), word);
        }
        let mut generator = SchemaGenerator::default();
        let schema = T::json_schema(&mut generator).to_value();
        let alternatives = schema["oneOf"].as_array().cloned().unwrap_or_default();
        let mut named: Vec<&str> = alternatives
            .iter()
            .filter_map(|one| one["const"].as_str())
            .collect();
        let listed = alternatives
            .iter()
            .filter_map(|one| one["enum"].as_array())
            .flatten();
        named.extend(listed.filter_map(Value::as_str));
        let mut keys: Vec<&str> = T::ALL.iter().map(|word| word.key()).collect();
        named.sort_unstable();
        keys.sort_unstable();
        assert_eq!(named, keys, "{}", T::schema_name());
    }

    #[test]
    fn words_of_this_version_and_of_later_ones_survive_json() {
        check::<AccessRole>();
        check::<BrokenPromiseCause>();
        check::<CredentialProof>();
        check::<DroppedText>();
        check::<JobDecision>();
        check::<JobEstimateSource>();
        check::<JobEventKind>();
        check::<JobState>();
        check::<LedgerEntryKind>();
        check::<NodeAvailability>();
        check::<OfferChange>();
        check::<OutputSource>();
        check::<PromiseOutcome>();
        check::<ServiceMarket>();
        check::<WorkerLinkState>();
    }

    #[test]
    fn unknown_word_is_shown_as_it_is() {
        let word: WireWord<JobState> = serde_json::from_str("\"suspended\"").unwrap();
        assert_eq!(
            (word.known(), word.to_string().as_str()),
            (None, "suspended")
        );
        assert_ne!(word, JobState::Queued);
    }

    #[test]
    fn known_word_is_shown_as_its_type_shows_it() {
        assert_eq!(WireWord::from(JobState::TimedOut).to_string(), "timed out");
        assert_eq!(WireWord::from(JobState::TimedOut).key(), "timed_out");
    }
}
