//! The tables, and how older ones become them.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::{StoreError, sqlite};

/// What each version added to the one before it.
const STEPS: &[&str] = &[
    "
CREATE TABLE batch (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    commands BLOB NOT NULL
) STRICT;
CREATE TABLE snapshot (
    id INTEGER PRIMARY KEY CHECK (id = 0),
    seq INTEGER NOT NULL,
    format INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;
CREATE TABLE job (
    id INTEGER PRIMARY KEY,
    user INTEGER NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    program TEXT NOT NULL,
    procs INTEGER NOT NULL,
    submit INTEGER NOT NULL,
    estimate INTEGER NOT NULL,
    source TEXT NOT NULL,
    due INTEGER,
    budget INTEGER,
    penalty REAL NOT NULL,
    decided INTEGER,
    price INTEGER,
    reasons TEXT,
    probability REAL,
    start INTEGER,
    finish INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX job_of_user ON job (user, id);
CREATE INDEX job_live ON job (state, id) WHERE state IN ('queued', 'held', 'running');
CREATE TABLE attempt (
    job INTEGER NOT NULL,
    task INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    ordered INTEGER NOT NULL,
    start INTEGER,
    pid INTEGER,
    finish INTEGER,
    status TEXT,
    wall INTEGER,
    cpu INTEGER,
    peak_memory INTEGER,
    PRIMARY KEY (job, task, attempt)
) STRICT, WITHOUT ROWID;
CREATE TABLE ledger (
    job INTEGER NOT NULL,
    task INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    kind TEXT NOT NULL,
    at INTEGER NOT NULL,
    user INTEGER NOT NULL,
    amount INTEGER NOT NULL,
    PRIMARY KEY (job, task, attempt, kind)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER ledger_is_never_changed BEFORE UPDATE ON ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
CREATE TRIGGER ledger_is_never_cut BEFORE DELETE ON ledger
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END;
",
    "
CREATE TABLE rules (
    id INTEGER PRIMARY KEY CHECK (id = 0),
    program TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;
DROP INDEX job_live;
CREATE INDEX job_live ON job (state, id) WHERE state IN ('queued', 'held', 'running', 'quoted');
DELETE FROM batch;
DELETE FROM snapshot;
ALTER TABLE batch ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE snapshot ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
",
    "
CREATE TABLE array (
    job INTEGER PRIMARY KEY,
    tasks TEXT NOT NULL,
    most INTEGER,
    queued INTEGER NOT NULL DEFAULT 0,
    held INTEGER NOT NULL DEFAULT 0,
    running INTEGER NOT NULL DEFAULT 0,
    finished INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0,
    lost INTEGER NOT NULL DEFAULT 0,
    rejected INTEGER NOT NULL DEFAULT 0,
    fulfilled INTEGER NOT NULL DEFAULT 0,
    wait INTEGER NOT NULL DEFAULT 0,
    worst INTEGER
) STRICT;
CREATE TABLE task_range (
    job INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    state TEXT NOT NULL,
    at INTEGER NOT NULL,
    reasons TEXT,
    PRIMARY KEY (job, first, state)
) STRICT, WITHOUT ROWID;
ALTER TABLE attempt ADD COLUMN ending TEXT;
ALTER TABLE job ADD COLUMN after TEXT;
DROP INDEX job_live;
CREATE INDEX job_live ON job (state, id)
    WHERE state IN ('queued', 'held', 'running', 'quoted', 'waiting');
DELETE FROM batch;
DELETE FROM snapshot;
UPDATE job SET state = 'lost', finish = submit
    WHERE state IN ('queued', 'held', 'running', 'quoted');
",
];

/// The version of the tables.
pub const VERSION: u32 = STEPS.len() as u32;

/// Marks the file as ours: `toll` in ASCII.
const APPLICATION: i64 = 0x746f_6c6c;

/// Makes the tables, or brings older ones up to date.
pub(super) fn prepare(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let failed = sqlite(path, "cannot be prepared");
    // One writer, and readers that never wait for it.
    connection
        .pragma_update(None, "journal_mode", "WAL")
        .map_err(failed)?;
    connection
        .pragma_update(None, "synchronous", "FULL")
        .map_err(failed)?;
    let version: u32 = connection
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .map_err(failed)?;
    let application: i64 = connection
        .pragma_query_value(None, "application_id", |row| row.get(0))
        .map_err(failed)?;
    if version > 0 && application != APPLICATION {
        return Err(StoreError::Damaged {
            path: path.to_owned(),
            what: "it is another program's database".to_owned(),
        });
    }
    if version > VERSION {
        return Err(StoreError::Newer {
            path: path.to_owned(),
            found: version,
        });
    }
    let missing = STEPS.iter().zip(1_u32..).skip(version as usize);
    for (step, number) in missing {
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        transaction.execute_batch(step).map_err(failed)?;
        transaction
            .pragma_update(None, "application_id", APPLICATION)
            .map_err(failed)?;
        transaction
            .pragma_update(None, "user_version", number)
            .map_err(failed)?;
        transaction.commit().map_err(failed)?;
    }
    Ok(())
}
