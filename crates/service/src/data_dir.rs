//! The folder that a service keeps its data in.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::workers;

use crate::net::certificate::CertificateFiles;

/// The longest path of a Unix socket, in bytes: the system's, less the NUL.
const MAX_SOCKET_PATH_LEN: usize = 107;

/// The settings in a data folder.
pub const SETTINGS: &str = "config.toml";
/// The permission bits of a data folder of root's that an account writes to, by its group. The account may rename
/// and delete its own files alone (sticky); others pass through.
pub(crate) const ACCOUNT_DIR_MODE: u32 = 0o1771;

/// Who may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePermissions {
    /// Everybody.
    Public,
    /// Its owner, and a group that was trusted with it.
    Private,
}

/// A data folder that is locked: no other service uses it for as long as this lives.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    /// Whether it is root's, and prepared for the account that this is.
    is_taken_over: bool,
    /// The lock is let go with the file, also when the process is killed.
    lock: File,
}

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// Another service uses it.
    #[error("{}: another service uses this directory", .0.display())]
    InUse(PathBuf),
    /// It belongs to somebody else.
    #[error("{}: the directory belongs to user {owner}: expected user {me}", path.display())]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Who runs this.
        me: u32,
    },
    /// Others may write to it.
    #[error("{}: mode {mode:03o}: expected a directory that others cannot write to", path.display())]
    WritableByOthers {
        /// The folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Only root can serve everybody.
    #[error("`users = \"all\"`: started by user {0}: expected root")]
    NotRoot(u32),
    /// Others cannot get at it, or could put another in its place.
    #[error("{}: mode {mode:03o}: expected a directory that others can pass through but not write to", path.display())]
    UnsafePath {
        /// The folder, or one that it is in.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// A file is not ours, or others may change it, or read what they must not.
    #[error("{}: owner {owner}, mode {mode:03o}: expected a file that only user {me} and root can {expected}", path.display())]
    File {
        /// The file, or the folder that it is in.
        path: PathBuf,
        /// What nobody else may do.
        expected: &'static str,
        /// Whose it is.
        owner: u32,
        /// Its permission bits.
        mode: u32,
        /// Who runs this.
        me: u32,
    },
    /// The path of the socket in it would be too long for the system.
    #[error("{}: the path is too long for the socket: expected at most {MAX_SOCKET_PATH_LEN} bytes", .0.display())]
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

impl DataDirError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::InUse(_) => Some(
                "`tollgate status` shows whether it answers; or choose another directory with `--data`",
            ),
            Self::Foreign { .. } | Self::TooLong(_) => {
                Some("choose another directory with `--data`")
            }
            Self::WritableByOthers { .. } => Some("remove the permissions with `chmod go-w`"),
            Self::File { .. } => Some("change the mode with `chmod`, or the owner with `chown`"),
            Self::NotRoot(_) => {
                Some("set `users = \"own\"`: each user can run a service of their own")
            }
            Self::UnsafePath { .. } => {
                Some("choose a directory such as /var/lib/tollgate with `--data`")
            }
            Self::System { .. } => None,
        }
    }
}

impl DataDir {
    /// Locks the folder; makes it, for nobody but this user, if it is not there.
    ///
    /// # Errors
    /// If it belongs to somebody else, others may write to it, or another service uses it.
    pub fn lock(path: &Path) -> Result<Self, DataDirError> {
        let failed = |action| {
            move |error| DataDirError::System {
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
        let mode = metadata.mode() & 0o7777;
        let is_ours = metadata.gid() == rustix::process::getegid().as_raw();
        let is_taken_over = me != 0 && metadata.uid() == 0 && is_ours && mode == ACCOUNT_DIR_MODE;
        if metadata.uid() != me && !is_taken_over {
            return Err(DataDirError::Foreign {
                path: path.clone(),
                owner: metadata.uid(),
                me,
            });
        }
        if mode & 0o022 != 0 && !is_taken_over {
            return Err(DataDirError::WritableByOthers {
                path: path.clone(),
                mode: mode & 0o777,
            });
        }
        if socket(path).as_os_str().len() > MAX_SOCKET_PATH_LEN {
            return Err(DataDirError::TooLong(socket(path)));
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
                    is_taken_over,
                    lock,
                };
                folder.close_private_files()?;
                Ok(folder)
            }
            Err(TryLockError::WouldBlock) => Err(DataDirError::InUse(path.clone())),
            Err(TryLockError::Error(error)) => Err(failed("cannot be locked")(error)),
        }
    }

    /// Opens the way to the socket for other users, and to nothing else.
    ///
    /// # Errors
    /// If this is not root, and root has not prepared it, or the way here cannot be gone by others, or could
    /// be bent by them.
    pub fn open_to_users(&self) -> Result<(), DataDirError> {
        if self.is_taken_over {
            return Ok(());
        }
        let me = rustix::process::geteuid();
        if !me.is_root() {
            return Err(DataDirError::NotRoot(me.as_raw()));
        }
        check_parents(&self.path)?;
        set_mode(&self.path, 0o711).map_err(self.failed("cannot be opened to others"))
    }

