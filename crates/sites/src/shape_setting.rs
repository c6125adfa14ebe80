//! The shapes of pilots, as users write them: `8x1h`, `whole`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The word for pilots of whole nodes.
const WHOLE: &str = "whole";
/// The units of times, in seconds.
const UNITS: [(char, u64); 4] = [('d', 86_400), ('h', 3600), ('m', 60), ('s', 1)];

/// A shape in which a site takes pilots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ShapeSetting {
    /// Some cores for a time, as `8x1h`.
    Part {
        /// The number of cores; at least 1.
        cores: u32,
        /// The time limit in seconds.
        time_s: u64,
    },
    /// A whole node, which no other job shares, for the time of the site.
    WholeNode,
}

/// A text that is no shape.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?}: expected CORESxTIME, as 1x10m or 8x1h, or `whole`")]
pub struct InvalidShape(String);

impl FromStr for ShapeSetting {
    type Err = InvalidShape;

    fn from_str(text: &str) -> Result<Self, InvalidShape> {
        if text == WHOLE {
            return Ok(Self::WholeNode);
        }
        let parts = text.split_once('x').and_then(|(cores, time)| {
            let cores: u32 = cores.parse().ok()?;
            Some((cores, seconds(time)?))
        });
        match parts {
            Some((cores, time_s)) if cores > 0 => Ok(Self::Part { cores, time_s }),
            Some(_) | None => Err(InvalidShape(text.to_owned())),
        }
    }
}

/// Returns the seconds of a time as `10m` or `1h30m`: numbers with units, the largest first.
fn seconds(mut text: &str) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    let mut total: u64 = 0;
    for (letter, unit) in UNITS {
        if let Some((count, rest)) = text.split_once(letter) {
            let count: u64 = count.parse().ok()?;
            total = total.checked_add(count.checked_mul(unit)?)?;
            text = rest;
        }
    }
    text.is_empty().then_some(total)
}

impl fmt::Display for ShapeSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Part { cores, time_s } = *self else {
            return f.write_str(WHOLE);
        };
        write!(f, "{cores}x")?;
        let mut left = time_s;
        for (letter, unit) in UNITS {
            let count = left / unit;
            left %= unit;
            if count > 0 || (unit == 1 && time_s == 0) {
                write!(f, "{count}{letter}")?;
            }
        }
        Ok(())
    }
}

impl TryFrom<String> for ShapeSetting {
    type Error = InvalidShape;

    fn try_from(text: String) -> Result<Self, InvalidShape> {
        text.parse()
    }
}

impl From<ShapeSetting> for String {
    fn from(shape: ShapeSetting) -> Self {
        shape.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn illegal_shapes_are_refused() {
        for text in [
            "", "8", "x1h", "0x1h", "8x", "8x1", "8xh", "8x1h1h", "8x1m1h", "all", "-1x1h",
        ] {
            assert!(text.parse::<ShapeSetting>().is_err(), "{text}");
        }
        let error = "8".parse::<ShapeSetting>().unwrap_err().to_string();
        assert_eq!(
            error,
            "\"8\": expected CORESxTIME, as 1x10m or 8x1h, or `whole`"
        );
    }

    proptest! {
        #[test]
        fn shape_is_read_as_it_is_written(cores in 1..10_000_u32, time_s in 0..10_000_000_u64) {
            let shape = ShapeSetting::Part { cores, time_s };
            prop_assert_eq!(shape.to_string().parse(), Ok(shape));
        }
    }

    #[test]
    fn whole_node_has_a_word() {
        assert_eq!("whole".parse(), Ok(ShapeSetting::WholeNode));
        assert_eq!(ShapeSetting::WholeNode.to_string(), "whole");
    }
}
