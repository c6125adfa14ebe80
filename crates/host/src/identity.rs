//! The file that a name stood for at a moment.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The number of a file and of its file system. No other file has both as long as the file exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    /// Returns the identity of the file that a name stands for now. A link is not followed.
    ///
    /// # Errors
    /// If there is no such file, or it cannot be looked at.
    pub fn of(path: &Path) -> io::Result<Self> {
        let found = fs::symlink_metadata(path)?;
        Ok(Self {
            device: found.dev(),
            inode: found.ino(),
        })
    }

    /// Returns the identity of an open file.
    ///
    /// # Errors
    /// If the system cannot look at it.
    pub fn of_open(file: &File) -> io::Result<Self> {
        let found = file.metadata()?;
        Ok(Self {
            device: found.dev(),
            inode: found.ino(),
        })
    }

    /// Removes the name if it still stands for this file: another process may have put a file of its own
    /// there. Returns whether it was removed.
    ///
    /// # Errors
    /// If the file cannot be removed.
    pub fn remove(self, path: &Path) -> io::Result<bool> {
        match Self::of(path) {
            Ok(found) if found == self => fs::remove_file(path).map(|()| true),
            Ok(_) => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_removed_unless_another_took_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        fs::write(&path, "old").unwrap();
        let old = FileIdentity::of(&path).unwrap();
        // The old file still exists, so that its number is not used again.
        fs::rename(&path, dir.path().join("away")).unwrap();
        fs::write(&path, "new").unwrap();
        assert!(!old.remove(&path).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"new");
        let new = FileIdentity::of(&path).unwrap();
        assert!(new.remove(&path).unwrap() && !new.remove(&path).unwrap());
    }
}
