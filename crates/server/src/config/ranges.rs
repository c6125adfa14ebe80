//! Ranges that several settings share.

use tollgate_client::resources::is_resource_name;
use tollgate_model::MAX_RESOURCES;
use tollgate_service::NamedResources;

use super::error::ConfigError;

/// Returns `number` if it is above 0.
pub(super) fn positive(key: &'static str, number: f64) -> Result<f64, ConfigError> {
    if number.is_finite() && number >= 1e-6 {
        return Ok(number);
    }
    Err(ConfigError::Range {
        key,
        expected: "a number above 0",
        found: number.to_string(),
    })
}

/// Returns devices or licences with names and numbers that are allowed.
pub(super) fn named_resources(
    key: &'static str,
    named: &NamedResources,
) -> Result<NamedResources, ConfigError> {
    let is_wrong = |(name, count): &(&String, &u8)| **count == 0 || !is_resource_name(name);
    if named.len() > MAX_RESOURCES {
        return Err(ConfigError::Range {
            key,
            expected: "at most 8 names",
            found: named.len().to_string(),
        });
    }
    match named.iter().find(is_wrong) {
        None => Ok(named.clone()),
        Some((name, count)) => Err(ConfigError::Range {
            key,
            expected: "names as in gpu or gpu:a100, and numbers of at least 1",
            found: format!("{name} = {count}"),
        }),
    }
}

/// Refuses 0.
pub(super) fn at_least_one(key: &'static str, number: u64) -> Result<(), ConfigError> {
    if number > 0 {
        return Ok(());
    }
    Err(ConfigError::Range {
        key,
        expected: "at least 1",
        found: number.to_string(),
    })
}
