//! Checksums over all rows of the store.
//!
//! SQLite detects damage to its own structure, but not a changed or a missing row. So the store
//! keeps the number of rows of each table and the sum of their checksums. Triggers update both in
//! the transaction that changes the rows; `check` computes them again and compares.

use std::path::Path;

use rusqlite::functions::FunctionFlags;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, params};

use crate::error::{StoreError, sqlite};
use crate::format::VERSION;
use crate::{schema, sums};

/// The tables with a checksum, and their columns.
const SUMMED_TABLES: [(&str, &str); 31] = [
    ("abandonment", "job, task, at, owner, rule, evictions, held"),
    ("account", "user, day, charges, penalties"),
    ("answered", "user, key, at, request, status, body"),
    (
        "array",
        "job, tasks, most, queued, held, running, finished, cancelled, lost, rejected, kept, worst, broken, void, unpromised, cpu, peak_memory, timed_out, out_of_memory, output_limit, unpromised_in_time",
    ),
    (
        "attempt",
        "job, task, attempt, ordered, start, pid, finish, status, wall, cpu, peak_memory, ending, promise, work, host",
    ),
    // `checksum` covers the commands; a replay verifies it.
    ("batch", "seq, at, checksum"),
    ("book", "user, account, day, entry, jobs"),
    ("content", "sha256, text"),
    ("eviction", "job, task, attempt, at, cause, held"),
    ("granted", "job, at, user, reason"),
    ("host_use", "host, at, cause"),
    (
        "job",
        "id, user, name, state, program, procs, submit, estimate, source, due, budget, penalty, decided, price, reasons, probability, start, finish, attempts, after, script, promise, account, queue, forecast, environment, command, batches",
    ),
    ("kept", "user, sha256, bytes, last"),
    ("kept_by_user", "user, bytes"),
    ("late_promise", "job, at, quoted"),
    ("ledger", "job, task, attempt, kind, at, user, amount"),
    ("on_expected", "job"),
    ("place", "job, task, attempt, nodes, start, finish"),
    ("placement", "job, task, attempt, hosts"),
    (
        "promise",
        "user, tenth, batches, promises, expected, kept, void",
    ),
    (
        "promise_on_expected",
        "user, tenth, promises, expected, kept, void",
    ),
    ("removed", "id, jobs, forecasts, covered"),
    ("rules", "id, program, body"),
    (
        "sample",
        "job, at, start, finish, earliest, latest, probability",
    ),
    ("snapshot", "id, seq, format, checksum"),
    (
        "step",
        "job, task, attempt, step, name, n_tasks, procs, hosts, start, finish, code, signal",
    ),
    ("task_numbers", "first, job, n_tasks"),
    ("task_range", "job, first, last, state, at, reasons"),
    ("total", "user, wait, budgets, utility"),
    ("turn", "job, at, kind, tasks, note"),
    (
        "usage",
        "user, account, day, jobs, wait, wall, core_ms, cpu, charges, penalties",
    ),
];

/// The numbers of rows that a check has verified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckedRows {
    /// Number of rows of all tables.
    pub rows: u64,
    /// Number of jobs.
    pub jobs: u64,
    /// Number of ledger entries.
    pub ledger_entries: u64,
}

/// Registers the function that the triggers of the store call, and the sums of its queries. A connection
/// without the function can read the rows of the store but not write to it.
///
/// # Errors
/// If SQLite rejects a function.
pub fn register(connection: &Connection) -> rusqlite::Result<()> {
    sums::register(connection)?;
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_INNOCUOUS;
    connection.create_scalar_function("row_sum", -1, flags, |row| {
        let mut sum = crc32fast::Hasher::new();
        for column in 0..row.len() {
            // Type and length come before the bytes, so that different rows never give equal input.
            let value = row.get_raw(column);
            match value {
                ValueRef::Null => sum.update(&[0]),
                ValueRef::Integer(number) => {
                    sum.update(&[1]);
                    sum.update(&number.to_le_bytes());
                }
                ValueRef::Real(number) => {
                    sum.update(&[2]);
                    sum.update(&number.to_bits().to_le_bytes());
                }
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                    sum.update(&[if matches!(value, ValueRef::Text(_)) {
                        3
                    } else {
                        4
                    }]);
                    sum.update(&bytes.len().to_le_bytes());
                    sum.update(bytes);
                }
            }
        }
        Ok(i64::from(sum.finalize()))
    })
}

/// Returns the statements that create the sums, and the triggers that keep them.
pub(crate) fn sums_of_tables() -> String {
    let table = "CREATE TABLE sum_of (
    name TEXT PRIMARY KEY,
    n_rows INTEGER NOT NULL,
    sum INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
";
    table.to_owned() + &sums_of(|_| true)
}

/// Returns the statements that create the sums of some tables, and the triggers that keep them.
pub(crate) fn sums_of(is_chosen: impl Fn(&str) -> bool) -> String {
    let chosen = SUMMED_TABLES.iter().filter(|(name, _)| is_chosen(name));
    let tables = chosen.map(|(name, columns)| keep_sum_of(name, columns));
    tables.collect()
}

