//! The tables, and the migrations from older versions.
//!
//! The version of the tables is the number that SQLite stores as `user_version`. A migration takes
//! the tables from one version to the next, in a transaction of its own. Tables that differ from
//! those of their version are damaged: the definitions of all tables are compared.

mod books;
pub(crate) mod contents;
mod ends;
mod promises;
pub(crate) mod records;
mod saturation;
mod task_numbers;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use rusqlite::{Connection, TransactionBehavior};

use crate::error::{StoreError, sqlite};
use crate::format::{FIRST, VERSION};
use crate::integrity;
use promises::{PROMISES, TOTALS, UNPROMISED};

/// The tables of version [`FIRST`].
const TABLES: &str = "
CREATE TABLE batch (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    commands BLOB NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE snapshot (
    id INTEGER PRIMARY KEY CHECK (id = 0),
    seq INTEGER NOT NULL,
    format INTEGER NOT NULL,
    body BLOB NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0
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
    attempts INTEGER NOT NULL DEFAULT 0,
    after TEXT
) STRICT;
CREATE INDEX job_of_user ON job (user, id);
CREATE INDEX job_live ON job (state, id)
    WHERE state IN ('queued', 'held', 'running', 'quoted', 'waiting');
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
    ending TEXT,
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
CREATE TABLE rules (
    id INTEGER PRIMARY KEY CHECK (id = 0),
    program TEXT NOT NULL,
    body TEXT NOT NULL
) STRICT;
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
CREATE TABLE total (
    user INTEGER PRIMARY KEY,
    submitted INTEGER NOT NULL,
    accepted INTEGER NOT NULL,
    fulfilled INTEGER NOT NULL,
    wait INTEGER NOT NULL,
    budgets INTEGER NOT NULL,
    utility INTEGER NOT NULL
) STRICT;
CREATE TABLE promise (
    user INTEGER NOT NULL,
    tenth INTEGER NOT NULL,
    promises INTEGER NOT NULL,
    expected REAL NOT NULL,
    kept INTEGER NOT NULL,
    PRIMARY KEY (user, tenth)
) STRICT, WITHOUT ROWID;
CREATE TABLE account (
    user INTEGER NOT NULL,
    day INTEGER NOT NULL,
    charges INTEGER NOT NULL,
    penalties INTEGER NOT NULL,
    PRIMARY KEY (user, day)
) STRICT, WITHOUT ROWID;

CREATE VIEW ended AS
SELECT id, user, 1 AS submitted, state <> 'rejected' AS accepted, kept,
    CASE WHEN kept THEN start - submit ELSE 0 END AS wait, coalesce(budget, 0) AS budget,
    due, probability, state
FROM (SELECT *, state = 'finished' AND (due IS NULL OR finish <= due + 1000) AS kept
    FROM job WHERE state IN ('finished', 'lost', 'rejected'));

CREATE TRIGGER job_is_over AFTER UPDATE OF state ON job
WHEN NEW.state IN ('finished', 'lost', 'rejected')
    AND OLD.state NOT IN ('finished', 'lost', 'rejected')
    AND NOT EXISTS (SELECT 1 FROM array WHERE job = NEW.id)
BEGIN
    INSERT INTO total SELECT user, submitted, accepted, kept, wait, budget,
            coalesce((SELECT sum(amount) FROM ledger WHERE job = id), 0)
        FROM ended WHERE id = NEW.id
        ON CONFLICT DO UPDATE SET submitted = submitted + excluded.submitted,
            accepted = accepted + excluded.accepted, fulfilled = fulfilled + excluded.fulfilled,
            wait = wait + excluded.wait, budgets = budgets + excluded.budgets,
            utility = utility + excluded.utility;
    INSERT INTO promise SELECT user, min(CAST(probability * 10 AS INTEGER), 9), 1, probability, kept
        FROM ended WHERE id = NEW.id AND accepted AND due IS NOT NULL AND probability IS NOT NULL
        ON CONFLICT DO UPDATE SET promises = promises + 1, expected = expected + excluded.expected,
            kept = kept + excluded.kept;
END;
CREATE TRIGGER job_was_rejected AFTER INSERT ON job
WHEN NEW.state = 'rejected' AND NOT EXISTS (SELECT 1 FROM array WHERE job = NEW.id)
BEGIN
    INSERT INTO total VALUES (NEW.user, 1, 0, 0, 0, coalesce(NEW.budget, 0), 0)
        ON CONFLICT DO UPDATE SET submitted = submitted + 1, budgets = budgets + excluded.budgets;
END;
CREATE TRIGGER tasks_are_over AFTER UPDATE ON array
WHEN NEW.finished + NEW.lost + NEW.rejected > OLD.finished + OLD.lost + OLD.rejected
BEGIN
    INSERT INTO total SELECT user,
            NEW.finished + NEW.lost + NEW.rejected - OLD.finished - OLD.lost - OLD.rejected,
            NEW.finished + NEW.lost - OLD.finished - OLD.lost, NEW.fulfilled - OLD.fulfilled,
            NEW.wait - OLD.wait, coalesce(budget, 0)
                * (NEW.finished + NEW.lost + NEW.rejected - OLD.finished - OLD.lost - OLD.rejected),
            0
        FROM job WHERE id = NEW.job
        ON CONFLICT DO UPDATE SET submitted = submitted + excluded.submitted,
            accepted = accepted + excluded.accepted, fulfilled = fulfilled + excluded.fulfilled,
            wait = wait + excluded.wait, budgets = budgets + excluded.budgets;
    INSERT INTO promise SELECT user, min(CAST(probability * 10 AS INTEGER), 9),
            NEW.finished + NEW.lost - OLD.finished - OLD.lost,
            probability * (NEW.finished + NEW.lost - OLD.finished - OLD.lost),
            NEW.fulfilled - OLD.fulfilled
        FROM job WHERE id = NEW.job AND due IS NOT NULL AND probability IS NOT NULL
            AND NEW.finished + NEW.lost > OLD.finished + OLD.lost
        ON CONFLICT DO UPDATE SET promises = promises + excluded.promises,
            expected = expected + excluded.expected, kept = kept + excluded.kept;
END;
CREATE TRIGGER ledger_is_added_up AFTER INSERT ON ledger
BEGIN
    INSERT INTO account VALUES (NEW.user, NEW.at / 86400000000,
            CASE NEW.kind WHEN 'charge' THEN NEW.amount ELSE 0 END,
            CASE NEW.kind WHEN 'penalty' THEN NEW.amount ELSE 0 END)
        ON CONFLICT DO UPDATE SET charges = charges + excluded.charges,
            penalties = penalties + excluded.penalties;
    INSERT INTO total SELECT NEW.user, 0, 0, 0, 0, 0, NEW.amount
        WHERE EXISTS (SELECT 1 FROM array WHERE job = NEW.job)
        ON CONFLICT DO UPDATE SET utility = utility + excluded.utility;
END;
";

/// Version 5: the names of job states become those that users see.
const STATE_NAMES: &str = "
DROP INDEX job_live;
UPDATE job SET state = 'dependent' WHERE state = 'waiting';
UPDATE job SET state = 'reserved' WHERE state = 'quoted';
UPDATE job SET state = 'expired' WHERE state = 'lapsed';
CREATE INDEX job_live ON job (state, id)
    WHERE state IN ('queued', 'held', 'running', 'reserved', 'dependent');
";

/// Version 6: the scripts of jobs, each stored once.
const SCRIPTS: &str = "
CREATE TABLE script (
    sha256 TEXT PRIMARY KEY,
    text TEXT NOT NULL
) STRICT;
ALTER TABLE job ADD COLUMN script TEXT;
CREATE INDEX job_of_script ON job (script) WHERE script IS NOT NULL AND finish IS NULL;
CREATE TRIGGER script_is_needed_no_more AFTER UPDATE OF finish ON job
WHEN NEW.script IS NOT NULL AND NEW.finish IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM job WHERE script = NEW.script AND finish IS NULL)
BEGIN
    DELETE FROM script WHERE sha256 = NEW.script;
