//! Samples of stores, one of each version of the tables that is read.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use tollgate_store::{FORMAT, integrity};

/// Copies the sample of a version to `path`.
pub(crate) fn copy_sample_of(version: u32, path: &Path) {
    let name = format!("tests/fixtures/store-{version}.db");
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(name), path).unwrap();
}

/// Copies the sample of a version as if its state had the format of today.
pub(crate) fn copy_sample_with_state_of_today(version: u32, path: &Path) {
    copy_sample_of(version, path);
    let connection = Connection::open(path).unwrap();
    integrity::register(&connection).unwrap();
    let sql = "UPDATE snapshot SET format = ?1";
    connection.execute(sql, [FORMAT]).unwrap();
}
