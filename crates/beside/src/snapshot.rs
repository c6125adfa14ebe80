//! The follower as bytes. The code is in this crate because it is compiled for speed: a snapshot has tens of megabytes.

use crate::follower::QueueFollower;

/// The first bytes of a snapshot. The number changes with the format.
const MAGIC: &[u8] = b"tollgate-beside-3\n";

/// Bytes that are no snapshot of this version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FollowerSnapshotError {
    /// Another version has written the bytes, or they are no snapshot at all.
    #[error("not a snapshot of this version of the program")]
    Version,
    /// A part is missing or changed.
    #[error("the snapshot is damaged: {0}")]
    Damaged(String),
}

impl QueueFollower {
    /// Returns the follower as bytes. The follower that is restored from them states and learns as the original.
    ///
    /// # Errors
    /// [`FollowerSnapshotError::Damaged`] if a part cannot be written.
    pub fn to_bytes(&self) -> Result<Vec<u8>, FollowerSnapshotError> {
        let bytes = MAGIC.to_vec();
        postcard::to_extend(self, bytes)
            .map_err(|error| FollowerSnapshotError::Damaged(error.to_string()))
    }

    /// Restores a follower.
    ///
    /// # Errors
    /// [`FollowerSnapshotError`] if the bytes are not those of a follower of this version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FollowerSnapshotError> {
        let bytes = bytes
            .strip_prefix(MAGIC)
            .ok_or(FollowerSnapshotError::Version)?;
        postcard::from_bytes(bytes)
            .map_err(|error| FollowerSnapshotError::Damaged(error.to_string()))
    }
}
