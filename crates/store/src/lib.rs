//! The data directory of a service, and the durable store in it: [`Store`] writes, [`StoreReader`]
//! reads. The service sends no response before its effects are stored here.
//!
//! | module | contents |
//! |---|---|
//! | [`data_dir`] | [`DataDir`]: the data directory: its lock, its files, their permissions |
//! | `write`, `arrays`, `attempts` | the rows that a step changes |
//! | `content` | texts of jobs, stored once each, and the limit on those of jobs that are over |
//! | `read`, `tasks` | [`StoreReader`]: queries beside a running service, and those for tasks of arrays |
//! | `task_numbers` | [`TaskNumbers`]: whole numbers of the tasks of arrays |
//! | `books` | [`PromiseSums`]: the books, and calibration |
//! | `objectives` | sums over finished jobs, and coverage of estimates |
//! | `usage` | [`UsageRow`]: usage by user, account and day; jobs and bookings page by page |
//! | `answers` | answers to requests that their clients may send again |
//! | `prune` | removal of jobs that are over |
//! | `impossible`, `repair` | values that cannot be true, and the nearest ones that can |
//! | `replay`, `recover` | the state after a crash, from snapshot and commands; new rules for it |
//! | `earlier_runs` | the runs of finished jobs, from which a state of another format is learned anew |
//! | `rehearsal` | the recovery of a store that stays as it is, for checks |
//! | `schema` | the tables, and their migrations |
//! | `sums` | sums in SQL that stay in range |
//! | [`integrity`] | checksums of rows, and the check of a whole store |
//! | `copy`, [`backup`] | consistent copies of a store, and backups of a data directory |
//! | `rights` | the rights with which root reads a data directory |
//! | `disk_reserve` | space that a full disk leaves to the last transactions |
//!
//! | table | contents |
//! |---|---|
//! | `batch` | the commands since the last snapshot, one row per step, from which to replay |
//! | `snapshot` | the state after some batch |
//! | `job`, `attempt` | the history of each job, for queries |
//! | `array`, `task_range` | task counts of an array by state, and the tasks that never ran |
//! | `task_numbers` | the first of the numbers of each array's tasks, and how many they are; also of removed arrays |
//! | `content` | scripts, environments and long commands of jobs, each once |
//! | `kept`, `kept_by_user` | those that users keep of jobs that are over, and their sizes |
//! | `ledger` | charges and penalties, append-only, one row per attempt and kind |
//! | `rules` | the rules under which the batches were handled |
//! | `book` | numbers of jobs by what became of them |
//! | `total`, `promise`, `account` | sums over finished jobs, promises and the ledger |
//! | `usage` | sums by user, account and day, which outlive the jobs |
//! | `granted` | exceptions from the shares of users: when, by which operator, and why |
//! | `answered` | answers of the last day to requests with a key |
//! | `removed` | counts of jobs that were removed because of their age |
//! | `sum_of` | the number of rows of each of these tables, and the sum of their checksums |
//!
//! Each step is one transaction over all of these tables, through SQLite's write-ahead log with
//! full synchronisation: a committed step survives a crash of the process, of the system, and a
//! power failure.

mod answers;
mod arrays;
mod attempts;
pub mod backup;
mod books;
mod content;
mod copy;
pub mod data_dir;
mod disk_reserve;
mod earlier_runs;
mod impossible;
pub mod integrity;
mod objectives;
mod prune;
mod read;
mod recover;
mod rehearsal;
mod repair;
mod replay;
mod rights;
mod schema;
mod sums;
mod task_numbers;
mod tasks;
mod usage;
mod write;

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OpenFlags};
use tollgate_service::TakeoverObstacle;

pub use answers::{KeyedAnswer, StoredAnswer};
pub use books::PromiseSums;
pub use content::StoredProgram;
pub use copy::check;
pub use data_dir::{DataDir, DataDirError};
pub use impossible::ImpossibleValue;
pub use integrity::CheckedRows;
pub use objectives::EstimateCoverage;
pub use prune::RemovalProgress;
pub use read::{AccountRow, AttemptRow, JobFilter, JobRow, StoreReader};
pub use rights::{with_owner_rights, with_writer_rights};
pub use schema::{FIRST, VERSION};
pub use task_numbers::TaskNumbers;
pub use tasks::{ArrayRow, FailedTasks};
pub use usage::{LedgerRow, RecordFilter, UsageKeys, UsageRow};
pub use write::{CommandBatch, JobProgram, RepeatOptions};

use disk_reserve::DiskReserve;
use replay::Replay;
pub use replay::RestoreProgress;

/// The format of snapshots and commands. It changes whenever the stored data or its meaning
/// changes.
pub const FORMAT: u32 = 26;

/// Maximum size of a page of the store, in bytes.
const PAGE: u64 = 64 << 10;

