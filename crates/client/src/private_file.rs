//! Checks of the permissions of files that other users must not read or change.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The set of users that may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePermissions {
    /// All users.
    Public,
    /// The owner of the file, and a trusted group.
    Private,
}

/// An error of a file that other users must not read or change.
#[derive(Debug, thiserror::Error)]
pub enum PrivateFileError {
    /// A file belongs to another user, or others may change it, or read it although it is private.
    #[error("{}: owner {owner}, mode {mode:03o}: expected a file that only user {me} and root can {expected}", path.display())]
    Permissions {
        /// The file, or its directory.
        path: PathBuf,
        /// The operation that must be restricted.
        expected: &'static str,
        /// User id of the owner.
        owner: u32,
        /// Permission bits of the file.
        mode: u32,
        /// User id of this process.
        me: u32,
    },
    /// A file operation failed.
    #[error("{}: {action}: {error}", path.display())]
    System {
        /// The file or directory.
        path: PathBuf,
        /// The failed action.
        action: &'static str,
        /// The system's error.
        error: io::Error,
    },
}

impl PrivateFileError {
    /// Returns what the owner of the file can do about the error.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Permissions { .. } => {
                Some("change the mode with `chmod`, or the owner with `chown`")
            }
            Self::System { .. } => None,
        }
    }
}

/// Checks that only root and this user may change an open file, and that only its owner and group
/// may read a private file.
///
/// # Errors
/// If the file belongs to another user, or its permissions are too wide.
pub fn check_file(
    file: &File,
    path: &Path,
    secrecy: FilePermissions,
) -> Result<(), PrivateFileError> {
    let metadata = file.metadata().map_err(|error| PrivateFileError::System {
        path: path.to_owned(),
        action: "cannot be looked at",
        error,
    })?;
    let (closed, expected) = match secrecy {
        FilePermissions::Public => (0o022, "change"),
        FilePermissions::Private => (0o027, "read and change"),
    };
    let (owner, mode) = (metadata.uid(), metadata.mode() & 0o777);
    let me = rustix::process::geteuid().as_raw();
    if (owner == me || owner == 0) && mode & closed == 0 {
        return Ok(());
    }
    Err(PrivateFileError::Permissions {
        path: path.to_owned(),
        expected,
        owner,
        mode,
        me,
    })
}

/// Checks that only root and this user may replace files in a directory.
///
/// # Errors
/// If the directory belongs to another user, or others may change it.
pub fn check_parent_dir(dir: &Path) -> Result<(), PrivateFileError> {
    let failed = |error| PrivateFileError::System {
        path: dir.to_owned(),
        action: "cannot be looked at",
        error,
    };
    let file = File::open(dir).map_err(failed)?;
    let sticky = file.metadata().map_err(failed)?.mode() & 0o1000 != 0;
    match check_file(&file, dir, FilePermissions::Public) {
        // In a sticky directory only the owner of a file may move it away.
        Err(_) if sticky => Ok(()),
        checked => checked,
    }
}
