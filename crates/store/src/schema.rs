//! The tables.
//!
//! The version of the tables is the number that SQLite stores as `user_version`. Tables that differ from those of this
//! version are damaged: the definitions of all tables are compared. A change of the tables takes the next number, brings
//! the tables of older versions to its own, and keeps a sample of a store (`tests/fixtures` of `tollgate-server`).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use rusqlite::{Connection, TransactionBehavior};

use crate::error::{StoreError, sqlite};
use crate::format::{FIRST, VERSION};
use crate::integrity;

/// The definitions, without the checksums of the rows.
const TABLES: [&str; 7] = [
    include_str!("schema/jobs.sql"),
    include_str!("schema/texts.sql"),
    include_str!("schema/sums.sql"),
    LATER_TABLES[0].1,
    LATER_TABLES[1].1,
    LATER_TABLES[2].1,
    LATER_TABLES[3].1,
];

/// The definitions of the tables that later versions than [`FIRST`] added.
const LATER_TABLES: [(u32, &str); 4] = [
    (18, include_str!("schema/runs.sql")),
    (19, include_str!("schema/history.sql")),
    (20, include_str!("schema/desktops.sql")),
    (21, include_str!("schema/expected_hosts.sql")),
];

/// These tables and their indices, with the version of each.
const ADDED: [(&str, u32); 14] = [
    ("placement", 18),
    ("step", 18),
    ("place", 19),
    ("place_ended", 19),
    ("late_promise", 19),
    ("turn", 19),
    ("sample", 19),
    ("host_use", 20),
    ("host_use_at", 20),
    ("eviction", 20),
    ("eviction_at", 20),
    ("abandonment", 20),
    ("on_expected", 21),
    ("promise_on_expected", 21),
];

/// Returns whether tables of a version have one, or an index, of a name.
pub(crate) fn has_table(version: u32, name: &str) -> bool {
    let added = ADDED.iter().find(|(table, _)| *table == name);
    added.is_none_or(|(_, since)| *since <= version)
}

/// Returns whether a version has an entry of the schema, as in `table step`, or `trigger step_sum_of_inserted`.
fn is_of_version(version: u32, entry: &str) -> bool {
    let name = entry.split_once(' ').map_or(entry, |(_, name)| name);
    let table = name.split_once("_sum_of_").map_or(name, |(table, _)| table);
    has_table(version, table)
}

/// Returns the statements that create the tables.
fn tables() -> String {
    TABLES.concat() + &integrity::sums_of_tables()
}

/// Marks the file as a store of this program: `toll` in ASCII.
const APPLICATION: i64 = 0x746f_6c6c;

/// Creates the tables in an empty file, and verifies that they are those of this version.
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
    let missing = match found {
        None => Some(tables()),
        Some(VERSION) => None,
        Some(older) => {
            // A damaged store stays as it is.
            compare(connection, path)?;
            let is_new = |name: &str| !has_table(older, name);
            let later = LATER_TABLES.iter().filter(|(since, _)| *since > older);
            let later: String = later.map(|(_, tables)| *tables).collect();
            Some(later + &integrity::sums_of(is_new))
        }
    };
    if let Some(missing) = missing {
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        transaction.execute_batch(&missing).map_err(failed)?;
        transaction
            .pragma_update(None, "application_id", APPLICATION)
            .map_err(failed)?;
        transaction
            .pragma_update(None, "user_version", VERSION)
            .map_err(failed)?;
        transaction.commit().map_err(failed)?;
    }
    compare(connection, path)
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
        Err(_) => Err(damaged("its version is not a number of tables")),
    }
}

/// Fails unless the tables are those of the version that the store names.
pub(crate) fn compare(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let failed = sqlite(path, "cannot be read");
    let version = version(connection, path)?.unwrap_or(VERSION);
    let found = texts(connection).map_err(failed)?;
    let expected = expected_texts().map_err(failed)?;
    let is_expected = |name: &str| is_of_version(version, name);
    let differs = expected
        .iter()
        .filter(|(name, _)| is_expected(name))
        .find(|(name, text)| found.get(*name) != Some(*text))
        .or_else(|| {
            found
                .iter()
                .find(|(name, _)| !expected.contains_key(*name) || !is_expected(name))
        });
    match differs {
        None => Ok(()),
        Some((name, _)) => Err(StoreError::Damaged {
            path: path.to_owned(),
            what: format!("{name} is not that of version {version}"),
        }),
    }
}

/// Returns the definitions of this version. They are made once in a process, because that takes as long as hundreds
/// of commits.
fn expected_texts() -> rusqlite::Result<&'static BTreeMap<String, String>> {
    static TEXTS: OnceLock<BTreeMap<String, String>> = OnceLock::new();
    if let Some(texts) = TEXTS.get() {
        return Ok(texts);
    }
    let scratch = Connection::open_in_memory()?;
    integrity::register(&scratch)?;
    scratch.execute_batch(&tables())?;
    let texts = texts(&scratch)?;
    Ok(TEXTS.get_or_init(|| texts))
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
    #[test]
    fn every_sum_of_the_triggers_stays_in_the_range_of_its_column() {
        let sums = include_str!("schema/sums.sql");
        let n_sums = sums.matches(" + excluded.").count();
        assert!(n_sums > 10);
        let in_casts = sums.split("CAST(").skip(1);
        let in_casts =
            in_casts.map(|cast| &cast[..cast.find(" AS INTEGER)").expect("it is closed")]);
        assert_eq!(
            in_casts.filter(|sum| sum.contains(" + excluded.")).count(),
            n_sums
        );
    }
}