/// The store, for writing. A data directory has exactly one.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    /// Number of the last batch.
    batch: i64,
    /// Number of batches since the last snapshot.
    since_snapshot: u32,
    /// Maximum size of the texts that a user keeps of jobs that are over, in bytes.
    max_kept: i64,
    disk_reserve: DiskReserve,
}

/// An error of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite failed.
    #[error("{}: {action}: {source}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// The failed action.
        action: &'static str,
        /// SQLite's error.
        source: rusqlite::Error,
    },
    /// A file operation failed.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The store was written by a newer version.
    #[error("{}: written by a newer version (format {found}, this program reads up to {VERSION})", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The format of the store.
        found: u32,
    },
    /// The store was written before the first release.
    #[error("{}: written by a version before the first release (format {found}, this program reads {FIRST} to {VERSION})", path.display())]
    Older {
        /// The file.
        path: PathBuf,
        /// The format of the store.
        found: u32,
    },
    /// The disk is full.
    #[error("{}: {action}: no space is left on the disk: {source}", path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// The failed action.
        action: &'static str,
        /// SQLite's error, which need not name the cause.
        source: rusqlite::Error,
    },
    /// Another version left commands that must be replayed, and this version might decide
    /// otherwise.
    #[error("{}: version {program} was killed, and version {} cannot recover its last commands", path.display(), env!("CARGO_PKG_VERSION"))]
    OtherProgram {
        /// The file.
        path: PathBuf,
        /// The version that wrote the store.
        program: String,
    },
    /// Another version left unfinished jobs in a state of another format.
    #[error("{}: another version left unfinished jobs, whose state version {} cannot read", path.display(), env!("CARGO_PKG_VERSION"))]
    OtherFormat {
        /// The file.
        path: PathBuf,
    },
    /// Unfinished jobs were admitted under other rules.
    #[error("{}: {obstacle}", path.display())]
    OtherRules {
        /// The file.
        path: PathBuf,
        /// Why they cannot go on under the new ones.
        obstacle: TakeoverObstacle,
    },
    /// The store holds data that no version ever wrote.
    #[error("{}: damaged: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Description of the damage.
        what: String,
    },
}

/// The hint for a damaged store.
const RESTORE: &str =
    "`tollgate restore BACKUP --data NEW` brings back what `tollgate backup` kept";

impl StoreError {
    /// Returns whether the disk is full.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Full { .. } => true,
            Self::Sqlite { source, .. } => source.sqlite_error_code() == Some(ErrorCode::DiskFull),
            Self::File { error, .. } => error.kind() == io::ErrorKind::StorageFull,
            Self::Newer { .. }
            | Self::Older { .. }
            | Self::OtherProgram { .. }
            | Self::OtherFormat { .. }
            | Self::OtherRules { .. }
            | Self::Damaged { .. } => false,
        }
    }

    /// Returns whether a row broke a constraint of its table: trying the same again cannot help.
    pub fn is_constraint(&self) -> bool {
        let Self::Sqlite { source, .. } = self else {
            return false;
        };
        let is_violated = matches!(
            source.sqlite_error_code(),
            Some(ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch | ErrorCode::TooBig)
        );
        is_violated || matches!(source, rusqlite::Error::ToSqlConversionFailure(_))
    }

    /// Returns what an operator can do about the error.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Newer { .. } => {
                Some("start the version of tollgate that wrote it, or a newer one")
            }
            Self::Older { .. } => Some("begin with a new folder: `--data`"),
            Self::Full { .. } => Some("make room on the disk"),
            Self::OtherProgram { .. } => {
                Some("start that version once and stop it with SIGTERM, then start this one")
            }
            Self::OtherFormat { .. } => {
                Some("start the version that wrote it until its jobs are over, then start this one")
            }
            Self::OtherRules { .. } => {
                Some("restore the old configuration until these jobs are over, or cancel the jobs")
            }
            Self::Damaged { .. } => Some(RESTORE),
            Self::File { .. } => None,
            Self::Sqlite { source, .. } => match source.sqlite_error_code() {
                Some(ErrorCode::DiskFull) => Some("make room on the disk"),
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Some(RESTORE),
                Some(_) | None => None,
            },
        }
    }
}

