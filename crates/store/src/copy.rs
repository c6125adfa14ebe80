//! Copies of a store, and the check of a store that no service is using.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::{CheckedRows, StoreError, integrity, schema, sqlite};

/// Copies a consistent state of a store, and verifies the copy. A service may write to the store
/// meanwhile. `to` must not exist, and is on disk when this function returns.
///
/// # Errors
/// If the store cannot be read, the copy cannot be written, or the copied data is damaged.
pub fn copy(from: &Path, to: &Path) -> Result<CheckedRows, StoreError> {
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
    read_only(from)?
        .execute("VACUUM INTO ?1", [name])
        .map_err(sqlite(from, "cannot be copied"))?;
    target.sync_all().map_err(file)?;
    let parent = to.parent().unwrap_or(Path::new("."));
    File::open(parent)
        .and_then(|parent| parent.sync_all())
        .map_err(file)?;
    check(to)
}

/// Verifies everything in a store without changing the store.
///
/// # Errors
/// If the store cannot be read, is damaged, or was written by a version that is too new or too old.
pub fn check(path: &Path) -> Result<CheckedRows, StoreError> {
    let connection = read_only(path)?;
    integrity::register(&connection).map_err(sqlite(path, "cannot be read"))?;
    let Some(version) = schema::version(&connection, path)? else {
        return Err(StoreError::Damaged {
            path: path.to_owned(),
            what: "the store is empty".to_owned(),
        });
    };
    schema::compare(&connection, path, version)?;
    integrity::check(&connection, path, version)
}

fn read_only(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, flags).map_err(sqlite(path, "cannot be opened"))
}
