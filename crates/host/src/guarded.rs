//! Files in a directory that another account may write to.
//!
//! The account can put a link, a pipe, a device or another file of the host in the place of any name. So a
//! file is opened without following a link and without waiting, and is used only if it is a regular file with
//! one name that belongs to the directory. It then belongs to this user, to the owner of the directory, or to
//! the account that the directory is open to. In a directory that only this user can write to, a file may
//! belong to anyone.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// Flags of every open: no link is followed, nothing is waited for, no terminal is acquired.
const FLAGS: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// Permission bit of a directory that its group may write to.
const GROUP_WRITE: u32 = 0o020;

/// Permission bits of a directory that others than its owner may write to.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// The reason why a file was not opened.
#[derive(Debug, thiserror::Error)]
pub enum GuardedFileError {
    /// The name stands for something else than a regular file.
    #[error("{}: expected a regular file, found {found}", path.display())]
    NotRegular {
        /// The file.
        path: PathBuf,
        /// The kind of the file.
        found: &'static str,
    },
    /// The file has other names, perhaps in another directory.
    #[error("{}: expected a file with one name, found {names}", path.display())]
    OtherNames {
        /// The file.
        path: PathBuf,
        /// Number of its names.
        names: u64,
    },
    /// The file and the directory belong to different users.
    #[error("{}: belongs to user {owner}: expected this user or the owner of the directory", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// User id of its owner.
        owner: u32,
    },
    /// The system failed.
    #[error("{}: {error}", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}

impl GuardedFileError {
    /// Returns whether there is no file of this name.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::System { error, .. } if error.kind() == io::ErrorKind::NotFound)
    }
}

/// The error of the system as it is, any other with its words and without the path.
impl From<GuardedFileError> for io::Error {
    fn from(error: GuardedFileError) -> Self {
        match error {
            GuardedFileError::System { error, .. } => error,
            GuardedFileError::NotRegular { found, .. } => {
                Self::other(format!("expected a regular file, found {found}"))
            }
            GuardedFileError::OtherNames { names, .. } => {
                Self::other(format!("expected a file with one name, found {names}"))
            }
            GuardedFileError::Foreign { owner, .. } => Self::other(format!(
                "belongs to user {owner}: expected this user or the owner of the directory"
            )),
        }
    }
}

/// Opens a file for reading.
///
/// # Errors
/// If there is no such file, or it is not a regular file of the directory.
pub fn open(path: &Path) -> Result<File, GuardedFileError> {
    open_with(path, OpenOptions::new().read(true))
}

/// Returns the contents of a file.
///
/// # Errors
/// If there is no such file, it cannot be read, or it is not a regular file of the directory.
pub fn read(path: &Path) -> Result<Vec<u8>, GuardedFileError> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes).map_err(failed(path))?;
    Ok(bytes)
}

/// Opens a file for reading, and for writing at its end. A missing file is created, readable by its
/// owner only.
///
/// # Errors
/// If the file cannot be opened or created, or is not a regular file of the directory.
pub fn open_append(path: &Path) -> Result<File, GuardedFileError> {
    open_with(
        path,
        OpenOptions::new().read(true).append(true).create(true),
    )
}

/// Opens a file for writing, as it is. A missing file is created, readable by its owner only.
///
/// # Errors
/// If the file cannot be opened or created, or is not a regular file of the directory.
pub fn open_or_create(path: &Path) -> Result<File, GuardedFileError> {
    open_with(path, OpenOptions::new().write(true).create(true))
}

/// Verifies that a name stands for a regular file of the directory, or for nothing.
///
/// # Errors
/// If it stands for anything else.
pub fn check(path: &Path) -> Result<(), GuardedFileError> {
    match fs::symlink_metadata(path) {
        Ok(found) => verify(path, &found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed(path)(error)),
    }
}

fn open_with(path: &Path, options: &mut OpenOptions) -> Result<File, GuardedFileError> {
    // Opening a device can act on it, so the kind is looked at first, and again at what was opened.
    check(path)?;
    let flags = i32::try_from(FLAGS.bits()).unwrap_or(i32::MAX);
    let opened = options.mode(0o600).custom_flags(flags).open(path);
    let file = opened.map_err(failed(path))?;
    verify(path, &file.metadata().map_err(failed(path))?)?;
    Ok(file)
}