impl Store {
    /// Opens or creates the store at `path`, and migrates an older one. Verifies all of its
    /// contents, which reads the whole file.
    ///
    /// # Errors
    /// If the store cannot be read or written, is damaged, or was written by a version that is too
    /// new or too old.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let store = Self::open_unchecked(path)?;
        integrity::check(&store.connection, path, VERSION)?;
        Ok(store)
    }

    /// Opens the store like [`Store::open`], but verifies only its tables and not their rows.
    /// Verifying the rows of a million jobs takes seconds, and can be left to [`check`].
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_unchecked(path: &Path) -> Result<Self, StoreError> {
        let failed = |action| sqlite(path, action);
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(StoreError::File {
                path: path.to_owned(),
                error: io::Error::other("expected a regular file"),
            });
        }
        copy::check_other_files(path)?;
        // SQLite creates its other files with the permissions of this one.
        OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(path)
            .map_err(|error| StoreError::File {
                path: path.to_owned(),
                error,
            })?;
        let mut connection = Connection::open(path).map_err(failed("cannot be opened"))?;
        integrity::register(&connection).map_err(failed("cannot be prepared"))?;
        if schema::version(&connection, path)?.is_some_and(|found| found < VERSION) {
            Replay::new(&connection, path).check_version()?;
        }
        copy::check_writable(&connection, path)?;
        schema::prepare(&mut connection, path)?;
        let batch = connection
            .query_row("SELECT max(coalesce((SELECT max(seq) FROM batch), 0), coalesce((SELECT seq FROM snapshot), 0))", [], |row| row.get(0))
            .map_err(failed("cannot be read"))?;
        Ok(Self {
            connection,
            path: path.to_owned(),
            batch,
            since_snapshot: 0,
            max_kept: i64::MAX,
            disk_reserve: DiskReserve::for_store(path),
        })
    }

    /// Returns the error for a failed file operation.
    pub fn failed(&self, error: io::Error) -> StoreError {
        StoreError::File {
            path: self.path.clone(),
            error,
        }
    }

    /// Reserves disk space for the ends of jobs; returns false if the disk is full.
    pub fn keep_reserve(&self) -> bool {
        self.disk_reserve.acquire()
    }

    /// Frees the reserved disk space, so that the ends of jobs can be written; returns false if
    /// there was none.
    pub fn release_reserve(&self) -> bool {
        self.disk_reserve.release()
    }

    /// Returns the user of a finished job, and whether all of its tasks ended with exit code 0.
    /// None if the job does not exist or is unfinished.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn ended(&self, job: u64) -> Result<Option<(u32, bool)>, StoreError> {
        read::ended(&self.connection, job).map_err(sqlite(&self.path, "cannot be read"))
    }

    /// Returns whether a job of this user was claimed as a reserved quote with this key.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn is_claimed_with(&self, job: u64, user: u32, key: &str) -> Result<bool, StoreError> {
        let read = read::claim_key(&self.connection, job, user);
        let stored = read.map_err(sqlite(&self.path, "cannot be read"))?;
        Ok(stored.as_deref() == Some(key))
    }

    /// Lists the unfinished jobs: number, user, and size of the program in bytes.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn stored_bytes(&self) -> Result<Vec<(u64, u32, u64)>, StoreError> {
        read::stored_bytes(&self.connection).map_err(sqlite(&self.path, "cannot be read"))
    }

    /// Returns the number of the last committed batch; 0 before the first.
    pub fn batch(&self) -> i64 {
        self.batch
    }

    /// Opens a reader that works in parallel with the writer.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn reader(&self) -> Result<StoreReader, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)
            .map_err(sqlite(&self.path, "cannot be opened"))?;
        sums::register(&connection).map_err(sqlite(&self.path, "cannot be prepared"))?;
        Ok(StoreReader::new(connection, self.path.clone()))
    }
}

/// Returns a function that adds the file and the action to an SQLite error.
fn sqlite(path: &Path, action: &'static str) -> impl Fn(rusqlite::Error) -> StoreError + Copy {
    move |source| {
        let path = path.to_owned();
        // If the disk has no space for the index of the write-ahead log, SQLite reports an
        // input/output error.
        let is_unclear = source.sqlite_error_code() == Some(ErrorCode::SystemIoFailure);
        match is_unclear && is_full(&path) {
            true => StoreError::Full {
                path,
                action,
                source,
            },
            false => StoreError::Sqlite {
                path,
                action,
                source,
            },
        }
    }
}

/// Returns whether the file system of a file has no space for another page.
fn is_full(path: &Path) -> bool {
    let dir = path.parent().unwrap_or(path);
    let room = rustix::fs::statvfs(dir).map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    room.is_ok_and(|bytes| bytes < PAGE)
}

/// Decodes a value after verifying its checksum: SQLite detects damage to its own structure, but
/// not to the values.
fn decode<T: serde::de::DeserializeOwned>(
    path: &Path,
    what: &str,
    body: &[u8],
    checksum: u32,
) -> Result<T, StoreError> {
    if crc32fast::hash(body) != checksum {
        return Err(StoreError::Damaged {
            path: path.to_owned(),
            what: format!("{what} is not what was written"),
        });
    }
    postcard::from_bytes(body).map_err(|error| StoreError::Damaged {
        path: path.to_owned(),
        what: format!("{what} cannot be read: {error}"),
    })
}
