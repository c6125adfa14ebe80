//! The `started` files: one for each attempt whose program may have been started.
//!
//! The file of an acknowledged attempt becomes a *spare*, which a later attempt fills and renames,
//! because file systems take much longer to create and to remove a file.

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{AtFlags, renameat, unlinkat};
use tollgate_engine::EngineError;
use tollgate_model::AttemptId;

use crate::state_dir::make_private;

/// The directories in the runner's own.
const STARTED_DIR: &str = "attempts";
const SPARE_DIR: &str = "spares";

/// The maximum number of spares: more than end between two acknowledgements.
const MAX_SPARES: usize = 256;

/// The open directories, and the names of the spares.
pub(crate) struct StartedFiles {
    /// The directory of the `started` files.
    pub(crate) dir: OwnedFd,
    /// The directory of the spares; the same one if there are none.
    pub(crate) spare_dir: OwnedFd,
    max_spares: usize,
    spares: Mutex<Vec<CString>>,
}

impl StartedFiles {
    /// Opens the directories of the runner in `folder`, and creates them if necessary.
    pub(crate) fn open(folder: &Path) -> Result<Self, EngineError> {
        let failed = |path: &Path, step| {
            let path = path.to_owned();
            move |source| EngineError::Setup { path, step, source }
        };
        let open = |name| {
            let path = folder.join(name);
            make_private(&path).map_err(failed(&path, "making it"))?;
            let dir = File::open(&path).map_err(failed(&path, "opening it"))?;
            Ok::<_, EngineError>((path, OwnedFd::from(dir)))
        };
        let (_, dir) = open(STARTED_DIR)?;
        let (path, spare_dir) = open(SPARE_DIR)?;
        let names =
            file_names(&path).filter_map(|name| CString::new(name.into_encoded_bytes()).ok());
        Ok(Self {
            dir,
            spare_dir,
            max_spares: MAX_SPARES,
            spares: Mutex::new(names.take(MAX_SPARES).collect()),
        })
    }

    /// Opens a directory for the file of one attempt, without spares.
    pub(crate) fn for_one_attempt(folder: &Path) -> io::Result<Self> {
        let dir = OwnedFd::from(File::open(folder)?);
        Ok(Self {
            spare_dir: dir.try_clone()?,
            dir,
            max_spares: 0,
            spares: Mutex::default(),
        })
    }

    /// Takes the name of a spare, if there is one. The next runner finds a spare again that is not
    /// used.
    pub(crate) fn take_spare(&self) -> Option<CString> {
        self.lock_spares().pop()
    }

    /// Makes the file of an attempt that was acknowledged a spare, or removes it. An attempt that
    /// never started has none.
    pub(crate) fn release(&self, attempt: AttemptId) {
        let name = attempt.to_string();
        let mut spares = self.lock_spares();
        if spares.len() < self.max_spares
            && renameat(&self.dir, &name, &self.spare_dir, &name).is_ok()
        {
            spares.extend(CString::new(name));
            return;
        }
        let _ = unlinkat(&self.dir, name.as_str(), AtFlags::empty());
    }

    fn lock_spares(&self) -> MutexGuard<'_, Vec<CString>> {
        self.spares.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the path of the `started` file of an attempt of the runner in `folder`.
pub(crate) fn path(folder: &Path, attempt: AttemptId) -> PathBuf {
    folder.join(STARTED_DIR).join(attempt.to_string())
}

/// Returns the paths of all `started` files of the runner in `folder`.
pub(crate) fn paths(folder: &Path) -> Vec<PathBuf> {
    let dir = folder.join(STARTED_DIR);
    let names = file_names(&dir);
    names.map(|name| dir.join(name)).collect()
}

fn file_names(dir: &Path) -> impl Iterator<Item = std::ffi::OsString> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(job: u64) -> AttemptId {
        AttemptId {
            job,
            task: 0,
            attempt: 1,
        }
    }

    #[test]
    fn file_of_a_released_attempt_is_a_spare() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = StartedFiles::open(folder.path()).expect("opened");
        assert!(files.take_spare().is_none());
        fs::write(path(folder.path(), attempt(1)), "x").expect("written");
        files.release(attempt(1));
        files.release(attempt(2));
        assert_eq!(paths(folder.path()), Vec::<PathBuf>::new());
        let spare = files.take_spare().expect("the first attempt's");
        assert_eq!(spare.to_bytes(), b"1.0.1");
        assert!(files.take_spare().is_none());
        // The next runner finds it again.
        let files = StartedFiles::open(folder.path()).expect("opened");
        assert!(files.take_spare().is_some());
    }

    #[test]
    fn number_of_spares_is_limited() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = StartedFiles::open(folder.path()).expect("opened");
        for job in 0..=MAX_SPARES as u64 {
            fs::write(path(folder.path(), attempt(job)), "x").expect("written");
            files.release(attempt(job));
        }
        assert_eq!(paths(folder.path()), Vec::<PathBuf>::new());
        assert_eq!(
            file_names(&folder.path().join(SPARE_DIR)).count(),
            MAX_SPARES
        );
    }
}
