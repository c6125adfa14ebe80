//! What was said and done, on disk: nothing is answered before it is here.
//!
//! | table | what it holds |
//! |---|---|
//! | `batch` | the commands since the last snapshot, one row a step: the state is what follows from them |
//! | `snapshot` | the state after some batch |
//! | `job`, `attempt` | what became of each job, for those who ask |
//! | `ledger` | money, append-only, one row an attempt and kind |
//!
//! One transaction a step writes to all of them, through SQLite's write-ahead log with full
//! synchronisation: what was committed outlives the process, the system and the power.

mod read;
mod schema;
mod write;

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode, OpenFlags};

pub use read::{Account, AttemptRow, JobRow, Reader, Selection};
pub use schema::VERSION;
pub use write::{Batch, Program};

use crate::core::{Command, Core, Rules, Saved};

/// The format of a snapshot and of commands. It changes whenever what is stored, or what it means,
/// does.
const FORMAT: u32 = 1;

/// The store, to write to. There is one a folder.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
    /// The number of the last batch.
    batch: i64,
    /// Batches since the last snapshot.
    since_snapshot: u32,
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
    #[error("{}: cannot be opened: {error}", path.display())]
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
    /// It holds what no version ever wrote.
    #[error("{}: damaged: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
}

impl StoreError {
    /// Whether there is no room left on the disk.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Sqlite { source, .. } => source.sqlite_error_code() == Some(ErrorCode::DiskFull),
            Self::File { error, .. } => error.kind() == io::ErrorKind::StorageFull,
            Self::Newer { .. } | Self::Damaged { .. } => false,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Newer { .. } => {
                Some("start the version of tollgate that wrote it, or a newer one")
            }
            Self::Damaged { .. } => Some("restore the folder from a copy"),
            Self::File { .. } => None,
            Self::Sqlite { source, .. } => match source.sqlite_error_code() {
                Some(ErrorCode::DiskFull) => Some("make room on the disk"),
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                    Some("restore the folder from a copy")
                }
                Some(_) | None => None,
            },
        }
    }
}

impl Store {
    /// Opens the store at `path`, or makes one; brings an older one up to date.
    ///
    /// # Errors
    /// If it cannot be read or written, is damaged, or was written by a newer version.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
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
        schema::prepare(&mut connection, path)?;
        let batch = connection
            .query_row("SELECT max(coalesce((SELECT max(seq) FROM batch), 0), coalesce((SELECT seq FROM snapshot), 0))", [], |row| row.get(0))
            .map_err(failed("cannot be read"))?;
        Ok(Self {
            connection,
            path: path.to_owned(),
            batch,
            since_snapshot: 0,
        })
    }

    /// The service as it was after the last commit: from the snapshot, with everything since
    /// handled again.
    ///
    /// # Errors
    /// If the store cannot be read or is damaged.
    pub fn recover(&mut self, rules: &Rules) -> Result<Core, StoreError> {
        let mut core = match self.snapshot()? {
            Some(saved) => Core::restore(saved, rules.clone()),
            None => Core::new(rules.clone()),
        };
        self.since_snapshot = 0;
        let path = self.path.clone();
        let mut statement = self
            .connection
            .prepare("SELECT at, commands FROM batch ORDER BY seq")
            .map_err(sqlite(&path, "cannot be read"))?;
        let mut rows = statement
            .query([])
            .map_err(sqlite(&path, "cannot be read"))?;
        while let Some(row) = rows.next().map_err(sqlite(&path, "cannot be read"))? {
            let (at, commands) = read::batch(row).map_err(sqlite(&path, "cannot be read"))?;
            let commands: Vec<Command> = decode(&path, "a batch", &commands)?;
            core.step(at, &commands);
            self.since_snapshot += 1;
        }
        Ok(core)
    }

    fn snapshot(&self) -> Result<Option<Saved>, StoreError> {
        let found = self
            .connection
            .query_row("SELECT format, body FROM snapshot", [], |row| {
                Ok((row.get::<_, u32>(0)?, row.get::<_, Vec<u8>>(1)?))
            });
        match found {
            Ok((FORMAT, body)) => decode(&self.path, "the snapshot", &body).map(Some),
            Ok((found, _)) => Err(StoreError::Damaged {
                path: self.path.clone(),
                what: format!("the snapshot has format {found}"),
            }),
            Err(rusqlite::Error::QueryReturnedNoRows) => Ok(None),
            Err(source) => Err(sqlite(&self.path, "cannot be read")(source)),
        }
    }

    /// What a job runs; none if it was rejected, or there is no such job.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn program(&self, job: u64) -> Result<Option<Program>, StoreError> {
        read::program(&self.connection, job).map_err(sqlite(&self.path, "cannot be read"))
    }

    /// A reader beside it.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn reader(&self) -> Result<Reader, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)
            .map_err(sqlite(&self.path, "cannot be opened"))?;
        Ok(Reader::new(connection, self.path.clone()))
    }
}

/// Names the file and what was done with it.
fn sqlite(path: &Path, action: &'static str) -> impl Fn(rusqlite::Error) -> StoreError + Copy {
    move |source| StoreError::Sqlite {
        path: path.to_owned(),
        action,
        source,
    }
}

fn decode<T: serde::de::DeserializeOwned>(
    path: &Path,
    what: &str,
    body: &[u8],
) -> Result<T, StoreError> {
    postcard::from_bytes(body).map_err(|error| StoreError::Damaged {
        path: path.to_owned(),
        what: format!("{what} cannot be read: {error}"),
    })
}
