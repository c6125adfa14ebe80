//! Whole numbers in JSON as JSON Schema defines them: `214.0` is an integer too.

use serde::Deserialize;
use serde::de::{Deserializer, Error, Unexpected, Visitor};

/// A number without a fraction, at least 0.
struct WholeNumber(u64);

/// Deserialises a whole number that fits `T`.
pub(crate) fn whole<'de, D: Deserializer<'de>, T: TryFrom<u64>>(from: D) -> Result<T, D::Error> {
    narrow(WholeNumber::deserialize(from)?)
}

/// Deserialises a whole number that fits `T`, or null.
pub(crate) fn optional_whole<'de, D: Deserializer<'de>, T: TryFrom<u64>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    let number = Option::<WholeNumber>::deserialize(from)?;
    number.map(narrow).transpose()
}

fn narrow<T: TryFrom<u64>, E: Error>(number: WholeNumber) -> Result<T, E> {
    let WholeNumber(number) = number;
    T::try_from(number).map_err(|_| {
        let bits = 8 * size_of::<T>();
        E::invalid_value(
            Unexpected::Unsigned(number),
            &&*format!("a whole number of at most {bits} bits"),
        )
    })
}

impl<'de> Deserialize<'de> for WholeNumber {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct WholeNumberVisitor;

        impl Visitor<'_> for WholeNumberVisitor {
            type Value = WholeNumber;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a whole number, at least 0")
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<WholeNumber, E> {
                Ok(WholeNumber(number))
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<WholeNumber, E> {
                // The value is below 2^64, so the conversion is exact.
                let exact =
                    number.fract() == 0.0 && (0.0..1.844_674_407_370_955_2e19).contains(&number);
                match exact {
                    true => Ok(WholeNumber(number as u64)),
                    false => Err(E::invalid_value(Unexpected::Float(number), &self)),
                }
            }
        }

        from.deserialize_any(WholeNumberVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct WholeNumberFields {
        #[serde(deserialize_with = "whole")]
        one: u32,
        #[serde(default, deserialize_with = "optional_whole")]
        maybe: Option<u64>,
    }

    #[test]
    fn number_without_a_fraction_is_whole_in_every_notation() {
        let read = |text| serde_json::from_str::<WholeNumberFields>(text).unwrap();
        assert_eq!(read(r#"{"one": 214.0}"#).one, 214);
        assert_eq!(read(r#"{"one": 2.14e2, "maybe": null}"#).maybe, None);
        let most = read(r#"{"one": 0, "maybe": 18446744073709551615}"#);
        assert_eq!(most.maybe, Some(u64::MAX));
        assert_eq!(
            read(r#"{"one": 0, "maybe": 1e18}"#).maybe,
            Some(10_u64.pow(18))
        );
    }

    #[test]
    fn number_out_of_range_is_rejected() {
        for text in [
            r#"{"one": 0.5}"#,
            r#"{"one": -1}"#,
            r#"{"one": -1.0}"#,
            r#"{"one": 4294967296}"#,
            r#"{"one": 4294967296.0}"#,
            r#"{"one": 0, "maybe": 18446744073709551616}"#,
            r#"{"one": "1"}"#,
            r#"{"one": null}"#,
        ] {
            assert!(
                serde_json::from_str::<WholeNumberFields>(text).is_err(),
                "{text}"
            );
        }
    }
}
