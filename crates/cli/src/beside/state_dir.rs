//! The knowledge of a follower on disk: a snapshot, and the observations since.
//!
//! `snapshot` has the number of the file of observations that follow it, `since-N`, as a first line. A new snapshot comes
//! with a new, empty file, which exists before the snapshot does. So a reader always finds both, without a lock. The
//! writer holds a lock on the file `lock`.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tollgate_beside::{QueueFollower, QueueObservation};
use tollgate_host::replace_public;

use super::engine::FollowedEngine;
use super::error::{BesideError, file_error};

/// The variable with the directory of what was learned.
pub(super) const STATE_VARIABLE: &str = "TOLLGATE_BESIDE";
/// The size of the observations after which a new snapshot is written, in bytes.
const MAX_SINCE: u64 = 1 << 20;
/// How often a reader looks again whose files were replaced meanwhile.
const READS: usize = 5;

/// The directory of what was learned about one cluster.
#[derive(Clone, Debug)]
pub(super) struct StateDir {
    path: PathBuf,
}

/// The knowledge in a directory.
#[derive(Default)]
pub(super) struct StoredFollower {
    pub(super) follower: QueueFollower,
    generation: u64,
    /// The length of the whole lines of the observations since the snapshot, in bytes.
    n_since: u64,
    /// Whether a snapshot has it. False for a follower that begins anew.
    is_stored: bool,
}

/// The one writer of the directory.
pub(super) struct StateWriter {
    dir: StateDir,
    generation: u64,
    since: File,
    n_since: u64,
    /// Held until the end of the process.
    _lock: File,
}

impl StateDir {
    /// Returns the named directory, or that of the variable, or a directory of the user's cache.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn find(named: Option<&Path>, engine: FollowedEngine) -> Result<Self, BesideError> {
        let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty());
        if let Some(path) = named
            .map(Path::to_owned)
            .or_else(|| variable(STATE_VARIABLE).map(Into::into))
        {
            return Ok(Self { path });
        }
        let cache = variable("XDG_CACHE_HOME").map(PathBuf::from);
        let home = || variable("HOME").map(|home| PathBuf::from(home).join(".cache"));
        let cache = cache.or_else(home).ok_or(BesideError::NoStateDir)?;
        let name = format!("{}{}", engine.name(), engine.cluster_suffix());
        Ok(Self {
            path: cache.join("tollgate").join("beside").join(name),
        })
    }

    /// Returns the directory.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads what was learned. None if nothing was.
    ///
    /// # Errors
    /// If a file cannot be read, or is damaged.
    pub(super) fn read(&self) -> Result<Option<StoredFollower>, BesideError> {
        for _ in 0..READS {
            let path = self.snapshot_path();
            let bytes = match fs::read(&path) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(file_error(path, error)),
            };
            let (generation, bytes) = split_generation(&bytes);
            let follower = QueueFollower::from_bytes(bytes);
            let mut follower = follower.map_err(|error| BesideError::Snapshot { path, error })?;
            let since = self.since_path(generation);
            match fs::read(&since) {
                Ok(bytes) => {
                    learn_lines(&mut follower, &bytes, &since)?;
                    return Ok(Some(StoredFollower {
                        follower,
                        generation,
                        n_since: whole_lines(&bytes).len() as u64,
                        is_stored: true,
                    }));
                }
                // A new snapshot has taken the place of this one.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(file_error(since, error)),
            }
        }
        let error = io::Error::other("its observations are missing");
        Err(file_error(self.snapshot_path(), error))
    }

    /// Becomes the writer. None if there is another one, or this user may not write here.
    ///
    /// # Errors
    /// If the directory cannot be made, or a file cannot be opened.
    pub(super) fn lock(&self) -> Result<Option<File>, BesideError> {
        if let Err(error) = fs::create_dir_all(&self.path) {
            return Err(file_error(&self.path, error));
        }
        let path = self.path.join("lock");
        let lock = OpenOptions::new().create(true).append(true).open(&path);
        let lock = match lock {
            Ok(lock) => lock,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
            Err(error) => return Err(file_error(path, error)),
        };
        match lock.try_lock() {
            Ok(()) => Ok(Some(lock)),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(file_error(path, error)),
        }
    }

    fn snapshot_path(&self) -> PathBuf {
        self.path.join("snapshot")
    }

    /// Returns the file with the results of other policies.
    pub(super) fn shadow_path(&self) -> PathBuf {
        self.path.join("shadow")
    }

    fn since_path(&self, generation: u64) -> PathBuf {
        self.path.join(format!("since-{generation}"))
    }
}

