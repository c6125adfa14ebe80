//! The stored form of a forecaster.

use serde::{Deserialize, Serialize};

use crate::forecaster::Forecaster;

/// The version of the format. It changes whenever the stored data or their meaning change.
pub const VERSION: u32 = 7;

/// A forecaster with the version of its format. The data format must reproduce floats exactly (with
/// `serde_json` the feature `float_roundtrip`), or a restored forecaster will differ in the last
/// digit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForecasterSnapshot {
    version: u32,
    forecaster: Forecaster,
}

/// The error of a stored forecaster of another version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the forecasts were stored in format {found}, and this program reads format {VERSION}")]
pub struct SnapshotVersionError {
    /// The stored version.
    pub found: u32,
}

/// Checks that this program reads the version.
///
/// # Errors
/// [`SnapshotVersionError`] if this program does not read the version.
pub const fn check_version(version: u32) -> Result<(), SnapshotVersionError> {
    match version {
        VERSION => Ok(()),
        found => Err(SnapshotVersionError { found }),
    }
}

impl From<Forecaster> for ForecasterSnapshot {
    fn from(forecaster: Forecaster) -> Self {
        Self {
            version: VERSION,
            forecaster,
        }
    }
}

impl TryFrom<ForecasterSnapshot> for Forecaster {
    type Error = SnapshotVersionError;

    fn try_from(saved: ForecasterSnapshot) -> Result<Self, SnapshotVersionError> {
        check_version(saved.version)?;
        Ok(saved.forecaster)
    }
}
