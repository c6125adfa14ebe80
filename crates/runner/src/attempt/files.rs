//! The files of attempts at a batch system, in a directory that the service and all nodes share.
//!
//! | file | contents | written by |
//! |---|---|---|
//! | `launches/<attempt>` | the launch, and where it is to run | the service, before it submits the job |
//! | `accepted/<attempt>` | the engine's id of the job | the service, after it submitted the job |
//! | `kills/<attempt>` | the reason why the attempt is to end | the service |
//! | `started/<attempt>` | nothing, then the start | the first job that starts the attempt, or the service, to cancel it |
//! | `ended/<attempt>` | the end | the job, or the service for an attempt whose job is gone |
//! | `number` | the number of the directory in names of jobs | the service |
//! | `work/<attempt>/` | scripts and lists of hosts | the job |
//!
//! The files are the journal: an attempt exists as long as its launch does. A file appears at once with
//! its whole contents, because it is written under another name and renamed.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tollgate_engine::LaunchSpec;
use tollgate_host::{random_bytes, replace_private};
use tollgate_model::{AttemptEvent, AttemptId, AttemptStart, KillReason};

use crate::state_dir::{FILE_MODE, make_private};

/// The kinds of files, each with a directory of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptFile {
    /// The launch.
    Launch,
    /// The engine's id of the job.
    Accepted,
    /// The reason why the attempt is to end.
    Kill,
    /// The start.
    Started,
    /// The end.
    Ended,
}

impl AttemptFile {
    const ALL: [Self; 5] = [
        Self::Launch,
        Self::Accepted,
        Self::Kill,
        Self::Started,
        Self::Ended,
    ];

    const fn dir(self) -> &'static str {
        match self {
            Self::Launch => "launches",
            Self::Accepted => "accepted",
            Self::Kill => "kills",
            Self::Started => "started",
            Self::Ended => "ended",
        }
    }
}

/// The directory of the jobs' own files.
const WORK_DIR: &str = "work";

/// An attempt that is to be submitted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OfferedAttempt {
    /// The launch.
    pub launch: LaunchSpec,
    /// The name of the node that the attempt is to run on.
    pub node: String,
    /// The cores of that node that the attempt holds.
    pub cores: u32,
    /// The memory that the attempt may use, in bytes. None leaves it to the engine.
    pub memory: Option<u64>,
    /// Milliseconds from asking the task to end until it is killed.
    pub grace_ms: u64,
}

/// The directory with the files of attempts.
#[derive(Clone, Debug)]
pub struct AttemptFolder {
    path: PathBuf,
}

impl AttemptFolder {
    /// Creates the directory, or checks that it belongs to this user alone.
    ///
    /// # Errors
    /// If it cannot be created, or others may enter it.
    pub fn create(path: &Path) -> io::Result<Self> {
        make_private(path)?;
        for file in AttemptFile::ALL {
            make_private(&path.join(file.dir()))?;
        }
        make_private(&path.join(WORK_DIR))?;
        Ok(Self::at(path))
    }

