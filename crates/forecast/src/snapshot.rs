//! A forecaster on its way to a file and back.

use serde::{Deserialize, Serialize};

use crate::forecaster::Forecaster;

/// The version of the format. It changes whenever what is stored, or what it means, does.
pub const VERSION: u32 = 2;

/// A forecaster with the version of its format. The data format must give back the floats that it
/// was given (with `serde_json` the feature `float_roundtrip`), or a restored forecaster will differ
/// in the last place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForecasterSnapshot {
    version: u32,
    forecaster: Forecaster,
}

/// Why a stored forecaster cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the forecasts were stored in format {found}, and this program reads format {VERSION}")]
pub struct SnapshotVersionError {
    /// The version that was found.
    pub found: u32,
}

/// Whether this program reads that version.
///
/// # Errors
/// [`SnapshotVersionError`] if it does not.
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