impl StateWriter {
    /// Starts to write behind what is stored.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub(super) fn new(
        dir: &StateDir,
        lock: File,
        stored: &StoredFollower,
    ) -> Result<Self, BesideError> {
        let path = dir.since_path(stored.generation);
        let since = OpenOptions::new().create(true).append(true).open(&path);
        let since = since.map_err(|error| file_error(&path, error))?;
        let mut writer = Self {
            dir: dir.clone(),
            generation: stored.generation,
            since,
            n_since: stored.n_since,
            _lock: lock,
        };
        if !stored.is_stored {
            // Without a whole snapshot no reader finds the observations.
            writer.write_snapshot(&stored.follower)?;
            return Ok(writer);
        }
        // The last line may be a part of one: the process that wrote it was killed.
        let cut = writer.since.set_len(stored.n_since);
        cut.map_err(|error| file_error(path, error))?;
        Ok(writer)
    }

    /// Stores an observation that the follower has learned from.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub(super) fn add(
        &mut self,
        observation: &QueueObservation,
        follower: &QueueFollower,
    ) -> Result<(), BesideError> {
        let mut line = serde_json::to_vec(observation).expect("an observation is JSON");
        line.push(b'\n');
        // Larger than what it would save: the first observation has all records.
        if self.n_since + line.len() as u64 > MAX_SINCE {
            return self.write_snapshot(follower);
        }
        self.n_since += line.len() as u64;
        let written = self.since.write_all(&line);
        written.map_err(|error| file_error(self.dir.since_path(self.generation), error))
    }

    fn write_snapshot(&mut self, follower: &QueueFollower) -> Result<(), BesideError> {
        let generation = self.generation + 1;
        let path = self.dir.since_path(generation);
        let since = File::create(&path).map_err(|error| file_error(&path, error))?;
        let path = self.dir.snapshot_path();
        let bytes = follower.to_bytes();
        let bytes = bytes.map_err(|error| BesideError::Snapshot {
            path: path.clone(),
            error,
        })?;
        let mut text = format!("{generation}\n").into_bytes();
        text.extend(bytes);
        replace_public(&path, &text).map_err(|error| file_error(&path, error))?;
        let old = self.dir.since_path(self.generation);
        (self.generation, self.since, self.n_since) = (generation, since, 0);
        match fs::remove_file(&old) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(file_error(old, error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// Lets a follower learn from observations, one a line. A last line without an end is left out: it is being written.
pub(super) fn learn_lines(
    follower: &mut QueueFollower,
    bytes: &[u8],
    path: &Path,
) -> Result<(), BesideError> {
    for observation in observations(bytes, path) {
        follower.observe(&observation?);
    }
    Ok(())
}

/// Returns the observations of a file, one a line, in order. A last line without an end is left out.
pub(super) fn observations<'a>(
    bytes: &'a [u8],
    path: &'a Path,
) -> impl Iterator<Item = Result<QueueObservation, BesideError>> + 'a {
    let lines = whole_lines(bytes).split(|byte| *byte == b'\n');
    let lines = lines.enumerate().filter(|(_, line)| !line.is_empty());
    lines.map(|(idx, line)| {
        serde_json::from_slice(line).map_err(|error| BesideError::Line {
            path: path.to_owned(),
            line: idx + 1,
            error,
        })
    })
}

/// Returns the bytes up to the end of the last whole line.
fn whole_lines(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte == b'\n');
    &bytes[..end.map_or(0, |end| end + 1)]
}

/// Splits the first line of a snapshot, its number, from the rest.
fn split_generation(bytes: &[u8]) -> (u64, &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let (number, rest) = bytes.split_at(end.map_or(0, |end| end + 1));
    let number = str::from_utf8(number).unwrap_or_default();
    (number.trim_end().parse().unwrap_or(0), rest)
}
