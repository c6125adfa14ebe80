//! The runner's directory: its lock, its socket and its journal.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use tollgate_engine::EngineError;
use tollgate_host::FileIdentity;

use crate::started_files::StartedFiles;

/// Name of the file whose lock holds the directory.
const LOCK: &str = "lock";

/// The maximum time that a new runner waits for the last children of the runner before it.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// The directory, locked by this runner.
pub(crate) struct RunnerStateDir {
    path: PathBuf,
    started_files: Arc<StartedFiles>,
    /// The lock, held for the lifetime of the runner, and by each of its children until its program
    /// has replaced it. So when a new runner gets the lock, no child is still being started.
    lock: File,
}

impl RunnerStateDir {
    /// Locks the directory. None if another runner holds it.
    pub(crate) fn acquire(path: &Path) -> Result<Option<Self>, EngineError> {
        let failed = |path: PathBuf, step| move |source| EngineError::Setup { path, step, source };
        make_private(path).map_err(failed(path.to_owned(), "making it"))?;
        let lock_path = path.join(LOCK);
        let mut options = OpenOptions::new();
        let lock = options
            .create(true)
            .truncate(false)
            .write(true)
            .mode(FILE_MODE)
            .open(&lock_path);
        let lock = lock.map_err(failed(lock_path, "opening it"))?;
        if !lock_with_retry(&lock) {
            return Ok(None);
        }
        Ok(Some(Self {
            path: path.to_owned(),
            started_files: Arc::new(StartedFiles::open(path)?),
            lock,
        }))
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.path.join("journal")
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) const fn started_files(&self) -> &Arc<StartedFiles> {
        &self.started_files
    }

    /// Returns the path of the lease file.
    pub(crate) fn lease_path(&self) -> PathBuf {
        lease_path(&self.path)
    }

    /// Returns whether the directory was removed; then no service can ever find this runner again.
    pub(crate) fn is_removed(&self) -> bool {
        self.lock.metadata().is_ok_and(|lock| lock.nlink() == 0)
    }

    /// Opens the socket for services.
    pub(crate) fn listen(&self) -> io::Result<UnixListener> {
        let open = File::open(&self.path)?;
        match fs::remove_file(socket_path(&self.path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let listener = UnixListener::bind(proc_fd_path(&open))?;
        set_mode(&proc_fd_path(&open), SOCKET_MODE)?;
        Ok(listener)
    }

    /// Removes the socket, unless the directory was replaced: then it is the socket of another runner.
    pub(crate) fn remove_socket(&self) {
        let own = FileIdentity::of_open(&self.lock);
        let there = FileIdentity::of(&self.path.join(LOCK));
        if own.is_ok_and(|own| there.is_ok_and(|there| own == there)) {
            let _ = fs::remove_file(socket_path(&self.path));
        }
    }
}

/// The mode of the socket: the runner's own user and root may connect.
const SOCKET_MODE: u32 = 0o600;

/// The mode of every other file in the directory.
pub(crate) const FILE_MODE: u32 = 0o600;

/// Sets the mode of a file, which may differ if an earlier release created it.
pub(crate) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

/// Returns the path of the lease file of the runner in `folder`.
pub(crate) fn lease_path(folder: &Path) -> PathBuf {
    folder.join("lease")
}

/// Returns the path of the socket of the runner in `folder`.
pub fn socket_path(folder: &Path) -> PathBuf {
    folder.join("socket")
}

/// Returns a path to the socket in an open directory that is short enough for the operating system
/// at any depth of the directory: an address may have 107 bytes.
pub(crate) fn proc_fd_path(folder: &File) -> PathBuf {
    socket_path(Path::new(&format!("/proc/self/fd/{}", folder.as_raw_fd())))
}

/// Creates a directory that only its owner can enter, or checks that an existing one is private.
pub(crate) fn make_private(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        result => return result,
    }
    let found = fs::symlink_metadata(path)?;
    let ours = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
    if ours && found.mode() & 0o077 == 0 {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::PermissionDenied,
        "expected a directory of this user with mode 0700",
    ))
}

fn lock_with_retry(lock: &File) -> bool {
    let began = Instant::now();
    while flock(lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        if began.elapsed() >= LOCK_TIMEOUT {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}
