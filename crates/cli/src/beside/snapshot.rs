//! A follower as bytes.

use tollgate_beside::QueueFollower;

/// The first bytes of a snapshot. The number changes with the format.
const MAGIC: &[u8] = b"tollgate-beside-2\n";

/// Bytes that are no snapshot of this version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FollowerSnapshotError {
    /// Another version has written the bytes, or they are no snapshot at all.
    #[error("not a snapshot of this version of the program")]
    Version,
    /// A part is missing or changed.
    #[error("the snapshot is damaged: {0}")]
    Damaged(String),
}

/// Returns a follower as bytes.
///
/// # Errors
/// [`FollowerSnapshotError::Damaged`] if a part cannot be written.
pub(super) fn to_bytes(follower: &QueueFollower) -> Result<Vec<u8>, FollowerSnapshotError> {
    postcard::to_extend(follower, MAGIC.to_vec()).map_err(damaged)
}

/// Restores a follower.
///
/// # Errors
/// [`FollowerSnapshotError`] if the bytes are not those of a follower of this version.
pub(super) fn from_bytes(bytes: &[u8]) -> Result<QueueFollower, FollowerSnapshotError> {
    let bytes = bytes.strip_prefix(MAGIC);
    let bytes = bytes.ok_or(FollowerSnapshotError::Version)?;
    postcard::from_bytes(bytes).map_err(damaged)
}

fn damaged(error: postcard::Error) -> FollowerSnapshotError {
    FollowerSnapshotError::Damaged(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_bytes_are_no_follower() {
        let bytes = to_bytes(&QueueFollower::default()).expect("a snapshot");
        assert_eq!(from_bytes(&bytes), Ok(QueueFollower::default()));
        assert_eq!(from_bytes(b"{}"), Err(FollowerSnapshotError::Version));
        let cut = from_bytes(&bytes[..bytes.len() - 1]);
        assert!(
            matches!(cut, Err(FollowerSnapshotError::Damaged(_))),
            "{cut:?}"
        );
    }
}
