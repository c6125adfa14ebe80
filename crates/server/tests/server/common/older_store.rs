//! Stores that earlier versions wrote.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tollgate_store::{FORMAT, integrity};

/// Copies the store of a version, which has unfinished jobs, to a data directory. Returns its path.
pub(crate) fn copy_older_store(version: u32, dir: &Path) -> PathBuf {
    let path = dir.join("tollgate.db");
    let name = format!("tests/fixtures/store-{version}.db");
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(name), &path).unwrap();
    path
}

/// Copies the store of a version as if its state had the format of today: the tables alone are older.
pub(crate) fn copy_store_with_older_tables(version: u32, dir: &Path) -> PathBuf {
    let path = copy_older_store(version, dir);
    let connection = Connection::open(&path).unwrap();
    integrity::register(&connection).unwrap();
    let sql = "UPDATE snapshot SET format = ?1";
    connection.execute(sql, [FORMAT]).unwrap();
    path
}
