//! What was said and done, on disk: nothing is answered before it is here.
//!
//! | table | what it holds |
//! |---|---|
//! | `batch` | the commands since the last snapshot, one row a step: the state is what follows from them |
//! | `snapshot` | the state after some batch |
//! | `job`, `attempt` | what became of each job, for those who ask |
//! | `array`, `task_range` | how many tasks of an array stand where, and which of them never ran |
//! | `script` | the texts of scripts that came with jobs which are not over, each once |
//! | `ledger` | money, append-only, one row an attempt and kind |
//! | `rules` | the rules that the batches were handled under |
//! | `total`, `promise`, `account` | sums over jobs that are over, promises and the ledger |
//! | `sum_of` | the number of rows of each of these, and the sum of their checksums |
//!
//! One transaction a step writes to all of them, through SQLite's write-ahead log with full
//! synchronisation: what was committed outlives the process, the system and the power.

mod arrays;
mod attempts;
mod backup;
mod disk_reserve;
pub mod integrity;
mod objectives;
mod read;
mod recover;
mod schema;
mod tasks;
mod write;

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OpenFlags};

pub use backup::{check, copy};
pub use integrity::CheckedRows;
pub use objectives::{EstimateCoverage, ObjectiveSums, PromiseBin};
pub use read::{AccountRow, AttemptRow, JobFilter, JobRow, StoreReader};
pub use schema::{FIRST, VERSION};
pub use tasks::ArrayRow;
pub use write::{CommandBatch, JobProgram};

use disk_reserve::DiskReserve;

/// The format of a snapshot and of commands. It changes whenever what is stored, or what it means,
/// does.
const FORMAT: u32 = 3;

/// Bytes of a page of the store, at most.
const PAGE: u64 = 64 << 10;

/// The store, to write to. There is one a folder.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    /// The number of the last batch.
    batch: i64,
    /// Batches since the last snapshot.
    since_snapshot: u32,
    disk_reserve: DiskReserve,
}

/// Why the store cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite says no.
    #[error("{}: {action}: {source}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What was being done.
        action: &'static str,
        /// What it said.
        source: rusqlite::Error,
    },
    /// The system says no.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What it said.
        error: io::Error,
    },
    /// It was written by a newer program.
    #[error("{}: written by a newer version (format {found}, this program reads up to {VERSION})", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// The store was written before the first release.
    #[error("{}: written by a version before the first release (format {found}, this program reads {FIRST} to {VERSION})", path.display())]
    Older {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// The disk is full.
    #[error("{}: {action}: no space is left on the disk: {source}", path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// What was being done.
        action: &'static str,
        /// What SQLite said, which need not name the cause.
        source: rusqlite::Error,
    },
    /// Another version left something that has to be handled again, and might decide otherwise.
    #[error("{}: version {program} was killed, and version {} cannot recover its last commands", path.display(), env!("CARGO_PKG_VERSION"))]
    OtherProgram {
        /// The file.
        path: PathBuf,
        /// The version that wrote it.
        program: String,
    },
    /// There are jobs that were let in under other rules.
    #[error("{}: {live} unfinished jobs were admitted under {was}, but the configuration says {would_be}", path.display())]
    OtherRules {
        /// The file.
        path: PathBuf,
        /// How many jobs are not over.
        live: usize,
        /// The rules in force.
        was: String,
        /// The rules that were to be in force.
        would_be: String,
    },
    /// It holds what no version ever wrote.
    #[error("{}: damaged: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
}

/// The hint for a damaged store.
const RESTORE: &str =
    "`tollgate restore BACKUP --data NEW` brings back what `tollgate backup` kept";

