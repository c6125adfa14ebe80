//! The control files of one group.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::{Resource, getrlimit};
use serde::{Deserialize, Serialize};

/// The maximum length of what a control file is read for: a number, or a number per line.
const MAX_BYTES: usize = 4096;

/// Number of control files that this process keeps open.
static N_OPEN: AtomicU64 = AtomicU64::new(0);

/// The directory of a control group, with those of its files open that were used before. To look one up costs
/// more than to read it or to write to it, and a slot uses the same few for each attempt.
///
/// A process keeps a quarter of the files open that it may open. Further ones are opened for each use.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "PathBuf", into = "PathBuf")]
pub(crate) struct ControlDir {
    path: PathBuf,
    open: Arc<Mutex<BTreeMap<&'static str, Arc<OpenControlFile>>>>,
}

/// An open file, counted in [`N_OPEN`].
#[derive(Debug)]
struct OpenControlFile(File);

impl ControlDir {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the text of a file that the kernel makes anew for each read. None if the file
    /// cannot be read.
    ///
    /// Not for lists of processes: in version 1 an open file shows the same list for a while.
    pub(crate) fn read(&self, file: &'static str) -> Option<String> {
        let mut text = [0; MAX_BYTES];
        let length = self.file(file, false).ok()?.0.read_at(&mut text, 0).ok()?;
        String::from_utf8(text[..length].to_vec()).ok()
    }

    /// Returns the number in a file. None if there is no such file, or no number in it.
    pub(crate) fn read_number(&self, file: &'static str) -> Option<u64> {
        self.read(file)?.trim().parse().ok()
    }

    /// Returns the number after `key` in a file with a key and a number per line.
    pub(crate) fn read_keyed(&self, file: &'static str, key: &str) -> Option<u64> {
        let text = self.read(file)?;
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(name, _)| *name == key)?.1.trim().parse().ok()
    }

    /// Writes to a file.
    pub(crate) fn write(&self, file: &'static str, text: &str) -> io::Result<()> {
        self.file(file, true)?.0.write_all_at(text.as_bytes(), 0)
    }

    /// Writes to a file. Returns false if there is none: the controller is not available here.
    pub(crate) fn write_if_present(&self, file: &'static str, text: &str) -> io::Result<bool> {
        match self.write(file, text) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            written => written.map(|()| true),
        }
    }

    /// Returns whether the group has a file.
    pub(crate) fn has(&self, file: &str) -> bool {
        self.path.join(file).exists()
    }

    fn file(&self, name: &'static str, to_write: bool) -> io::Result<Arc<OpenControlFile>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = open.get(name) {
            return Ok(Arc::clone(file));
        }
        let file = OpenControlFile::open(&self.path.join(name), to_write)?;
        let file = Arc::new(file);
        if can_keep_open() {
            open.insert(name, Arc::clone(&file));
        }
        Ok(file)
    }
}

impl From<PathBuf> for ControlDir {
    fn from(path: PathBuf) -> Self {
        Self {
            path,
            open: Arc::default(),
        }
    }
}

impl From<ControlDir> for PathBuf {
    fn from(dir: ControlDir) -> Self {
        dir.path
    }
}

impl PartialEq for ControlDir {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl Eq for ControlDir {}

impl OpenControlFile {
    /// Opens a file, for both directions if it has both: a peak that is reset through one file is
    /// not reset for another one. A control file exists or not, and must never be created.
    fn open(path: &Path, to_write: bool) -> io::Result<Self> {
        let both = OpenOptions::new().read(true).write(true).open(path);
        let file = both.or_else(|error| {
            if error.kind() == ErrorKind::NotFound {
                return Err(error);
            }
            let mut one = OpenOptions::new();
            one.read(!to_write).write(to_write).open(path)
        })?;
        N_OPEN.fetch_add(1, Ordering::Relaxed);
        Ok(Self(file))
    }
}

impl Drop for OpenControlFile {
    fn drop(&mut self) {
        N_OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}

fn can_keep_open() -> bool {
    let most = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    N_OPEN.load(Ordering::Relaxed) <= most / 4
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn open_control_file_shows_each_change() {
        let dir = tempfile::tempdir().expect("a folder");
        let control = ControlDir::from(dir.path().to_owned());
        assert_eq!(control.read_number("usage"), None);
        assert!(!control.write_if_present("usage", "1").expect("no error"));
        fs::write(dir.path().join("usage"), "7\n").expect("written");
        assert_eq!(control.read_number("usage"), Some(7));
        assert!(control.write_if_present("usage", "8\n").expect("written"));
        assert_eq!(control.read_number("usage"), Some(8));
        fs::write(dir.path().join("events"), "oom 2\noom_kill 1\n").expect("written");
        assert_eq!(control.read_keyed("events", "oom_kill"), Some(1));
        assert_eq!(control.read_keyed("events", "kill"), None);
    }

    #[test]
    fn control_dir_is_serialised_as_its_path() {
        let dir = ControlDir::from(PathBuf::from("/sys/fs/cgroup/x"));
        let json = serde_json::to_string(&dir).expect("JSON");
        assert_eq!(json, "\"/sys/fs/cgroup/x\"");
        assert_eq!(
            serde_json::from_str::<ControlDir>(&json).expect("a path"),
            dir
        );
    }
}