END;
";

/// Version 11: exceptions from the shares of users.
const GRANTS: &str = "
CREATE TABLE granted (
    job INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    user INTEGER NOT NULL,
    reason TEXT NOT NULL
) STRICT;
";

/// Version 13: answers to requests that their clients may send again.
const ANSWERS: &str = "
CREATE TABLE answered (
    user INTEGER NOT NULL,
    key TEXT NOT NULL,
    at INTEGER NOT NULL,
    request TEXT NOT NULL,
    status INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (user, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX answered_at ON answered (at);
";

/// The number of versions that are read.
const N_VERSIONS: usize = (VERSION - FIRST + 1) as usize;

/// Returns the tables of version [`FIRST`], then the migration to each later version.
fn steps() -> [String; N_VERSIONS] {
    [
        TABLES.to_owned(),
        STATE_NAMES.to_owned(),
        SCRIPTS.to_owned(),
        integrity::step(),
        with_renewed_sums(integrity::FIRST_VERSION_WITH_PROMISES, PROMISES),
        with_renewed_sums(
            integrity::FIRST_VERSION_WITH_UNPROMISED,
            &[UNPROMISED, TOTALS].concat(),
        ),
        with_renewed_sums(integrity::FIRST_VERSION_WITH_USAGE, &records::step()),
        with_renewed_sums(integrity::FIRST_VERSION_WITH_GRANTS, GRANTS),
        with_renewed_sums(integrity::FIRST_VERSION_WITH_ENDS, ends::ENDS),
        with_renewed_sums(integrity::FIRST_VERSION_WITH_ANSWERS, ANSWERS),
        saturation::step(),
        with_renewed_sums(integrity::FIRST_VERSION_WITH_CONTENTS, &contents::step()),
        with_renewed_sums(integrity::FIRST_VERSION_WITH_BOOKS, &books::step()),
        with_renewed_sums(
            integrity::FIRST_VERSION_WITH_TASK_NUMBERS,
            task_numbers::TASK_NUMBERS,
        ),
    ]
}

/// Returns the migration to a version that changes tables with checksums.
fn with_renewed_sums(version: u32, changes: &str) -> String {
    let [drop_sums, keep_sums] = integrity::renewed_sums(version);
    [&drop_sums, changes, &keep_sums].concat()
}

/// Marks the file as a store of this program: `toll` in ASCII.
const APPLICATION: i64 = 0x746f_6c6c;

/// Creates the tables or migrates older ones, and verifies that they are those of this version.
pub(crate) fn prepare(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let failed = sqlite(path, "cannot be prepared");
    let found = version(connection, path)?;
    // One writer, with readers that never wait for the writer.
    connection
        .pragma_update(None, "journal_mode", "WAL")
        .map_err(failed)?;
    connection
        .pragma_update(None, "synchronous", "FULL")
        .map_err(failed)?;
    if let Some(found) = found {
        compare(connection, path, found)?;
    }
    let done = found.map_or(0, |found| (found - FIRST + 1) as usize);
    for (step, number) in steps().iter().zip(FIRST..).skip(done) {
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
    compare(connection, path, VERSION)
}

/// Returns the version of the tables; None if the file has no tables.
pub(crate) fn version(connection: &Connection, path: &Path) -> Result<Option<u32>, StoreError> {
    let failed = sqlite(path, "cannot be read");
    let number = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let version = number("user_version").map_err(failed)?;
    let application = number("application_id").map_err(failed)?;
    let is_empty: bool = connection
        .query_row(
            "SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)",
            [],
            |row| row.get(0),
        )
        .map_err(failed)?;
    if is_empty && version == 0 {
        return Ok(None);
    }
    let damaged = |what: &str| StoreError::Damaged {
        path: path.to_owned(),
        what: what.to_owned(),
    };
    if application != APPLICATION {
        return Err(damaged("it is another program's database"));
    }
    let path = path.to_owned();
    match u32::try_from(version) {
        Ok(found) if found > VERSION => Err(StoreError::Newer { path, found }),
        Ok(found) if found < FIRST => Err(StoreError::Older { path, found }),
        Ok(found) => Ok(Some(found)),
        Err(_) => Err(damaged("its version is no number of tables")),
    }
}

/// Fails unless the tables are those of `version`.
pub(crate) fn compare(
    connection: &Connection,
    path: &Path,
    version: u32,
) -> Result<(), StoreError> {
    let failed = sqlite(path, "cannot be read");
    let found = texts(connection).map_err(failed)?;
    let expected = expected_texts(version).map_err(failed)?;
    let differs = expected
        .iter()
        .find(|(name, text)| found.get(*name) != Some(*text))
        .or_else(|| found.iter().find(|(name, _)| !expected.contains_key(*name)));
    match differs {
        None => Ok(()),
        Some((name, _)) => Err(StoreError::Damaged {
            path: path.to_owned(),
            what: format!("{name} is not that of version {version}"),
        }),
    }
}

/// Returns the definitions of `version`, which is at least [`FIRST`] and at most [`VERSION`]. They are
/// made once in a process, because that takes as long as hundreds of commits.
fn expected_texts(version: u32) -> rusqlite::Result<&'static BTreeMap<String, String>> {
    static TEXTS: [OnceLock<BTreeMap<String, String>>; N_VERSIONS] =
        [const { OnceLock::new() }; N_VERSIONS];
    let known = &TEXTS[(version - FIRST) as usize];
    if let Some(texts) = known.get() {
        return Ok(texts);
    }
    let scratch = Connection::open_in_memory()?;
    integrity::register(&scratch)?;
    for (step, _) in steps().iter().zip(FIRST..=version) {
        scratch.execute_batch(step)?;
    }
    let texts = texts(&scratch)?;
    Ok(known.get_or_init(|| texts))
}

/// Returns the definitions of tables, indices, views and triggers by name. White space is removed,
/// because SQLite appends an added column to the line of the column before it.
fn texts(connection: &Connection) -> rusqlite::Result<BTreeMap<String, String>> {
    let mut statement =
        connection.prepare("SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_schema")?;
    let rows = statement.query_map([], |row| {
        let text: String = row.get(1)?;
        Ok((row.get(0)?, text.split_whitespace().collect()))
    })?;
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_of_an_older_store_get_their_present_names() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tollgate.db");
        let mut connection = Connection::open(&path).unwrap();
        integrity::register(&connection).unwrap();
        connection.execute_batch(TABLES).unwrap();
        connection
            .pragma_update(None, "application_id", APPLICATION)
            .unwrap();
        connection.pragma_update(None, "user_version", 4).unwrap();
        let sql =
            "INSERT INTO job (id, user, name, state, program, procs, submit, estimate, source,
                penalty) VALUES (?1, 0, '', ?2, '', 1, 0, 1, 'user', 0)";
        for (id, state) in (1_i64..).zip(["waiting", "quoted", "lapsed", "queued"]) {
            connection.execute(sql, (id, state)).unwrap();
        }
        prepare(&mut connection, &path).unwrap();
        let mut rows = connection
            .prepare("SELECT state FROM job ORDER BY id")
            .unwrap();
        let states: Vec<String> = rows
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        assert_eq!(states, ["dependent", "reserved", "expired", "queued"]);
    }
}