impl StoreError {
    /// Whether there is no room left on the disk.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Full { .. } => true,
            Self::Sqlite { source, .. } => source.sqlite_error_code() == Some(ErrorCode::DiskFull),
            Self::File { error, .. } => error.kind() == io::ErrorKind::StorageFull,
            Self::Newer { .. }
            | Self::Older { .. }
            | Self::OtherProgram { .. }
            | Self::OtherRules { .. }
            | Self::Damaged { .. } => false,
        }
    }

    /// What to do about it.
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
    /// Opens the store at `path`, or makes one; brings an older one up to date, and verifies all that
    /// is in it, which reads all of the file.
    ///
    /// # Errors
    /// If it cannot be read or written, is damaged, or was written by a version that is too new or
    /// too old.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let store = Self::open_unchecked(path)?;
        integrity::check(&store.connection, path, VERSION)?;
        Ok(store)
    }

    /// Opens the store as [`Store::open`] does, and verifies its tables, but not their rows: for a
    /// million jobs that takes seconds, and can be left to [`check`].
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_unchecked(path: &Path) -> Result<Self, StoreError> {
        let failed = |action| sqlite(path, action);
        // SQLite gives its other files the rights of this one.
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
        schema::prepare(&mut connection, path)?;
        let batch = connection
            .query_row("SELECT max(coalesce((SELECT max(seq) FROM batch), 0), coalesce((SELECT seq FROM snapshot), 0))", [], |row| row.get(0))
            .map_err(failed("cannot be read"))?;
        Ok(Self {
            connection,
            path: path.to_owned(),
            batch,
            since_snapshot: 0,
            disk_reserve: DiskReserve::for_store(path),
        })
    }

    /// The system says no to something that was to be written.
    pub(crate) fn failed(&self, error: io::Error) -> StoreError {
        StoreError::File {
            path: self.path.clone(),
            error,
        }
    }

    /// Keeps room on the disk for the ends of jobs; false if there is none to be had.
    pub fn keep_reserve(&self) -> bool {
        self.disk_reserve.acquire()
    }

    /// Gives that room up, so that what must be written can be; false if there is none left.
    pub fn release_reserve(&self) -> bool {
        self.disk_reserve.release()
    }

    /// What a job runs; none if it was rejected, or there is no such job.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn program(&self, job: u64) -> Result<Option<JobProgram>, StoreError> {
        read::program(&self.connection, job).map_err(sqlite(&self.path, "cannot be read"))
    }

    /// The text of a script. None if no job that is not over came with it.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn script(&self, sha256: &str) -> Result<Option<String>, StoreError> {
        read::script(&self.connection, sha256).map_err(sqlite(&self.path, "cannot be read"))
    }

    /// Whose a job was that is over, and whether every task of it ended with exit code 0; none if
    /// there is no such job, or it is not over.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn ended(&self, job: u64) -> Result<Option<(u32, bool)>, StoreError> {
        read::ended(&self.connection, job).map_err(sqlite(&self.path, "cannot be read"))
    }

    /// The jobs that are not over: their numbers, whose they are, and the bytes of what they run.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn stored_bytes(&self) -> Result<Vec<(u64, u32, u64)>, StoreError> {
        read::stored_bytes(&self.connection).map_err(sqlite(&self.path, "cannot be read"))
    }

    /// The number of the last batch that was committed; 0 before the first.
    pub fn batch(&self) -> i64 {
        self.batch
    }

    /// A reader beside it.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn reader(&self) -> Result<StoreReader, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)
            .map_err(sqlite(&self.path, "cannot be opened"))?;
        Ok(StoreReader::new(connection, self.path.clone()))
    }
}

/// Names the file and what was done with it.
fn sqlite(path: &Path, action: &'static str) -> impl Fn(rusqlite::Error) -> StoreError + Copy {
    move |source| {
        let path = path.to_owned();
        // If there is no room for the index of its log, SQLite reports an input/output error.
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

/// Returns whether the file system of a file has no room for another page.
fn is_full(path: &Path) -> bool {
    let folder = path.parent().unwrap_or(path);
    let room = rustix::fs::statvfs(folder).map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
    room.is_ok_and(|bytes| bytes < PAGE)
}

/// SQLite notices when its own structure is damaged, and not when our data is.
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
