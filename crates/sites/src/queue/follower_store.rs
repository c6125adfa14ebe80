//! The knowledge of a follower on disk: a snapshot, and the observations since.
//!
//! `snapshot` has the number of the file of observations that follow it, `since-N`, as a first line. A new snapshot comes
//! with a new, empty file, which exists before the snapshot does. So a reader always finds both, without a lock. The
//! writer holds a lock on the file `lock`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tollgate_beside::{QueueFollower, QueueObservation};
use tollgate_host::replace_public;

use super::error::FollowerStoreError;

/// The size of the observations after which a new snapshot is written, in bytes.
const MAX_SINCE: u64 = 1 << 20;
/// How often a reader looks again whose files were replaced meanwhile.
const READS: usize = 5;

/// The directory of what a follower has learned about one cluster.
#[derive(Clone, Debug)]
pub struct FollowerStore {
    dir: PathBuf,
}

/// The knowledge in a directory.
#[derive(Default)]
pub struct StoredFollower {
    /// The follower as it was after the last stored observation.
    pub follower: QueueFollower,
    generation: u64,
    /// The length of the whole lines of the observations since the snapshot, in bytes.
    n_since: u64,
    /// Whether a snapshot has it. False for a follower that begins anew.
    is_stored: bool,
}

/// The right to write into a store, until it is dropped or the process ends.
#[derive(Debug)]
pub struct FollowerLock {
    store: FollowerStore,
    _file: File,
}

/// The one writer of a store.
#[derive(Debug)]
pub struct FollowerWriter {
    lock: FollowerLock,
    generation: u64,
    since: File,
    n_since: u64,
}

impl FollowerStore {
    /// Returns the knowledge in a directory, which need not exist yet.
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// Returns the directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Reads what was learned. None if nothing was.
    ///
    /// # Errors
    /// If a file cannot be read, or is damaged.
    pub fn read(&self) -> Result<Option<StoredFollower>, FollowerStoreError> {
        for _ in 0..READS {
            let path = self.snapshot_path();
            let bytes = match fs::read(&path) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(FollowerStoreError::file(path, error)),
            };
            let (generation, bytes) = split_generation(&bytes);
            let follower = QueueFollower::from_bytes(bytes);
            let mut follower =
                follower.map_err(|error| FollowerStoreError::Snapshot { path, error })?;
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
                Err(error) => return Err(FollowerStoreError::file(since, error)),
            }
        }
        let error = io::Error::other("its observations are missing");
        Err(FollowerStoreError::file(self.snapshot_path(), error))
    }

    /// Returns the right to write. None if another writer has it, or this user may not write here.
    ///
    /// # Errors
    /// If the directory cannot be made, or a file cannot be opened.
    pub fn lock(&self) -> Result<Option<FollowerLock>, FollowerStoreError> {
        if let Err(error) = fs::create_dir_all(&self.dir) {
            return Err(FollowerStoreError::file(&self.dir, error));
        }
        let path = self.dir.join("lock");
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let file = match file {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
            Err(error) => return Err(FollowerStoreError::file(path, error)),
        };
        match file.try_lock() {
            Ok(()) => Ok(Some(FollowerLock {
                store: self.clone(),
                _file: file,
            })),
            Err(fs::TryLockError::WouldBlock) => Ok(None),
            Err(fs::TryLockError::Error(error)) => Err(FollowerStoreError::file(path, error)),
        }
    }

    fn snapshot_path(&self) -> PathBuf {
        self.dir.join("snapshot")
    }

    fn since_path(&self, generation: u64) -> PathBuf {
        self.dir.join(format!("since-{generation}"))
    }
}

