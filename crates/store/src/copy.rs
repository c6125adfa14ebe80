//! Copies of a store, and the check of a store that no service is using.

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};
use tollgate_host::guarded;
use tollgate_policy::PolicyRegistry;

use crate::error::{StoreError, sqlite};
use crate::integrity::{self, CheckedRows};
use crate::rehearsal::{self, Rehearsal};
use crate::replay::Replay;
use crate::schema;

/// The suffixes that SQLite adds to the name of a store for its other files.
const OTHER_FILES: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Length of the header of a file of SQLite, in bytes, up to its version for writing.
const HEADER_LEN: usize = 19;

/// Maximum version of the format of a file that SQLite writes to.
const MAX_WRITE_VERSION: u8 = 2;

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

    /// Opens a store of which this process has no other file open, and verifies that SQLite could write to it.
    ///
    /// # Errors
    /// As [`OpenStore::open`], and if the store cannot be written to.
    pub(crate) fn open_alone(path: &Path) -> Result<Self, StoreError> {
        check_header(path)?;
        Self::open(path)
    }

    /// Copies a consistent state of the store. A service may write to the store meanwhile. `to` must not
    /// exist, and is on disk when this function returns.
    ///
    /// # Errors
    /// If the store cannot be read, or the copy cannot be written.
    pub(crate) fn copy(&self, to: &Path) -> Result<(), StoreError> {
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
            .map_err(file)
    }

    /// Verifies everything in the store, and that a service could go on with it: recovers the state like a
    /// service. `registry` has the policies that the rules of the store may name; these may start
    /// programs. No service may write to the store meanwhile.
    ///
    /// # Errors
    /// The error with which a service would refuse to start.
    pub(crate) fn check_servable(
        &self,
        registry: &PolicyRegistry,
    ) -> Result<(CheckedRows, Rehearsal), StoreError> {
        let rows = self.check()?;
        let rehearsal = rehearsal::rehearse(&self.connection, &self.path, registry)?;
        Ok((rows, rehearsal))
    }

    /// Verifies that this version could go on with the jobs once the service that may write to the store has ended.
    ///
    /// # Errors
    /// If the tables are of a version that is too new or too old, or unfinished jobs are in a state of another format.
    pub(crate) fn check_upgrade(&self) -> Result<(), StoreError> {
        schema::version(&self.connection, &self.path)?;
        Replay::new(&self.connection, &self.path).check_format()
    }

    /// Verifies everything in the store.
    ///
    /// # Errors
    /// If the store cannot be read, is damaged, or was written by a version that is too new or too old.
    fn check(&self) -> Result<CheckedRows, StoreError> {
        if schema::version(&self.connection, &self.path)?.is_none() {
            return Err(StoreError::Damaged {
                path: self.path.clone(),
                what: "the store is empty".to_owned(),
            });
        }
        schema::compare(&self.connection, &self.path)?;
        integrity::check(&self.connection, &self.path)
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

/// Verifies that SQLite can write to a store that was opened for writing.
///
/// # Errors
/// If it cannot.
pub(crate) fn check_writable(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let is_readonly = connection.is_readonly("main");
    match is_readonly.map_err(sqlite(path, "cannot be read"))? {
        true => Err(unwritable(path)),
        false => Ok(()),
    }
}

/// Verifies by the header of a store that SQLite could write to it. Closing the file ends the locks of this
/// process on it, so no other connection to the store may be open.
fn check_header(path: &Path) -> Result<(), StoreError> {
    let failed = |error| StoreError::File {
        path: path.to_owned(),
        error,
    };
    let file = guarded::open(path).map_err(|error| failed(error.into()))?;
    let mut header = Vec::new();
    let read = file.take(HEADER_LEN as u64).read_to_end(&mut header);
    read.map_err(failed)?;
    match header.get(HEADER_LEN - 1) {
        Some(&version) if version > MAX_WRITE_VERSION => Err(unwritable(path)),
        Some(_) | None => Ok(()),
    }
}

fn unwritable(path: &Path) -> StoreError {
    StoreError::Damaged {
        path: path.to_owned(),
        what: "its header names a format that cannot be written".to_owned(),
    }
}

fn check_file(path: &Path) -> Result<(), StoreError> {
    guarded::check(path).map_err(|error| StoreError::File {
        path: path.to_owned(),
        error: error.into(),
    })
}
