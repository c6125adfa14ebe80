//! The data directory of a service.

use std::convert::Infallible;
use std::fs::{self, DirBuilder, File, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tollgate_host::{
    FileIdentity, StateFileError, guarded, random_hex, read_state_file, replace_private,
};

/// Name of the file whose lock holds the directory.
const LOCK: &str = "lock";

/// Length of an identity, in random bytes.
const IDENTITY_LEN: usize = 16;

/// Maximum length of the path of a Unix socket, in bytes, without the NUL.
const MAX_SOCKET_PATH_LEN: usize = 107;

/// Name of the file with the boot of the host, in a data directory.
pub const BOOT: &str = "boot";
/// Name of the settings file in a data directory.
pub const SETTINGS: &str = "config.toml";
/// Permission bits of a data directory that root owns and an account writes to, by its group. The
/// account may rename and delete only its own files (sticky bit). Other users may pass through.
pub const ACCOUNT_DIR_MODE: u32 = 0o1771;

/// A locked data directory. No other service uses the directory while this value exists.
#[derive(Debug)]
pub struct DataDir {
    path: PathBuf,
    /// Whether root owns the directory and has prepared it for the account of this process.
    is_taken_over: bool,
    /// The lock file. The system releases the lock with the file, also when the process is killed.
    lock: File,
}

/// An error of a data directory.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// Another service uses the directory.
    #[error("{}: another service uses this directory", .0.display())]
    InUse(PathBuf),
    /// The directory belongs to another user.
    #[error("{}: the directory belongs to user {owner}: expected user {me}", path.display())]
    Foreign {
        /// The directory.
        path: PathBuf,
        /// User id of the owner.
        owner: u32,
        /// User id of this process.
        me: u32,
    },
    /// Other users may write to the directory.
    #[error("{}: mode {mode:03o}: expected a directory that others cannot write to", path.display())]
    WritableByOthers {
        /// The directory.
        path: PathBuf,
        /// Permission bits of the directory.
        mode: u32,
    },
    /// Root has prepared the directory for an account, which may write to it, and acts as itself.
    #[error("{}: prepared for an account, which may write to it: expected a directory of root alone", .0.display())]
    Prepared(PathBuf),
    /// Only root can serve all users.
    #[error("`users = \"all\"`: started by user {0}: expected root")]
    NotRoot(u32),
    /// Other users cannot reach the directory, or could replace it.
    #[error("{}: mode {mode:03o}: expected a directory that others can pass through but not write to", path.display())]
    UnsafePath {
        /// The directory, or one of its parents.
        path: PathBuf,
        /// Permission bits of the directory.
        mode: u32,
    },
    /// The path of the socket would exceed the system's limit.
    #[error("{}: the path is too long for the socket: expected at most {MAX_SOCKET_PATH_LEN} bytes", .0.display())]
    TooLong(PathBuf),
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

impl DataDirError {
    /// Returns what an operator can do about the error.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::InUse(_) => Some(
                "`tollgate status` shows whether it answers; or choose another directory with `--data`",
            ),
            Self::Foreign { .. } | Self::TooLong(_) => {
                Some("choose another directory with `--data`")
            }
            Self::Prepared(_) => Some(
                "move the directory away or name a new one with `--data`: a service for all users prepares it for its account again",
            ),
            Self::WritableByOthers { .. } => Some("remove the permissions with `chmod go-w`"),
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
    /// Locks the directory. Creates a missing directory, accessible only to this user.
    ///
    /// # Errors
    /// If the directory belongs to another user, others may write to it, or another service uses
    /// it.
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
        if me == 0 && mode == ACCOUNT_DIR_MODE {
            return Err(DataDirError::Prepared(path.clone()));
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
        let lock = guarded::open_or_create(&path.join(LOCK)).map_err(io::Error::from);
        let lock = lock.map_err(failed("the lock cannot be opened"))?;
        match lock.try_lock() {
            Ok(()) => {
                let dir = Self {
                    path: path.clone(),
                    is_taken_over,
                    lock,
                };
                dir.close_private_files()?;
                Ok(dir)
            }
            Err(TryLockError::WouldBlock) => Err(DataDirError::InUse(path.clone())),
            Err(TryLockError::Error(error)) => Err(failed("cannot be locked")(error)),
        }
    }

    /// Makes the socket, and nothing else, accessible to other users.
    ///
    /// # Errors
    /// If this process is not root and root has not prepared the directory, or if other users
    /// cannot pass through a parent directory or could replace one.
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

    /// Closes the files of the directory to other users, who may pass through it.
    fn close_private_files(&self) -> Result<(), DataDirError> {
        let failed = || self.failed("cannot be closed to others");
        // Root manages its own files in a directory that it has prepared.
        let me = rustix::process::geteuid().as_raw();
        for entry in fs::read_dir(&self.path).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            // Metadata of the entry itself: links are not followed.
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

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the store.
    pub fn store(&self) -> PathBuf {
        store(&self.path)
    }

    /// Returns the file that marks a restored store until a service has started with it.
    pub fn restored_marker(&self) -> PathBuf {
        self.path.join("restored")
    }

    /// Returns the boot of the host during which a service last ran here; None if no service recorded it.
    ///
    /// # Errors
    /// If the file cannot be read or is no text.
    pub fn last_boot(&self) -> Result<Option<String>, StateFileError> {
        read_boot(&self.path)
    }

    /// Records the boot of the host durably.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn record_boot(&self, id: &str) -> io::Result<()> {
        replace_private(&self.path.join(BOOT), id.as_bytes())
    }

    /// Returns whether a service has run in this directory before: then it has an identity.
    pub fn has_served(&self) -> bool {
        identity(&self.path).exists()
    }

    /// Returns whether the directory was deleted or replaced: then no client finds the service.
    pub fn is_gone(&self) -> bool {
        let ours = FileIdentity::of_open(&self.lock);
        let there = FileIdentity::of(&self.path.join(LOCK));
        match (ours, there) {
            (Ok(ours), Ok(there)) => ours != there,
            (_, Err(error)) => error.kind() == io::ErrorKind::NotFound,
            (Err(_), Ok(_)) => false,
        }
    }

    /// Returns the file with the accounts of users, of a service for all users.
    pub fn accounts(&self) -> PathBuf {
        accounts(&self.path)
    }

    /// Returns the file of created tokens, which holds their fingerprints.
    pub fn tokens(&self) -> PathBuf {
        tokens(&self.path)
    }

    /// Returns the file of the certificate that is created if the settings name none.
    pub fn certificate(&self) -> PathBuf {
        certificate(&self.path)
    }

    /// Returns the file of the private key of that certificate.
    pub fn certificate_key(&self) -> PathBuf {
        certificate_key(&self.path)
    }

    /// Returns the engine's directory.
    pub fn engine_dir(&self) -> PathBuf {
        engine_dir_in(&self.path)
    }

    /// Returns the unique identifier of this service, and creates it at the first call.
    ///
    /// # Errors
    /// If the identifier cannot be read or stored.
    pub fn identity(&self) -> Result<String, StateFileError> {
        if let Some(known) = read_identity(&self.path)? {
            return Ok(known);
        }
        let path = identity(&self.path);
        let random = random_identity().and_then(|random| {
            replace_private(&path, random.as_bytes())?;
            Ok(random)
        });
        random.map_err(|error| StateFileError::Write { path, error })
    }

    /// Returns the file that lists every worker ever registered.
    pub fn workers(&self) -> PathBuf {
        workers(&self.path)
    }

    /// Returns the directory of the outputs that are kept of tasks on other hosts.
    pub fn outputs(&self) -> PathBuf {
        outputs(&self.path)
    }

    /// Returns the path of the socket for clients.
    pub fn socket(&self) -> PathBuf {
        socket(&self.path)
    }

    /// Returns the path of the socket on which jobs ask for processes on their other hosts.
    pub fn part_socket(&self) -> PathBuf {
        self.path.join("spread")
    }
}

