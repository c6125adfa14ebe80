//! Ownership of control groups. A runner holds a lock on its directories for its lifetime. A
//! directory without a lock belonged to a runner that was killed, and the next runner removes it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

/// The common prefix of the names of runners' directories.
pub(crate) const DIR_PREFIX: &str = "tollgate-runner-";

/// The maximum time to retry operations that only fail for a moment. They fail because of the lock of a
/// runner that is cleaning up, or the group of a thread that has just ended.
const RETRY_TIMEOUT: Duration = Duration::from_millis(500);
const RETRY_INTERVAL: Duration = Duration::from_millis(2);

/// A directory of control groups, locked by this runner.
#[derive(Debug)]
pub(crate) struct CgroupLock {
    pub(crate) dir: PathBuf,
    /// The lock is released when the file is closed, even if the process is killed.
    _lock: File,
}

impl CgroupLock {
    /// Creates the directory if necessary, and locks it.
    ///
    /// # Errors
    /// If the directory cannot be created, or another process has locked it.
    pub(crate) fn acquire(dir: PathBuf) -> io::Result<Self> {
        let began = Instant::now();
        loop {
            create_dir(&dir)?;
            match lock_dir(&dir) {
                Ok(lock) => return Ok(Self { dir, _lock: lock }),
                // The directory was removed in between, or is about to be removed.
                Err(error) if began.elapsed() >= RETRY_TIMEOUT => return Err(error),
                Err(_) => std::thread::sleep(RETRY_INTERVAL),
            }
        }
    }
}

/// Creates a directory that may exist already.
pub(crate) fn create_dir(dir: &Path) -> io::Result<()> {
    match fs::create_dir(dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Removes the groups of runners that have ended, as far as no process is in them.
pub(crate) fn remove_abandoned(above: &Path) {
    for entry in fs::read_dir(above).into_iter().flatten().flatten() {
        let is_one = entry.file_name().to_string_lossy().starts_with(DIR_PREFIX);
        if is_one && let Ok(_held) = lock_dir(&entry.path()) {
            remove_tree(&entry.path());
        }
    }
}

/// Removes a directory of control groups. Groups with processes stay.
pub(crate) fn remove_tree(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_with_retry(&entry.path());
        }
    }
    let _ = fs::remove_dir(dir);
}

/// Removes a group, with retries: a thread that was joined may still be in its groups for a moment.
fn remove_with_retry(dir: &Path) {
    let is_inhabited = || {
        let tasks = ["tasks", "cgroup.procs"].map(|file| fs::read(dir.join(file)));
        tasks.iter().flatten().any(|tasks| !tasks.is_empty())
    };
    let began = Instant::now();
    while fs::remove_dir(dir).is_err_and(|error| error.kind() == io::ErrorKind::ResourceBusy) {
        if is_inhabited() || began.elapsed() >= RETRY_TIMEOUT {
            return;
        }
        std::thread::sleep(RETRY_INTERVAL);
    }
}

/// Locks a directory, and checks that the locked directory still has this name.
fn lock_dir(dir: &Path) -> io::Result<File> {
    let file = File::open(dir)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    if fs::metadata(dir)?.ino() == file.metadata()?.ino() {
        return Ok(file);
    }
    Err(io::ErrorKind::NotFound.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unlocked_cgroup_dirs_are_removed() {
        let above = tempfile::tempdir().unwrap();
        let at = |name: &str| above.path().join(name);
        let held = CgroupLock::acquire(at("tollgate-runner-a")).unwrap();
        let left = CgroupLock::acquire(at("tollgate-runner-b")).unwrap();
        fs::create_dir(left.dir.join("0")).unwrap();
        fs::create_dir(at("somebody-else")).unwrap();
        drop(left);
        remove_abandoned(above.path());
        let is_there = |name: &str| at(name).exists();
        assert!(is_there("tollgate-runner-a") && is_there("somebody-else"));
        assert!(!is_there("tollgate-runner-b"));
        drop(held);
        remove_abandoned(above.path());
        assert!(!is_there("tollgate-runner-a"));
    }

    #[test]
    fn cgroup_dir_is_locked_by_one_runner_only() {
        let above = tempfile::tempdir().unwrap();
        let dir = above.path().join("tollgate-runner-a");
        let held = CgroupLock::acquire(dir.clone()).unwrap();
        assert!(CgroupLock::acquire(dir.clone()).is_err());
        drop(held);
        assert!(CgroupLock::acquire(dir).is_ok());
    }
}
