//! Whose control groups are whose: a runner holds a lock on the folders of its own for as long as it
//! lives. Folders that nobody holds belonged to runners that were killed, and are cleared away by
//! whichever runner comes next.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

/// What the folders of runners are called, before what tells one from another.
pub(super) const DIR_PREFIX: &str = "tollgate-runner-";

/// How long to try again what only holds for a moment: a lock of somebody who is clearing up, a
/// group of a thread that has just ended.
const RETRY_TIMEOUT: Duration = Duration::from_millis(500);
const RETRY_INTERVAL: Duration = Duration::from_millis(2);

/// A folder of control groups that is held.
#[derive(Debug)]
pub(super) struct CgroupLock {
    pub(super) dir: PathBuf,
    /// The lock is let go with the file, also when the process is killed.
    _lock: File,
}

impl CgroupLock {
    /// Makes the folder if need be, and holds it.
    ///
    /// # Errors
    /// If it cannot be made, or somebody else holds it.
    pub(super) fn acquire(dir: PathBuf) -> io::Result<Self> {
        let began = Instant::now();
        loop {
            create_dir(&dir)?;
            match lock_dir(&dir) {
                Ok(lock) => return Ok(Self { dir, _lock: lock }),
                // It was removed in between, or is about to be.
                Err(error) if began.elapsed() >= RETRY_TIMEOUT => return Err(error),
                Err(_) => std::thread::sleep(RETRY_INTERVAL),
            }
        }
    }
}

/// Makes a folder that may be there.
pub(super) fn create_dir(dir: &Path) -> io::Result<()> {
    match fs::create_dir(dir) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Removes what runners left behind that are gone, as far as nobody is in it any more.
pub(super) fn remove_abandoned(above: &Path) {
    for entry in fs::read_dir(above).into_iter().flatten().flatten() {
        let is_one = entry.file_name().to_string_lossy().starts_with(DIR_PREFIX);
        if is_one && let Ok(_held) = lock_dir(&entry.path()) {
            remove_tree(&entry.path());
        }
    }
}

/// Removes a folder of control groups. Groups that somebody is in stay.
pub(super) fn remove_tree(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_with_retry(&entry.path());
        }
    }
    let _ = fs::remove_dir(dir);
}

/// A thread that was waited for may still be in its groups for a moment.
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

/// Holds a folder that is still the one of this name once it is held.
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
    fn what_nobody_holds_is_swept_and_the_rest_is_left() {
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
    fn a_folder_is_held_once() {
        let above = tempfile::tempdir().unwrap();
        let dir = above.path().join("tollgate-runner-a");
        let held = CgroupLock::acquire(dir.clone()).unwrap();
        assert!(CgroupLock::acquire(dir.clone()).is_err());
        drop(held);
        assert!(CgroupLock::acquire(dir).is_ok());
    }
}
