//! Values whose shape changes between versions: every shape is accepted, and every value may be
//! missing.

use std::fmt;
use std::ops::Deref;

use serde::de::{
    Deserialize, DeserializeOwned, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;

/// A number, alone, as text, or as `{"set": true, "infinite": false, "number": 5}`; None if it is
/// not set, infinite, or something else.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct LenientNumber(pub(crate) Option<f64>);

impl LenientNumber {
    /// Returns the number as text for the parsers of fields.
    pub(crate) fn text(self) -> Option<String> {
        self.0.map(|number| number.to_string())
    }

    /// Returns the number if it is more than 0: Slurm writes 0 for an instant that has not
    /// occurred.
    pub(crate) fn positive(self) -> Option<f64> {
        self.0.filter(|&number| number > 0.0)
    }
}

impl<'de> Deserialize<'de> for LenientNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LenientNumberVisitor)
    }
}

struct LenientNumberVisitor;

impl<'de> Visitor<'de> for LenientNumberVisitor {
    type Value = LenientNumber;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_u64<E>(self, number: u64) -> Result<LenientNumber, E> {
        Ok(LenientNumber(Some(number as f64)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<LenientNumber, E> {
        Ok(LenientNumber(Some(number as f64)))
    }

    fn visit_f64<E>(self, number: f64) -> Result<LenientNumber, E> {
        Ok(LenientNumber(Some(number)))
    }

    fn visit_bool<E>(self, _: bool) -> Result<LenientNumber, E> {
        Ok(LenientNumber(None))
    }

    fn visit_str<E>(self, text: &str) -> Result<LenientNumber, E> {
        let number = text.trim().parse().ok();
        Ok(LenientNumber(
            number.filter(|number: &f64| number.is_finite()),
        ))
    }

    fn visit_unit<E>(self) -> Result<LenientNumber, E> {
        Ok(LenientNumber(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<LenientNumber, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(LenientNumber(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LenientNumber, A::Error> {
        let (mut number, mut is_bounded) = (LenientNumber(None), true);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "number" => number = map.next_value()?,
                "set" => is_bounded &= map.next_value::<LenientFlag>()?.0 != Some(false),
                "infinite" => is_bounded &= map.next_value::<LenientFlag>()?.0 != Some(true),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(if is_bounded {
            number
        } else {
            LenientNumber(None)
        })
    }
}

/// A value whose shape may be any: one that does not fit counts as missing.
#[derive(Default)]
pub(crate) struct Lenient<T>(pub(crate) T);

impl<'de, T: DeserializeOwned + Default> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&RawValue>::deserialize(deserializer)?;
        Ok(Self(serde_json::from_str(text.get()).unwrap_or_default()))
    }
}

impl<T> Deref for Lenient<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// A truth value; None if the value is something else.
struct LenientFlag(Option<bool>);

impl<'de> Deserialize<'de> for LenientFlag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Ok(Self(value.as_bool()))
    }
}

/// Text, alone or as a list of texts; anything else is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LenientTexts(pub(crate) Vec<String>);

impl LenientTexts {
    /// Returns the first text, or an empty text.
    pub(crate) fn first(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }
}

impl<'de> Deserialize<'de> for LenientTexts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LenientTextsVisitor)
    }
}

struct LenientTextsVisitor;

impl<'de> Visitor<'de> for LenientTextsVisitor {
    type Value = LenientTexts;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text, or a list of texts")
    }

    fn visit_str<E>(self, text: &str) -> Result<LenientTexts, E> {
        Ok(LenientTexts(vec![text.to_owned()]))
    }

    fn visit_u64<E>(self, number: u64) -> Result<LenientTexts, E> {
        Ok(LenientTexts(vec![number.to_string()]))
    }

    fn visit_i64<E>(self, number: i64) -> Result<LenientTexts, E> {
        Ok(LenientTexts(vec![number.to_string()]))
    }

    fn visit_f64<E>(self, number: f64) -> Result<LenientTexts, E> {
        Ok(LenientTexts(vec![number.to_string()]))
    }

    fn visit_bool<E>(self, truth: bool) -> Result<LenientTexts, E> {
        Ok(LenientTexts(vec![truth.to_string()]))
    }

    fn visit_unit<E>(self) -> Result<LenientTexts, E> {
        Ok(LenientTexts::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<LenientTexts, A::Error> {
        let mut all = Vec::new();
        while let Some(LenientTexts(more)) = seq.next_element()? {
            all.extend(more);
        }
        Ok(LenientTexts(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LenientTexts, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(LenientTexts::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_every_shape() {
        for (text, number) in [
            ("5", Some(5.0)),
            ("-1", Some(-1.0)),
            ("2.5", Some(2.5)),
            ("\"5\"", Some(5.0)),
            (
                "{\"set\": true, \"infinite\": false, \"number\": 5}",
                Some(5.0),
            ),
            ("{\"set\": false, \"infinite\": false, \"number\": 5}", None),
            ("{\"set\": true, \"infinite\": true, \"number\": 5}", None),
            ("{\"set\": 3, \"other\": [1]}", None),
            ("null", None),
            ("true", None),
            ("[1]", None),
            ("\"NaN\"", None),
        ] {
            let read: LenientNumber = serde_json::from_str(text).unwrap();
            assert_eq!(read, LenientNumber(number), "{text}");
        }
    }

    #[test]
    fn texts_are_read_in_every_shape() {
        for (text, first) in [
            ("\"a\"", "a"),
            ("[\"a\", \"b\"]", "a"),
            ("7", "7"),
            ("{\"a\": 1}", ""),
            ("null", ""),
        ] {
            let read: LenientTexts = serde_json::from_str(text).unwrap();
            assert_eq!(read.first(), first, "{text}");
        }
    }
}