    /// Returns the directory, which exists.
    pub fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
        }
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number that distinguishes jobs of this directory from those of others. It is drawn at
    /// random when the directory is first used.
    ///
    /// # Errors
    /// If it cannot be read, or not be written down.
    pub fn number(&self) -> io::Result<u32> {
        let path = self.path.join("number");
        match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
            Ok(text) => {
                let number = u32::from_str_radix(text.trim(), 16);
                return number.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error));
            }
        }
        let number = u32::from_le_bytes(random_bytes()?);
        replace_private(&path, format!("{number:08x}\n").as_bytes())?;
        Ok(number)
    }

    /// Writes launches down: all of them are on disk when this returns.
    ///
    /// # Errors
    /// If one cannot be written; others may be on disk then.
    pub fn offer(&self, offers: &[OfferedAttempt]) -> io::Result<()> {
        for offer in offers {
            self.write(AttemptFile::Launch, offer.launch.attempt, offer)?;
        }
        self.sync(AttemptFile::Launch)
    }

    /// Returns the launch of an attempt. None if there is none.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read_offer(&self, attempt: AttemptId) -> io::Result<Option<OfferedAttempt>> {
        self.read(AttemptFile::Launch, attempt)
    }

    /// Creates the file that marks the start. Returns false if it exists: then the attempt was started, or
    /// cancelled, by another process.
    ///
    /// # Errors
    /// If the file cannot be created for another reason.
    pub fn claim(&self, attempt: AttemptId) -> io::Result<bool> {
        let mut options = OpenOptions::new();
        let options = options.create_new(true).write(true).mode(FILE_MODE);
        match options.open(self.file(AttemptFile::Started, attempt)) {
            Ok(file) => file.sync_all().map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Returns whether the start is marked: the attempt was started, or cancelled.
    ///
    /// # Errors
    /// If that cannot be known.
    pub fn is_claimed(&self, attempt: AttemptId) -> io::Result<bool> {
        self.file(AttemptFile::Started, attempt).try_exists()
    }

    /// Writes the start into the file that marks it.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn start(&self, attempt: AttemptId, start: AttemptStart) -> io::Result<()> {
        self.write(AttemptFile::Started, attempt, &start)
    }

    /// Returns the start. None if the program does not run yet, or was never started.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read_start(&self, attempt: AttemptId) -> io::Result<Option<AttemptStart>> {
        self.read(AttemptFile::Started, attempt)
    }

    /// Writes the end down; it is on disk when this returns.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn end(&self, attempt: AttemptId, event: &AttemptEvent) -> io::Result<()> {
        self.write(AttemptFile::Ended, attempt, event)?;
        self.sync(AttemptFile::Ended)
    }

    /// Returns the end. None if there is none yet.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read_end(&self, attempt: AttemptId) -> io::Result<Option<AttemptEvent>> {
        self.read(AttemptFile::Ended, attempt)
    }

    /// Writes the engine's id of the job down.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn accept(&self, attempt: AttemptId, id: u64) -> io::Result<()> {
        self.write(AttemptFile::Accepted, attempt, &id)
    }

    /// Returns the engine's id of the job. None if it is not known.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read_accepted(&self, attempt: AttemptId) -> io::Result<Option<u64>> {
        self.read(AttemptFile::Accepted, attempt)
    }

    /// Writes the reason why an attempt is to end down.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn kill(&self, attempt: AttemptId, why: KillReason) -> io::Result<()> {
        self.write(AttemptFile::Kill, attempt, &why)?;
        self.sync(AttemptFile::Kill)
    }

    /// Returns the reason why an attempt is to end. None if it may go on.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read_kill(&self, attempt: AttemptId) -> io::Result<Option<KillReason>> {
        self.read(AttemptFile::Kill, attempt)
    }

    /// Returns the attempts with a file of this kind, in ascending order.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn list(&self, file: AttemptFile) -> io::Result<Vec<AttemptId>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(self.path.join(file.dir()))? {
            found.extend(entry?.file_name().to_str().and_then(parse_key));
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Changes the directory of ends, so that a network file system reads it anew.
    ///
    /// # Errors
    /// If the directory cannot be changed.
    pub fn refresh(&self) -> io::Result<()> {
        let look = self.path.join(AttemptFile::Ended.dir()).join(".look");
        File::create(&look)?;
        fs::remove_file(look)
    }

    /// Forgets attempts, but for the marks of their starts: a job that was submitted twice may still
    /// come. The launches are gone from the disk before anything else is.
    ///
    /// # Errors
    /// If a launch cannot be removed.
    pub fn forget(&self, attempts: &[AttemptId]) -> io::Result<()> {
        for &attempt in attempts {
            remove(&self.file(AttemptFile::Launch, attempt))?;
        }
        self.sync(AttemptFile::Launch)?;
        for &attempt in attempts {
            for file in [AttemptFile::Ended, AttemptFile::Accepted, AttemptFile::Kill] {
                let _ = remove(&self.file(file, attempt));
            }
            self.remove_work(attempt);
        }
        Ok(())
    }

    /// Removes the marks of the starts of attempts that are forgotten, and of which the engine has no job.
    pub fn remove_marks(&self, attempts: &[AttemptId]) {
        for &attempt in attempts {
            let _ = remove(&self.file(AttemptFile::Started, attempt));
        }
    }

    /// Removes the job's own files.
    pub fn remove_work(&self, attempt: AttemptId) {
        let work = self.work(attempt);
        let _ = fs::remove_dir_all(&work);
        let _ = fs::remove_dir_all(scripts_beside(&work));
    }

    /// Creates the directory for the job's own files, empty.
    pub(crate) fn create_work(&self, attempt: AttemptId) -> io::Result<PathBuf> {
        self.remove_work(attempt);
        let work = self.work(attempt);
        DirBuilder::new().mode(0o700).create(&work)?;
        Ok(work)
    }

    /// Returns the directory for the job's own files.
    pub(crate) fn work(&self, attempt: AttemptId) -> PathBuf {
        self.path.join(WORK_DIR).join(attempt.to_string())
    }

    fn file(&self, file: AttemptFile, attempt: AttemptId) -> PathBuf {
        self.path.join(file.dir()).join(attempt.to_string())
    }

    fn write(
        &self,
        file: AttemptFile,
        attempt: AttemptId,
        value: &impl Serialize,
    ) -> io::Result<()> {
        let dir = self.path.join(file.dir());
        // Copies of a job may write at the same time, and the directory is synced once for all files.
        let new = dir.join(format!(".{attempt}.{}", std::process::id()));
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(true).write(true);
        let mut open = options.mode(FILE_MODE).open(&new)?;
        open.write_all(&crate::protocol::encode_line(value))?;
        open.sync_all()?;
        fs::rename(&new, dir.join(attempt.to_string()))
    }

    fn sync(&self, file: AttemptFile) -> io::Result<()> {
        File::open(self.path.join(file.dir()))?.sync_all()
    }

    fn read<T: DeserializeOwned>(
        &self,
        file: AttemptFile,
        attempt: AttemptId,
    ) -> io::Result<Option<T>> {
        let path = self.file(file, attempt);
        let bytes = match fs::read(&path) {
            Ok(bytes) if bytes.is_empty() => return Ok(None),
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let value = serde_json::from_slice(&bytes);
        value.map(Some).map_err(|error| {
            let text = format!("{}: {error}", path.display());
            io::Error::new(io::ErrorKind::InvalidData, text)
        })
    }
}

/// Returns the attempt with this key, as in `7.0.1`. None if it is no key.
pub fn parse_key(key: &str) -> Option<AttemptId> {
    let mut parts = key.split('.');
    let attempt = AttemptId {
        job: parts.next()?.parse().ok()?,
        task: parts.next()?.parse().ok()?,
        attempt: parts.next()?.parse().ok()?,
    };
    // No other spelling of the numbers is a key.
    (attempt.to_string() == key).then_some(attempt)
}

fn scripts_beside(work: &Path) -> PathBuf {
    let mut name = work.as_os_str().to_owned();
    name.push("-scripts");
    name.into()
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
