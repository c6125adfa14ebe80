//! Copies of a store, and the check of a store that no service is using.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use tollgate_host::guarded;

use crate::{CheckedRows, StoreError, integrity, schema, sqlite};

/// What SQLite adds to the name of a store for its other files.
const OTHER_FILES: [&str; 3] = ["-wal", "-shm", "-journal"];

/// A store that is open for reading, with all of its files.
pub(crate) struct OpenStore {
    connection: Connection,
    path: PathBuf,
}

impl OpenStore {
    /// Opens a store. Every file is opened by now, so that another thread with other rights can read on.
    ///
    /// # Errors
    /// If a file of the store is not a regular file of its directory, or the store cannot be read.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        check_file(path)?;
        check_other_files(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection =
            Connection::open_with_flags(path, flags).map_err(sqlite(path, "cannot be opened"))?;
        integrity::register(&connection).map_err(sqlite(path, "cannot be read"))?;
        schema::version(&connection, path)?;
        let path = path.to_owned();
        Ok(Self { connection, path })
    }

    /// Copies a consistent state of the store, and verifies the copy. A service may write to the store
    /// meanwhile. `to` must not exist, and is on disk when this function returns.
    ///
    /// # Errors
    /// If the store cannot be read, the copy cannot be written, or the copied data is damaged.
    pub(crate) fn copy(&self, to: &Path) -> Result<CheckedRows, StoreError> {
        let file = |error| StoreError::File {
            path: to.to_owned(),
            error,
        };
        let target = OpenOptions::new()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(to)
            .map_err(file)?;
        let name = to
            .to_str()
            .ok_or_else(|| file(std::io::ErrorKind::InvalidFilename.into()))?;
        self.connection
            .execute("VACUUM INTO ?1", [name])
            .map_err(sqlite(&self.path, "cannot be copied"))?;
        target.sync_all().map_err(file)?;
        let parent = to.parent().unwrap_or(Path::new("."));
        File::open(parent)
            .and_then(|parent| parent.sync_all())
            .map_err(file)?;
        Self::open(to)?.check()
    }

    /// Verifies everything in the store.
    ///
    /// # Errors
    /// If the store cannot be read, is damaged, or was written by a version that is too new or too old.
    pub(crate) fn check(&self) -> Result<CheckedRows, StoreError> {
        let Some(version) = schema::version(&self.connection, &self.path)? else {
            return Err(StoreError::Damaged {
                path: self.path.clone(),
                what: "the store is empty".to_owned(),
            });
        };
        schema::compare(&self.connection, &self.path, version)?;
        integrity::check(&self.connection, &self.path, version)
    }
}

/// Verifies everything in a store without changing the store.
///
/// # Errors
/// If the store cannot be read, is damaged, or was written by a version that is too new or too old.
pub fn check(path: &Path) -> Result<CheckedRows, StoreError> {
    OpenStore::open(path)?.check()
}

/// Verifies that the names of SQLite's other files stand for regular files, or for nothing: SQLite would wait
/// for a pipe.
///
/// # Errors
/// If one of them is something else.
pub(crate) fn check_other_files(path: &Path) -> Result<(), StoreError> {
    OTHER_FILES.into_iter().try_for_each(|ending| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        check_file(Path::new(&name))
    })
}

fn check_file(path: &Path) -> Result<(), StoreError> {
    guarded::check(path).map_err(|error| StoreError::File {
        path: path.to_owned(),
        error: error.into(),
    })
}