    /// What is in it is nobody else's to read, whoever may pass through.
    fn close_private_files(&self) -> Result<(), DataDirError> {
        let failed = || self.failed("cannot be closed to others");
        // Where root has prepared the folder, its own files are root's matter.
        let me = rustix::process::geteuid().as_raw();
        for entry in fs::read_dir(&self.path).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            // Not of what a link leads to.
            let metadata = entry.metadata().map_err(failed())?;
            let is_ours = metadata.is_file() && metadata.uid() == me;
            if is_ours && metadata.mode() & 0o077 != 0 {
                set_mode(&entry.path(), metadata.mode() & 0o700).map_err(failed())?;
            }
        }
        Ok(())
    }

    fn failed(&self, action: &'static str) -> impl FnOnce(io::Error) -> DataDirError {
        let path = self.path.clone();
        move |error| DataDirError::System {
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
        store(&self.path)
    }

    /// Returns the file that marks a restored store until a service has started with it.
    pub fn restored_marker(&self) -> PathBuf {
        self.path.join("restored")
    }

    /// Returns whether a service has run in this directory before: then it has an identity.
    pub(crate) fn has_served(&self) -> bool {
        self.path.join("identity").exists()
    }

    /// Returns whether the directory was deleted or replaced: then no client finds the service.
    pub(crate) fn is_gone(&self) -> bool {
        let ours = self.lock.metadata();
        let there = fs::metadata(self.path.join("lock"));
        let name = |file: fs::Metadata| (file.dev(), file.ino());
        match (ours, there) {
            (Ok(ours), Ok(there)) => name(ours) != name(there),
            (_, Err(error)) => error.kind() == io::ErrorKind::NotFound,
            (Err(_), Ok(_)) => false,
        }
    }

    /// Tokens that were made, by what they are known by.
    pub fn tokens(&self) -> PathBuf {
        self.path.join("tokens.toml")
    }

    /// The certificate that is made where the settings name none, and its key.
    pub fn certificate(&self) -> CertificateFiles {
        CertificateFiles {
            certificate: self.path.join("server.crt"),
            key: self.path.join("server.key"),
        }
    }

    /// Where the engine keeps its own.
    pub fn engine_dir(&self) -> PathBuf {
        engine_dir_in(&self.path)
    }

    /// What tells the service of this folder from every other; drawn when it is first asked for.
    ///
    /// # Errors
    /// If it cannot be read or kept.
    pub fn identity(&self) -> io::Result<String> {
        let path = self.path.join("identity");
        match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let drawn = workers::daemon::random_identity()?;
                workers::replace_private_file(&path, drawn.as_bytes())?;
                Ok(drawn)
            }
            read => read,
        }
    }

    /// Who has ever offered nodes.
    pub fn workers(&self) -> PathBuf {
        self.path.join("workers.json")
    }

    /// The socket that clients find the service at.
    pub fn socket(&self) -> PathBuf {
        socket(&self.path)
    }
}

/// Checks that others can pass through all that leads to a folder, and that root alone can bend it.
///
/// # Errors
/// If one of those that it is in is not so.
pub(crate) fn check_parents(folder: &Path) -> Result<(), DataDirError> {
    for above in folder.ancestors().skip(1) {
        let metadata = fs::metadata(above).map_err(|error| DataDirError::System {
            path: above.to_owned(),
            action: "cannot be looked at",
            error,
        })?;
        let mode = metadata.mode() & 0o7777;
        let ours_stays = mode & 0o022 == 0 || mode & 0o1000 != 0;
        if metadata.uid() != 0 || mode & 0o001 == 0 || !ours_stays {
            let path = above.to_owned();
            return Err(DataDirError::UnsafePath { path, mode });
        }
    }
    Ok(())
}

/// Where the engine of a data folder keeps its own.
pub(crate) fn engine_dir_in(folder: &Path) -> PathBuf {
    folder.join("runner")
}

/// Checks that nobody but root and this user may change an open file, and that not everybody may
/// read it if it is private.
///
/// # Errors
/// If it is somebody else's, or its permissions say otherwise.
pub fn check_file(file: &File, path: &Path, secrecy: FilePermissions) -> Result<(), DataDirError> {
    let metadata = file.metadata().map_err(|error| DataDirError::System {
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
    Err(DataDirError::File {
        path: path.to_owned(),
        expected,
        owner,
        mode,
        me,
    })
}

/// Checks that nobody but root and this user may put another file in a folder in the place of one
/// that is there.
///
/// # Errors
/// If it is somebody else's, or others may change it.
pub fn check_parent_dir(folder: &Path) -> Result<(), DataDirError> {
    let failed = |error| DataDirError::System {
        path: folder.to_owned(),
        action: "cannot be looked at",
        error,
    };
    let file = File::open(folder).map_err(failed)?;
    let sticky = file.metadata().map_err(failed)?.mode() & 0o1000 != 0;
    match check_file(&file, folder, FilePermissions::Public) {
        // In such a folder only its own owner may move a file away.
        Err(_) if sticky => Ok(()),
        checked => checked,
    }
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// The store of the service in a folder.
pub fn store(folder: &Path) -> PathBuf {
    folder.join("tollgate.db")
}

/// The socket of the service in a folder.
pub fn socket(folder: &Path) -> PathBuf {
    folder.join("socket")
}