fn keep_sum_of(name: &str, columns: &str) -> String {
    let of = |row: &str| {
        let columns = columns.split(", ").map(|column| format!("{row}.{column}"));
        format!("row_sum({})", columns.collect::<Vec<_>>().join(", "))
    };
    let (old, new) = (of("OLD"), of("NEW"));
    format!(
        "INSERT INTO sum_of
    SELECT '{name}', count(*), coalesce(sum(row_sum({columns})), 0) FROM {name};
CREATE TRIGGER {name}_sum_of_inserted AFTER INSERT ON {name}
BEGIN
    UPDATE sum_of SET n_rows = n_rows + 1, sum = sum + {new} WHERE name = '{name}';
END;
CREATE TRIGGER {name}_sum_of_updated AFTER UPDATE ON {name}
BEGIN
    UPDATE sum_of SET sum = sum - {old} + {new} WHERE name = '{name}';
END;
CREATE TRIGGER {name}_sum_of_deleted AFTER DELETE ON {name}
BEGIN
    UPDATE sum_of SET n_rows = n_rows - 1, sum = sum - {old} WHERE name = '{name}';
END;
"
    )
}

/// Verifies the structure of the file, the sums of all tables, and that accounts and totals are the
/// sums of the ledger. Reads the whole file.
///
/// # Errors
/// [`StoreError::Damaged`] with a description of the damage, or an error of reading the store.
pub(crate) fn check(connection: &Connection, path: &Path) -> Result<CheckedRows, StoreError> {
    let failed = sqlite(path, "cannot be read");
    let damaged = |what: String| StoreError::Damaged {
        path: path.to_owned(),
        what,
    };
    // One read transaction sees a consistent state while a service writes.
    let reading = connection.unchecked_transaction().map_err(failed)?;
    let found: String = reading
        .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
        .map_err(failed)?;
    if found != "ok" {
        return Err(damaged(found));
    }
    let mut checked = CheckedRows::default();
    let version = schema::version(&reading, path)?.unwrap_or(VERSION);
    let tables = SUMMED_TABLES.into_iter();
    for (name, columns) in tables.filter(|(name, _)| schema::has_table(version, name)) {
        let rows = compare_sum(&reading, name, columns).map_err(failed)?;
        let rows =
            rows.ok_or_else(|| damaged(format!("the rows of `{name}` are not what was written")))?;
        checked.rows += rows;
        match name {
            "job" => checked.jobs = rows,
            "ledger" => checked.ledger_entries = rows,
            _ => {}
        }
    }
    for (sql, what) in [
        (
            ACCOUNTS_DIFFER,
            "the accounts are not the sums of the ledger",
        ),
        (TOTALS_DIFFER, "the totals are not the sums of the ledger"),
        (
            USAGE_DIFFERS,
            "the bookings in the usage are not the sums of the ledger",
        ),
    ] {
        let differs: bool = reading
            .query_row(sql, [], |row| row.get(0))
            .map_err(failed)?;
        if differs {
            return Err(damaged(what.to_owned()));
        }
    }
    Ok(checked)
}

/// Returns the number of rows of a table; None if their sum differs from the stored one.
fn compare_sum(
    connection: &Connection,
    name: &str,
    columns: &str,
) -> rusqlite::Result<Option<u64>> {
    let sql = format!("SELECT count(*), coalesce(sum(row_sum({columns})), 0) FROM {name}");
    let found: (i64, i64) = connection.query_row(&sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let sql = "SELECT EXISTS (SELECT 1 FROM sum_of WHERE name = ?1 AND n_rows = ?2 AND sum = ?3)";
    let is_so: bool =
        connection.query_row(sql, params![name, found.0, found.1], |row| row.get(0))?;
    Ok(is_so.then_some(found.0.unsigned_abs()))
}

const ACCOUNTS_DIFFER: &str = "SELECT EXISTS (
    SELECT user, at / 86400000000 AS day,
        saturating_sum(CASE kind WHEN 'charge' THEN amount ELSE 0 END),
        saturating_sum(CASE kind WHEN 'penalty' THEN amount ELSE 0 END)
    FROM ledger GROUP BY user, day
    EXCEPT SELECT user, day, charges, penalties FROM account)
OR (SELECT count(*) FROM account) <> (SELECT count(*) FROM
    (SELECT 1 FROM ledger GROUP BY user, at / 86400000000))";

/// A sum of charges and penalties that left the range of the column on the way depends on their order.
const TOTALS_DIFFER: &str = "SELECT EXISTS (
    SELECT user, saturating_sum(amount) FROM (
        SELECT user, amount FROM ledger UNION ALL SELECT user, 0 FROM total)
    GROUP BY user
    HAVING saturating_sum(max(amount, 0)) < 9223372036854775807
        AND saturating_sum(min(amount, 0)) > -9223372036854775807
    EXCEPT SELECT user, utility FROM total)";

const USAGE_DIFFERS: &str = "SELECT EXISTS (
    SELECT user, day, saturating_sum(charges), saturating_sum(penalties) FROM (
        SELECT user, day, charges, penalties FROM usage
        UNION ALL SELECT user, day, 0, 0 FROM account)
    GROUP BY user, day
    EXCEPT SELECT user, day, saturating_sum(charges), saturating_sum(penalties) FROM (
        SELECT user, day, charges, penalties FROM account
        UNION ALL SELECT user, day, 0, 0 FROM usage)
    GROUP BY user, day)";

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// SQLite fires no trigger for a row that is replaced, so that it would stay in the sum of its table.
    #[test]
    fn no_statement_replaces_rows() {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut folders = vec![sources];
        let mut n_read = 0;
        let words = ["REPLACE", "INTO"].join(" ");
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder of sources") {
                let path = entry.expect("it can be listed").path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let text = std::fs::read_to_string(&path).expect("text");
                assert!(!text.to_uppercase().contains(&words), "{}", path.display());
                n_read += 1;
            }
        }
        assert!(n_read > 20, "only {n_read} files were read");
    }
}
