//! How much of the outputs of tasks on other hosts the service keeps.

use serde::{Deserialize, Serialize};

use super::error::ConfigError;

/// Maximum of [`OutputConfig::kept_kib`].
const MAX_KEPT_KIB: u64 = 64 << 10;
/// Maximum of [`OutputConfig::total_mib`].
const MAX_TOTAL_MIB: u64 = 1 << 20;

/// Outputs of tasks on other hosts that the service keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OutputConfig {
    /// Maximum size of the end of an output that is kept, in KiB. At least 0, at most 65536. With 0 none is
    /// kept.
    pub kept_kib: u64,
    /// Maximum size of all kept outputs together, in MiB. The oldest make room. At least 1, at most 1048576.
    pub total_mib: u64,
}

impl Default for OutputConfig {
    fn default() -> Self {
        Self {
            kept_kib: 1_024,
            total_mib: 1_024,
        }
    }
}

impl OutputConfig {
    /// Returns the maximum size of what is kept of an output, in bytes.
    pub(crate) const fn kept_bytes(self) -> u64 {
        self.kept_kib << 10
    }

    /// Returns the maximum size of all kept outputs, in bytes.
    pub(crate) const fn total_bytes(self) -> u64 {
        self.total_mib << 20
    }

    pub(super) fn checked(self) -> Result<Self, ConfigError> {
        let range = |key, expected, found: u64| ConfigError::Range {
            key,
            expected,
            found: found.to_string(),
        };
        if self.kept_kib > MAX_KEPT_KIB {
            let expected = "KiB, at most 65536";
            return Err(range("outputs.kept_kib", expected, self.kept_kib));
        }
        if !(1..=MAX_TOTAL_MIB).contains(&self.total_mib) || self.total_bytes() < self.kept_bytes()
        {
            let expected = "MiB, at least 1 and `kept_kib`, at most 1048576";
            return Err(range("outputs.total_mib", expected, self.total_mib));
        }
        Ok(self)
    }
}