fn verify(path: &Path, file: &Metadata) -> Result<(), GuardedFileError> {
    let path = path.to_owned();
    if let Some(found) = other_kind(file) {
        return Err(GuardedFileError::NotRegular { path, found });
    }
    if file.nlink() > 1 {
        let names = file.nlink();
        return Err(GuardedFileError::OtherNames { path, names });
    }
    let parent = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        Some(_) | None => Path::new("."),
    };
    let dir = fs::metadata(parent).map_err(failed(&path))?;
    let me = rustix::process::geteuid().as_raw();
    let is_open_to_group = dir.mode() & GROUP_WRITE != 0 && dir.gid() == file.gid();
    // No other user could put a file there.
    let is_private = dir.uid() == me && dir.mode() & WRITABLE_BY_OTHERS == 0;
    if file.uid() != me && file.uid() != dir.uid() && !is_open_to_group && !is_private {
        let owner = file.uid();
        return Err(GuardedFileError::Foreign { path, owner });
    }
    Ok(())
}

/// Returns the kind of a file. None for a regular file.
fn other_kind(file: &Metadata) -> Option<&'static str> {
    let kind = file.file_type();
    match kind {
        kind if kind.is_file() => None,
        kind if kind.is_symlink() => Some("a symbolic link"),
        kind if kind.is_dir() => Some("a directory"),
        kind if kind.is_fifo() => Some("a named pipe"),
        kind if kind.is_socket() => Some("a socket"),
        _ => Some("a device"),
    }
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> GuardedFileError {
    let path = path.to_owned();
    move |error| GuardedFileError::System { path, error }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    type Open = fn(&Path) -> Result<File, GuardedFileError>;

    /// Every way to open a file.
    const WAYS: [Open; 3] = [open, open_append, open_or_create];

    #[test]
    fn regular_file_is_read_and_written_at_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        assert!(open(&path).unwrap_err().is_not_found());
        for line in ["one\n", "two\n"] {
            open_append(&path)
                .unwrap()
                .write_all(line.as_bytes())
                .unwrap();
        }
        assert_eq!(read(&path).unwrap(), b"one\ntwo\n");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn link_pipe_and_directory_are_refused_without_waiting() {
        let dir = tempfile::tempdir().unwrap();
        let place = |name: &str| dir.path().join(name);
        fs::write(place("target"), "kept").unwrap();
        symlink(place("target"), place("link")).unwrap();
        symlink(place("nothing"), place("dangling")).unwrap();
        mknodat(
            CWD,
            place("pipe"),
            FileType::Fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        )
        .unwrap();
        fs::create_dir(place("dir")).unwrap();
        for (name, found) in [
            ("link", "a symbolic link"),
            ("dangling", "a symbolic link"),
            ("pipe", "a named pipe"),
            ("dir", "a directory"),
        ] {
            for way in WAYS {
                let error = way(&place(name)).unwrap_err().to_string();
                let expected = format!("{name}: expected a regular file, found {found}");
                assert!(error.ends_with(&expected), "{error}");
            }
        }
        assert_eq!(fs::read_to_string(place("target")).unwrap(), "kept");
        assert!(!place("nothing").exists());
    }

    #[test]
    fn file_of_another_user_is_opened_only_where_none_but_this_user_can_put_it() {
        if !tollgate_needs::root() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "text").unwrap();
        chown(&path, Some(1), Some(1)).unwrap();
        for (mode, is_opened) in [
            (0o700, true),
            (0o755, true),
            (0o707, false),
            (0o1777, false),
        ] {
            fs::set_permissions(dir.path(), Permissions::from_mode(mode)).unwrap();
            assert_eq!(open(&path).is_ok(), is_opened, "{mode:o}");
        }
    }

    #[test]
    fn file_with_another_name_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (path, other) = (dir.path().join("file"), dir.path().join("other"));
        fs::write(&other, "kept").unwrap();
        fs::hard_link(&other, &path).unwrap();
        for way in WAYS {
            let error = way(&path).unwrap_err();
            assert!(matches!(
                error,
                GuardedFileError::OtherNames { names: 2, .. }
            ));
        }
    }
}