impl FollowerWriter {
    /// Starts to write behind what is stored.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn new(lock: FollowerLock, stored: &StoredFollower) -> Result<Self, FollowerStoreError> {
        let path = lock.store.since_path(stored.generation);
        let since = OpenOptions::new().create(true).append(true).open(&path);
        let since = since.map_err(|error| FollowerStoreError::file(&path, error))?;
        let mut writer = Self {
            lock,
            generation: stored.generation,
            since,
            n_since: stored.n_since,
        };
        if !stored.is_stored {
            // Without a whole snapshot no reader finds the observations.
            writer.write_snapshot(&stored.follower)?;
            return Ok(writer);
        }
        // The last line may be a part of one: the process that wrote it was killed.
        let cut = writer.since.set_len(stored.n_since);
        cut.map_err(|error| FollowerStoreError::file(path, error))?;
        Ok(writer)
    }

    /// Stores an observation that the follower has learned from.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn add(
        &mut self,
        observation: &QueueObservation,
        follower: &QueueFollower,
    ) -> Result<(), FollowerStoreError> {
        let mut line = serde_json::to_vec(observation).expect("an observation is JSON");
        line.push(b'\n');
        // Larger than what it would save: the first observation has all records.
        if self.n_since + line.len() as u64 > MAX_SINCE {
            return self.write_snapshot(follower);
        }
        self.n_since += line.len() as u64;
        let written = self.since.write_all(&line);
        written.map_err(|error| {
            FollowerStoreError::file(self.lock.store.since_path(self.generation), error)
        })
    }

    fn write_snapshot(&mut self, follower: &QueueFollower) -> Result<(), FollowerStoreError> {
        let generation = self.generation + 1;
        let path = self.lock.store.since_path(generation);
        let since = File::create(&path).map_err(|error| FollowerStoreError::file(&path, error))?;
        let path = self.lock.store.snapshot_path();
        let bytes = follower.to_bytes();
        let bytes = bytes.map_err(|error| FollowerStoreError::Snapshot {
            path: path.clone(),
            error,
        })?;
        let mut text = format!("{generation}\n").into_bytes();
        text.extend(bytes);
        replace_public(&path, &text).map_err(|error| FollowerStoreError::file(&path, error))?;
        let old = self.lock.store.since_path(self.generation);
        (self.generation, self.since, self.n_since) = (generation, since, 0);
        match fs::remove_file(&old) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(FollowerStoreError::file(old, error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

/// Lets a follower learn from observations, one a line. A last line without an end is left out: it is being written.
fn learn_lines(
    follower: &mut QueueFollower,
    bytes: &[u8],
    path: &Path,
) -> Result<(), FollowerStoreError> {
    for observation in parse_observations(bytes, path) {
        follower.observe(&observation?);
    }
    Ok(())
}

/// Returns the observations of a file, one a line, in order. A last line without an end is left out. `path` is that of
/// errors.
pub fn parse_observations<'a>(
    bytes: &'a [u8],
    path: &'a Path,
) -> impl Iterator<Item = Result<QueueObservation, FollowerStoreError>> + 'a {
    let lines = whole_lines(bytes).split(|byte| *byte == b'\n');
    let lines = lines.enumerate().filter(|(_, line)| !line.is_empty());
    lines.map(|(idx, line)| {
        serde_json::from_slice(line).map_err(|error| FollowerStoreError::Line {
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

#[cfg(test)]
mod tests {
    use tollgate_beside::{QueueSight, SeenJob, SeenJobKey, SeenPhase};
    use tollgate_model::Instant;

    use super::*;

    /// Returns an observation of a job that has just started.
    fn observation(minute: i64) -> QueueObservation {
        let at = Instant::from_secs(minute * 60);
        let job = SeenJob {
            key: SeenJobKey(minute.to_string()),
            user: "anna".to_owned(),
            queue: "main".to_owned(),
            procs: 4,
            limit: None,
            submitted: Instant::from_secs(minute * 60 - 30),
            eligible: None,
            started: Some(at),
            ended: None,
            phase: SeenPhase::Runs,
            reason: String::new(),
        };
        QueueObservation {
            at,
            sight: QueueSight::AllJobs,
            jobs: vec![job],
            gone: Vec::new(),
            absent: Vec::new(),
        }
    }

    fn writer(store: &FollowerStore) -> FollowerWriter {
        let lock = store.lock().expect("a directory").expect("no other writer");
        let stored = store.read().expect("readable").unwrap_or_default();
        FollowerWriter::new(lock, &stored).expect("writable")
    }

    /// Stores observations of these minutes. Returns what was learned from them.
    fn stored(store: &FollowerStore, minutes: &[i64]) -> QueueFollower {
        let mut writer = writer(store);
        let mut follower = QueueFollower::default();
        for minute in minutes {
            let observation = observation(*minute);
            follower.observe(&observation);
            writer.add(&observation, &follower).expect("writable");
        }
        follower
    }

    fn follower(store: &FollowerStore) -> QueueFollower {
        store.read().expect("readable").expect("stored").follower
    }

    #[test]
    fn stored_observations_are_learned_again() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = FollowerStore::new(dir.path().join("new"));
        assert!(store.read().expect("an empty store").is_none());
        let learned = stored(&store, &[1, 2, 3]);
        assert_eq!(follower(&store).to_bytes(), learned.to_bytes());
        // The same from a snapshot that has them.
        let mut writer = writer(&store);
        writer.write_snapshot(&learned).expect("writable");
        assert_eq!(follower(&store).to_bytes(), learned.to_bytes());
        let files = fs::read_dir(store.dir()).expect("a directory").count();
        assert_eq!(files, 3, "the lock, the snapshot and the file behind it");
    }

    #[test]
    fn part_of_a_line_is_left_out_and_cut_off() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = FollowerStore::new(dir.path());
        let learned = stored(&store, &[1, 2]);
        let since = store.since_path(1);
        let whole = fs::read(&since).expect("observations");
        fs::write(&since, [&whole, &whole[..9]].concat()).expect("writable");
        assert_eq!(follower(&store).to_bytes(), learned.to_bytes());
        drop(writer(&store));
        assert_eq!(fs::read(&since).expect("observations"), whole);
    }

    #[test]
    fn damaged_line_is_named_by_its_number() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = FollowerStore::new(dir.path());
        stored(&store, &[1]);
        let mut since = OpenOptions::new().append(true).open(store.since_path(1));
        let since = since.as_mut().expect("observations");
        since.write_all(b"purple\n").expect("writable");
        let error = store.read().err().expect("damage");
        assert!(
            matches!(error, FollowerStoreError::Line { line: 2, .. }),
            "{error}"
        );
    }

    #[test]
    fn store_has_one_writer() {
        let dir = tempfile::tempdir().expect("a directory");
        let store = FollowerStore::new(dir.path());
        let first = writer(&store);
        assert!(store.lock().expect("a directory").is_none());
        drop(first);
        assert!(store.lock().expect("a directory").is_some());
    }
}
