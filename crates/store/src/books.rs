//! Writes and queries of the books, and of calibration.

use std::collections::BTreeMap;

use rusqlite::{Transaction, params};
use tollgate_model::{BookEntry, Books, Span};

use crate::error::StoreError;
use crate::expected_hosts;
use crate::read::StoreReader;
use crate::statement::run;
use crate::usage::{RecordFilter, UsageKeys};

/// Microseconds in a day.
pub(crate) const DAY_MICROS: i64 = 86_400_000_000;

/// The number of batches in the table of promises if it was not recorded.
const UNKNOWN_BATCHES: i64 = -1;

/// Enters tasks of a job in the books, on the day of `at`, with their wait from submission to start.
pub(crate) fn enter(
    to: &Transaction<'_>,
    job: u64,
    at: i64,
    entry: BookEntry,
    n_tasks: u64,
    wait: Span,
) -> rusqlite::Result<()> {
    let day = at.div_euclid(DAY_MICROS);
    run(
        to,
        "INSERT INTO book SELECT user, coalesce(account, ''), ?2, ?3, ?4 FROM job WHERE id = ?1
         ON CONFLICT DO UPDATE SET jobs = CAST(jobs + excluded.jobs AS INTEGER)",
        params![job, day, entry.key(), n_tasks],
    )?;
    let is_kept = entry == BookEntry::Kept;
    let wait = if is_kept { wait } else { Span::ZERO };
    run(
        to,
        "INSERT INTO total
             SELECT user, ?2, CAST(coalesce(budget, 0) * ?3 AS INTEGER), 0 FROM job WHERE id = ?1
         ON CONFLICT DO UPDATE SET wait = CAST(wait + excluded.wait AS INTEGER),
             budgets = CAST(budgets + excluded.budgets AS INTEGER)",
        params![job, wait.as_micros(), n_tasks],
    )?;
    if !entry.is_promised() {
        return Ok(());
    }
    let is_void = entry == BookEntry::Void;
    run(
        to,
        "INSERT INTO promise
             SELECT user, min(CAST(probability * 10 AS INTEGER), 9), coalesce(batches, ?2),
                 (NOT ?3) * ?5, probability * (NOT ?3) * ?5, ?4 * ?5, ?3 * ?5
             FROM job WHERE id = ?1 AND probability IS NOT NULL
         ON CONFLICT DO UPDATE SET promises = promises + excluded.promises,
             expected = expected + excluded.expected, kept = kept + excluded.kept,
             void = void + excluded.void",
        params![job, UNKNOWN_BATCHES, is_void, is_kept, n_tasks],
    )?;
    expected_hosts::enter(to, job, (is_kept, is_void), n_tasks)
}

/// Enters a job that was rejected; of an array, all of its tasks.
pub(crate) fn enter_rejected(to: &Transaction<'_>, job: u64, at: i64) -> rusqlite::Result<()> {
    let sql = "SELECT due IS NOT NULL, coalesce(
             (SELECT queued + held + rejected FROM array WHERE array.job = id), 1)
         FROM job WHERE id = ?1";
    let mut statement = to.prepare_cached(sql)?;
    let (has_deadline, n_tasks) =
        statement.query_row([job], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let entry = BookEntry::of_rejected(has_deadline);
    enter(to, job, at, entry, n_tasks, Span::ZERO)
}

/// Enters tasks of an array that were rejected.
pub(crate) fn enter_rejected_tasks(
    to: &Transaction<'_>,
    job: u64,
    at: i64,
    n_tasks: u64,
) -> rusqlite::Result<()> {
    let mut statement = to.prepare_cached("SELECT due IS NOT NULL FROM job WHERE id = ?1")?;
    let has_deadline = statement.query_row([job], |row| row.get(0))?;
    let entry = BookEntry::of_rejected(has_deadline);
    enter(to, job, at, entry, n_tasks, Span::ZERO)
}

/// Promises with about the same probability, or from about as much knowledge.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PromiseSums {
    /// Number of promises that were kept or broken.
    pub promises: u64,
    /// Expected number of kept promises: the sum of the promised probabilities.
    pub expected: f64,
    /// Number of kept promises.
    pub kept: u64,
    /// Number of void promises, which count in none of the other fields.
    pub void: u64,
}

/// The user, account and day of a sum, as far as they are its keys.
pub(crate) type SumKey = (Option<u32>, Option<String>, Option<i64>);

impl StoreReader {
    /// Returns promised against kept deadlines, by tenths of the probability at which they were promised: 0 for below
    /// 0.1, 9 for 0.9 to 1.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn calibration(&self, user: Option<u32>) -> Result<Vec<(u32, PromiseSums)>, StoreError> {
        self.promise_sums("promise", "tenth", user)
    }

    /// Returns promised against kept deadlines, by the number of batches of such jobs that had ended when they were
    /// promised; 3 stands for more, too. Promises of which it is not recorded are left out.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn calibration_by_batches(
        &self,
        user: Option<u32>,
    ) -> Result<Vec<(u32, PromiseSums)>, StoreError> {
        let sums: Vec<(i64, PromiseSums)> =
            self.promise_sums("promise", "min(batches, 3)", user)?;
        let known = sums.into_iter();
        Ok(known
            .filter_map(|(batches, sums)| Some((u32::try_from(batches).ok()?, sums)))
            .collect())
    }

    /// Returns the sums of a table of promises by a key.
    pub(crate) fn promise_sums<K: rusqlite::types::FromSql>(
        &self,
        table: &str,
        key: &str,
        user: Option<u32>,
    ) -> Result<Vec<(K, PromiseSums)>, StoreError> {
        let sql = format!(
            "SELECT {key} AS key, saturating_sum(promises), sum(expected), saturating_sum(kept),
                 saturating_sum(void)
             FROM {table} WHERE ?1 IS NULL OR user = ?1 GROUP BY key ORDER BY key"
        );
        self.rows(&sql, [user], |row| {
            let sums = PromiseSums {
                promises: row.get(1)?,
                expected: row.get(2)?,
                kept: row.get(3)?,
                void: row.get(4)?,
            };
            Ok((row.get(0)?, sums))
        })
    }

    /// Returns the books by their keys, on the days of the filter.
    pub(crate) fn books(
        &self,
        filter: &RecordFilter,
        by: UsageKeys,
    ) -> Result<BTreeMap<SumKey, Books>, StoreError> {
        let [user, account, day] = by.columns();
        let sql = format!(
            "SELECT {user}, {account}, {day}, entry, saturating_sum(jobs) FROM book
             WHERE (?1 IS NULL OR user = ?1) AND (?2 IS NULL OR day >= ?2)
                 AND (?3 IS NULL OR day < ?3)
             GROUP BY 1, 2, 3, 4"
        );
        let rows = self.rows(&sql, filter.in_days(), |row| {
            let key: SumKey = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok((key, row.get::<_, String>(3)?, row.get::<_, u64>(4)?))
        })?;
        let mut books: BTreeMap<SumKey, Books> = BTreeMap::new();
        for (key, entry, n_jobs) in rows {
            if let Some(entry) = BookEntry::from_key(&entry) {
                books.entry(key).or_default().add(entry, n_jobs);
            }
        }
        Ok(books)
    }
}
