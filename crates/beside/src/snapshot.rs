//! The follower as bytes.

use crate::follower::QueueFollower;

/// The first bytes of a snapshot. The number changes with the format.
const MAGIC: &[u8] = b"tollgate-beside-1\n";

/// Bytes that are no snapshot of this version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// Another version has written the bytes, or they are no snapshot at all.
    #[error("not a snapshot of this version of the program")]
    Version,
    /// A part is missing or changed.
    #[error("the snapshot is damaged: {0}")]
    Damaged(String),
}

impl QueueFollower {
    /// Returns the follower as bytes. What is restored from them states and learns as the original.
    ///
    /// # Errors
    /// [`SnapshotError::Damaged`] if a part cannot be written.
    pub fn to_bytes(&self) -> Result<Vec<u8>, SnapshotError> {
        let bytes = MAGIC.to_vec();
        postcard::to_extend(self, bytes).map_err(|error| SnapshotError::Damaged(error.to_string()))
    }

    /// Restores a follower.
    ///
    /// # Errors
    /// [`SnapshotError`] if the bytes are not those of a follower of this version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SnapshotError> {
        let bytes = bytes.strip_prefix(MAGIC).ok_or(SnapshotError::Version)?;
        postcard::from_bytes(bytes).map_err(|error| SnapshotError::Damaged(error.to_string()))
    }
}