/// Checks that other users can pass through every parent of a directory, and that only root can
/// replace one.
///
/// # Errors
/// If a parent directory fails the check.
pub fn check_parents(dir: &Path) -> Result<(), DataDirError> {
    for above in dir.ancestors().skip(1) {
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

/// Returns the engine's directory in a data directory.
pub fn engine_dir_in(dir: &Path) -> PathBuf {
    dir.join("runner")
}

/// Returns a new random identity of a service or worker, in hexadecimal.
///
/// # Errors
/// If the system has no random bytes.
pub fn random_identity() -> io::Result<String> {
    random_hex::<IDENTITY_LEN>()
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Returns the store in a data directory.
pub fn store(dir: &Path) -> PathBuf {
    dir.join("tollgate.db")
}

/// Returns the file with the identity of the service, in a data directory.
pub fn identity(dir: &Path) -> PathBuf {
    dir.join("identity")
}

/// Returns the identity of the service of a data directory. None if no service has run there.
///
/// # Errors
/// If the file cannot be read, or is no identity.
pub fn read_identity(dir: &Path) -> Result<Option<String>, StateFileError> {
    read_state_file(&identity(dir), |text| {
        let is_one = text.len() == 2 * IDENTITY_LEN && text.bytes().all(|b| b.is_ascii_hexdigit());
        match is_one {
            true => Ok(text.to_owned()),
            false => Err(format!("expected {} hexadecimal digits", 2 * IDENTITY_LEN)),
        }
    })
}

/// Returns the boot of the host during which a service last ran in a data directory. None if no service
/// recorded it.
///
/// # Errors
/// If the file cannot be read or is no text.
pub fn read_boot(dir: &Path) -> Result<Option<String>, StateFileError> {
    read_state_file(&dir.join(BOOT), |text| {
        Ok::<_, Infallible>(text.trim().to_owned())
    })
}

/// Returns the file with the accounts of users, in a data directory.
pub fn accounts(dir: &Path) -> PathBuf {
    dir.join("accounts.toml")
}

/// Returns the file of created tokens in a data directory.
pub fn tokens(dir: &Path) -> PathBuf {
    dir.join("tokens.toml")
}

/// Returns the file that lists every worker ever registered, in a data directory.
pub fn workers(dir: &Path) -> PathBuf {
    dir.join("workers.json")
}

/// Returns the file of the certificate that a service creates in its data directory.
pub fn certificate(dir: &Path) -> PathBuf {
    dir.join("server.crt")
}

/// Returns the file of the private key of that certificate.
pub fn certificate_key(dir: &Path) -> PathBuf {
    dir.join("server.key")
}

/// Returns the file in a data directory with the address and the key under which the service is
/// reached over the network. There is no such file if the service does not listen there.
pub fn network_address(dir: &Path) -> PathBuf {
    dir.join("network.json")
}

/// Returns the file of the sessions of the window, which holds their fingerprints, in a data directory.
pub fn window_sessions(dir: &Path) -> PathBuf {
    dir.join("window.json")
}

/// Returns the directory of the outputs that are kept, in a data directory.
pub fn outputs(dir: &Path) -> PathBuf {
    dir.join("outputs")
}

/// Returns the socket of the terminal of a session, in the data directory of the session's service.
pub fn terminal(dir: &Path) -> PathBuf {
    dir.join("terminal.sock")
}

/// Returns the socket in a data directory.
pub fn socket(dir: &Path) -> PathBuf {
    dir.join("socket")
}
