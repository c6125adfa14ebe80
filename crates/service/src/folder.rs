//! The folder that a service keeps its data in.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The longest path of a Unix socket, in bytes: the system's, less the NUL.
const LONGEST_SOCKET: usize = 107;

/// A data folder that is locked: no other service uses it for as long as this lives.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// The lock is let go with the file, also when the process is killed.
    _lock: File,
}

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Another service uses it.
    #[error("{}: another service uses this folder", .0.display())]
    InUse(PathBuf),
    /// It belongs to somebody else.
    #[error("{}: the folder belongs to user {owner}, not to user {me}", path.display())]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Who runs this.
        me: u32,
    },
    /// Others may write to it.
    #[error("{}: expected a folder that others cannot write to, found mode {mode:03o}", path.display())]
    Open {
        /// The folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Only root can serve everybody.
    #[error("`users = \"all\"`: expected root to serve, found user {0}")]
    NotRoot(u32),
    /// Others cannot get at it, or could put another in its place.
    #[error("{}: expected a folder that others can pass through and not write to, found mode {mode:03o}", path.display())]
    Way {
        /// The folder, or one that it is in.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The path of the socket in it would be too long for the system.
    #[error("{}: expected a path of at most {LONGEST_SOCKET} bytes for the socket", .0.display())]
    TooLong(PathBuf),
    /// The system says no.
    #[error("{}: {action}: {error}", path.display())]
    System {
        /// The file or folder.
        path: PathBuf,
        /// What was being done.
        action: &'static str,
        /// What it said.
        error: io::Error,
    },
}

impl FolderError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::InUse(_) => Some(
                "`tollgate status` shows whether it answers; or choose another folder with `--data`",
            ),
            Self::Foreign { .. } | Self::TooLong(_) => Some("choose another folder with `--data`"),
            Self::Open { .. } => Some("take the rights away with `chmod go-w`"),
            Self::NotRoot(_) => Some("each user can run a service of their own: `users = \"own\"`"),
            Self::Way { .. } => Some("choose a folder such as /var/lib/tollgate with `--data`"),
            Self::System { .. } => None,
        }
    }
}

impl Folder {
    /// Locks the folder; makes it, for nobody but this user, if it is not there.
    ///
    /// # Errors
    /// If it belongs to somebody else, others may write to it, or another service uses it.
    pub fn lock(path: &Path) -> Result<Self, FolderError> {
        let failed = |action| {
            move |error| FolderError::System {
                path: path.to_owned(),
                action,
                error,
            }
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path)
            .map_err(failed("cannot be made"))?;
        let path = &fs::canonicalize(path).map_err(failed("cannot be found"))?;
        let metadata = fs::metadata(path).map_err(failed("cannot be looked at"))?;
        let me = rustix::process::geteuid().as_raw();
        if metadata.uid() != me {
            return Err(FolderError::Foreign {
                path: path.clone(),
                owner: metadata.uid(),
                me,
            });
        }
        let mode = metadata.mode() & 0o777;
        if mode & 0o022 != 0 {
            return Err(FolderError::Open {
                path: path.clone(),
                mode,
            });
        }
        if socket(path).as_os_str().len() > LONGEST_SOCKET {
            return Err(FolderError::TooLong(socket(path)));
        }
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(path.join("lock"))
            .map_err(failed("the lock cannot be opened"))?;
        match lock.try_lock() {
            Ok(()) => {
                let folder = Self {
                    path: path.clone(),
                    _lock: lock,
                };
                folder.close_files()?;
                Ok(folder)
            }
            Err(TryLockError::WouldBlock) => Err(FolderError::InUse(path.clone())),
            Err(TryLockError::Error(error)) => Err(failed("cannot be locked")(error)),
        }
    }

    /// Opens the way to the socket for other users, and to nothing else.
    ///
    /// # Errors
    /// If this is not root, or the way here cannot be gone by others, or could be bent by them.
    pub fn share(&self) -> Result<(), FolderError> {
        let me = rustix::process::geteuid();
        if !me.is_root() {
            return Err(FolderError::NotRoot(me.as_raw()));
        }
        for above in self.path.ancestors().skip(1) {
            let metadata = fs::metadata(above).map_err(self.failed("cannot be looked at"))?;
            let mode = metadata.mode() & 0o7777;
            let ours_stays = mode & 0o022 == 0 || mode & 0o1000 != 0;
            if metadata.uid() != 0 || mode & 0o001 == 0 || !ours_stays {
                let path = above.to_owned();
                return Err(FolderError::Way { path, mode });
            }
        }
        set_mode(&self.path, 0o711).map_err(self.failed("cannot be opened to others"))
    }

    /// What is in it is nobody else's to read, whoever may pass through.
    fn close_files(&self) -> Result<(), FolderError> {
        let failed = || self.failed("cannot be closed to others");
        for entry in fs::read_dir(&self.path).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            // Not of what a link leads to.
            let metadata = entry.metadata().map_err(failed())?;
            if metadata.is_file() && metadata.mode() & 0o077 != 0 {
                set_mode(&entry.path(), metadata.mode() & 0o700).map_err(failed())?;
            }
        }
        Ok(())
    }

    fn failed(&self, action: &'static str) -> impl FnOnce(io::Error) -> FolderError {
        let path = self.path.clone();
        move |error| FolderError::System {
            path,
            action,
            error,
        }
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The store.
    pub fn store(&self) -> PathBuf {
        self.path.join("tollgate.db")
    }

    /// Where the engine keeps its own.
    pub fn engine(&self) -> PathBuf {
        self.path.join("runner")
    }

    /// Where copies of scripts are kept.
    pub fn scripts(&self) -> PathBuf {
        self.path.join("scripts")
    }

    /// The socket that clients find the service at.
    pub fn socket(&self) -> PathBuf {
        socket(&self.path)
    }
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// The socket of the service in a folder.
pub fn socket(folder: &Path) -> PathBuf {
    folder.join("socket")
}
