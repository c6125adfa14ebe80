//! The store, for writing: opening, disk space, and readers.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use crate::disk_reserve::DiskReserve;
use crate::error::{StoreError, sqlite};
use crate::read::{self, StoreReader};
use crate::schema;
use crate::{copy, integrity, sums};

/// The store, for writing. A data directory has exactly one.
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
    /// Number of the last batch.
    pub(crate) batch: i64,
    /// Number of batches since the last snapshot.
    pub(crate) since_snapshot: u32,
    /// Maximum size of the texts that a user keeps of jobs that are over, in bytes.
    pub(crate) max_kept: i64,
    pub(crate) disk_reserve: DiskReserve,
}

impl Store {
    /// Opens or creates the store at `path`. Verifies all of its contents, which reads the whole file.
    ///
    /// # Errors
    /// If the store cannot be read or written, is damaged, or was written by a version that is too
    /// new or too old.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let store = Self::open_unchecked(path)?;
        integrity::check(&store.connection, path)?;
        Ok(store)
    }

    /// Opens the store like [`Store::open`], but verifies only its tables and not their rows.
    /// Verifying the rows of a million jobs takes seconds, and can be left to [`check`](crate::check).
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
        schema::version(&connection, path)?;
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
