//! Statements that the store runs again and again.

use rusqlite::Transaction;

/// Runs a statement, which is prepared once.
pub(crate) fn run(
    to: &Transaction<'_>,
    sql: &str,
    values: impl rusqlite::Params,
) -> rusqlite::Result<()> {
    to.prepare_cached(sql)?.execute(values).map(|_| ())
}
