//! Parses amounts: memory, rates, devices and licences. An error is a text for the user: what is expected, and what
//! was typed.

use std::collections::BTreeMap;
use std::str::FromStr;

use tollgate_model::{Bytes, MAX_DEVICES};

use crate::limits::check_job_memory;
use crate::resources::parse_resources;
use crate::typed_span::UNITS;

/// Parses devices and licences: `gpu:2`, `gpu:a100:1,matlab`.
pub fn parse_resource_list(words: &str) -> Result<BTreeMap<String, u8>, String> {
    parse_resources(words).map_err(|error| error.to_string())
}

/// Parses devices of a host: `gpu:2`.
pub fn parse_device_list(words: &str) -> Result<BTreeMap<String, u8>, String> {
    let devices = parse_resource_list(words)?;
    match devices.values().all(|count| *count <= MAX_DEVICES) {
        true => Ok(devices),
        false => Err(format!(
            "expected at most {MAX_DEVICES} devices of each kind"
        )),
    }
}

/// Parses a size in bytes: `2G`, `500M`, `1.5GiB`, `1048576`. Units are powers of 1024.
pub fn parse_memory(words: &str) -> Result<u64, String> {
    let parsed = words.parse::<Bytes>().map_err(|error| error.to_string());
    parsed.map(Bytes::as_u64)
}

/// Parses the memory of a job, at least a megabyte.
pub fn parse_job_memory(words: &str) -> Result<u64, String> {
    check_job_memory(parse_memory(words)?).map_err(|error| error.to_string())
}

/// The memory that a user asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypedMemory {
    /// This amount in bytes, at least a megabyte.
    Amount(u64),
    /// The amount by experience with jobs like it.
    Auto,
}

impl TypedMemory {
    /// Returns the amount in bytes; None if it is the service's to say.
    pub const fn amount(self) -> Option<u64> {
        match self {
            Self::Amount(bytes) => Some(bytes),
            Self::Auto => None,
        }
    }
}

impl FromStr for TypedMemory {
    type Err = String;

    fn from_str(words: &str) -> Result<Self, String> {
        match words {
            "auto" => Ok(Self::Auto),
            amount => parse_job_memory(amount).map(Self::Amount),
        }
    }
}

/// Parses credits per second: `0.1/s`, `6/min`, `360/h`, `0.1`.
pub fn parse_rate(words: &str) -> Result<f64, String> {
    let (number, unit) = words.split_once('/').unwrap_or((words, "s"));
    let scale = UNITS.iter().find(|(name, _)| *name == unit.trim());
    let number = number.trim().parse::<f64>().ok();
    number
        .zip(scale)
        .map(|(number, (_, scale))| number / scale)
        .filter(|rate| rate.is_finite() && *rate >= 0.0)
        .ok_or_else(|| format!("expected credits over time as in 0.1/s or 360/h, got `{words}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_parsed_with_its_unit() {
        assert_eq!(parse_memory("2G"), Ok(2 << 30));
        assert_eq!(parse_memory("512MiB"), Ok(512 << 20));
        assert_eq!(parse_memory("1.5k"), Ok(1536));
        for words in ["lots", "0", "-1G"] {
            assert!(parse_memory(words).is_err(), "{words}");
        }
    }

    #[test]
    fn memory_of_a_job_without_a_unit_is_rejected() {
        assert_eq!(parse_job_memory("1M"), Ok(1 << 20));
        for words in ["2", "900k", "999999"] {
            assert!(parse_job_memory(words).is_err(), "{words}");
        }
    }

    #[test]
    fn rates_are_parsed_with_their_unit() {
        assert_eq!(parse_rate("0.1/s"), Ok(0.1));
        assert_eq!(parse_rate("360/h"), Ok(0.1));
        assert_eq!(parse_rate("2"), Ok(2.0));
        for words in ["2/fortnight", "-1/s"] {
            assert!(parse_rate(words).is_err(), "{words}");
        }
    }
}
