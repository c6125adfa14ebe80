//! Amounts of memory as whole bytes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

const KIBI: u64 = 1 << 10;

/// An amount of memory in bytes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Bytes(u64);

impl Bytes {
    /// Zero bytes.
    pub const ZERO: Self = Self(0);

    /// Returns an amount of `bytes` bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Returns an amount of `kibibytes` times 1024 bytes, saturating.
    pub const fn from_kibibytes(kibibytes: u64) -> Self {
        Self(kibibytes.saturating_mul(KIBI))
    }

    /// Returns the amount in bytes.
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// Returns the amount in bytes, as a real number.
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// Returns the amount in the unit that fits: `512 B`, `1.5 GiB`.
    pub fn in_unit(self) -> String {
        let units = ["B", "KiB", "MiB", "GiB", "TiB"];
        let mut amount = self.as_f64();
        let mut unit = 0;
        while amount >= 1024.0 && unit < units.len() - 1 {
            amount /= 1024.0;
            unit += 1;
        }
        match unit {
            0 => format!("{amount:.0} B"),
            _ => format!("{amount:.1} {}", units[unit]),
        }
    }

    /// Returns the amount times `count`, saturating.
    #[must_use]
    pub const fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }
}

/// A text that is no amount of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BytesError(String);

impl fmt::Display for BytesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected memory as in 2G or 500M, got `{}`", self.0)
    }
}

impl std::error::Error for BytesError {}

/// Parses an amount of 1 byte to 1e18 bytes: `2G`, `500M`, `1.5GiB`, `1048576`. Units are powers of 1024.
impl FromStr for Bytes {
    type Err = BytesError;

    fn from_str(words: &str) -> Result<Self, BytesError> {
        let text = words.trim().to_ascii_lowercase();
        let end = text
            .find(|c: char| c.is_ascii_alphabetic())
            .unwrap_or(text.len());
        let power = match text[end..].trim_end_matches('b').trim_end_matches('i') {
            "" => Some(0),
            "k" => Some(1),
            "m" => Some(2),
            "g" => Some(3),
            "t" => Some(4),
            _ => None,
        };
        let number: Option<f64> = text[..end].trim().parse().ok();
        let bytes = number
            .zip(power)
            .map(|(number, power)| number * 1024_f64.powi(power));
        bytes
            .filter(|bytes| (1.0..=1e18).contains(bytes))
            .map(|bytes| Self(bytes as u64))
            .ok_or_else(|| BytesError(words.to_owned()))
    }
}

/// Writes the number of bytes, without a unit.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_the_unit_that_fits() {
        let in_unit = |bytes| Bytes::new(bytes).in_unit();
        assert_eq!(in_unit(512), "512 B");
        assert_eq!(in_unit(3 << 29), "1.5 GiB");
        assert_eq!(in_unit(1 << 54), "16384.0 TiB");
    }

    #[test]
    fn no_amount_wraps_around() {
        assert_eq!(Bytes::from_kibibytes(3).times(2), Bytes::new(6144));
        assert_eq!(Bytes::from_kibibytes(u64::MAX).as_u64(), u64::MAX);
        assert_eq!(
            Bytes::new(u64::MAX).times(2).to_string(),
            "18446744073709551615"
        );
    }
}
