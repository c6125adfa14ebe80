//! The folder in which a runner lives: its lock, its socket, its journal and the `started` files.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use crate::{AttemptKey, EngineError};

/// How long a new runner waits for what is left of the one before it.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// The folder, held by this runner.
pub(super) struct RunnerStateDir {
    path: PathBuf,
    attempts: Arc<OwnedFd>,
    /// Held for as long as the runner lives, and by each of its children until its program has
    /// replaced it: whoever gets the lock knows that no child is on its way into being.
    lock: File,
}

impl RunnerStateDir {
    /// Takes the folder. None if another runner has it.
    pub(super) fn acquire(path: &Path) -> Result<Option<Self>, EngineError> {
        let failed = |path: PathBuf, step| move |source| EngineError::Setup { path, step, source };
        make_private(path).map_err(failed(path.to_owned(), "making it"))?;
        let attempts = path.join("attempts");
        make_private(&attempts).map_err(failed(attempts.clone(), "making it"))?;
        let lock_path = path.join("lock");
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
        let open = File::open(&attempts).map_err(failed(attempts, "opening it"))?;
        Ok(Some(Self {
            path: path.to_owned(),
            attempts: Arc::new(open.into()),
            lock,
        }))
    }

    pub(super) fn journal(&self) -> PathBuf {
        self.path.join("journal")
    }

    pub(super) fn attempts_fd(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.attempts)
    }

    /// Where it stands until when what runs may go on.
    pub(super) fn lease_path(&self) -> PathBuf {
        lease_path(&self.path)
    }

    /// The `started` file of an attempt.
    pub(super) fn started_file(&self, attempt: AttemptKey) -> PathBuf {
        self.path.join("attempts").join(attempt.to_string())
    }

    /// Every `started` file there is.
    pub(super) fn started_files(&self) -> Vec<PathBuf> {
        started_files(&self.path)
    }

    /// Whether it was removed: no service can ever find this runner again.
    pub(super) fn is_removed(&self) -> bool {
        self.lock.metadata().is_ok_and(|lock| lock.nlink() == 0)
    }

    /// Opens the door to services.
    pub(super) fn listen(&self) -> io::Result<UnixListener> {
        let open = File::open(&self.path)?;
        match fs::remove_file(socket_path(&self.path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let listener = UnixListener::bind(proc_fd_path(&open))?;
        set_mode(&proc_fd_path(&open), SOCKET_MODE)?;
        Ok(listener)
    }

    /// Closes it.
    pub(super) fn remove_socket(&self) {
        let _ = fs::remove_file(socket_path(&self.path));
    }
}

/// Who may connect to the runner: its own user and root.
const SOCKET_MODE: u32 = 0o600;

/// The mode of every other file in the folder.
pub(crate) const FILE_MODE: u32 = 0o600;

/// Gives a file its mode, which it may not have if an earlier release made it.
pub(crate) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

/// Where it stands until when what the runner in `folder` runs may go on.
pub(super) fn lease_path(folder: &Path) -> PathBuf {
    folder.join("lease")
}

/// Every `started` file of the runner in `folder`.
pub(super) fn started_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join("attempts"));
    let entries = entries.into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// The socket of the runner that lives in `folder`.
pub(crate) fn socket_path(folder: &Path) -> PathBuf {
    folder.join("socket")
}

/// A way to the socket in an open folder that is short enough for the operating system, however
/// deep the folder lies: an address may have 107 bytes.
pub(crate) fn proc_fd_path(folder: &File) -> PathBuf {
    socket_path(Path::new(&format!("/proc/self/fd/{}", folder.as_raw_fd())))
}

/// Makes a folder that only its owner can enter, or checks that it is one.
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
