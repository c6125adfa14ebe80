//! Queries for usage, and for jobs and bookings page by page.

use std::collections::BTreeMap;

use rusqlite::params;
use tollgate_model::{Books, Credits, Instant, Span};

use crate::books::{DAY_MICROS, SumKey};
use crate::error::StoreError;
use crate::read::{COLUMNS, TABLES};
use crate::read::{JobRow, StoreReader};
use crate::row_values::job_row;

/// The keys of usage: sums over a key that is not named are one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageKeys {
    /// A row for each user.
    pub user: bool,
    /// A row for each account.
    pub account: bool,
    /// A row for each day.
    pub day: bool,
}

/// The rows that a query is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordFilter {
    /// Only rows of this user.
    pub user: Option<u32>,
    /// Only rows from this instant on.
    pub since: Option<Instant>,
    /// Only rows before this instant.
    pub until: Option<Instant>,
}

impl UsageKeys {
    /// Returns the columns of the user, the account and the day; `NULL` for those that are no keys.
    pub(crate) fn columns(self) -> [&'static str; 3] {
        let key = |is_key, column| if is_key { column } else { "NULL" };
        [
            key(self.user, "user"),
            key(self.account, "account"),
            key(self.day, "day"),
        ]
    }
}

impl RecordFilter {
    /// Returns the parameters of a query for days.
    pub(crate) fn in_days(&self) -> [Option<i64>; 3] {
        let day = |at: Instant| at.as_micros().div_euclid(DAY_MICROS);
        [
            self.user.map(i64::from),
            self.since.map(day),
            self.until.map(day),
        ]
    }
}

/// Sums of usage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UsageRow {
    /// User id, if the user is a key.
    pub user: Option<u32>,
    /// Account, if it is a key; empty for jobs without an account.
    pub account: Option<String>,
    /// Days since 1970 in UTC, if the day is a key.
    pub day: Option<i64>,
    /// Number of jobs and tasks that had started and ended.
    pub jobs: u64,
    /// Total time from submission to the first start of these jobs.
    pub wait: Span,
    /// Total wall-clock time of the attempts that ended.
    pub wall: Span,
    /// Total of processors times wall-clock time of these attempts, in hours.
    pub core_hours: f64,
    /// Total processor time of these attempts.
    pub cpu: Span,
    /// The numbers of jobs by what became of them and of their promises.
    pub books: Books,
    /// Total of charges.
    pub charges: Credits,
    /// Total of penalties; not positive.
    pub penalties: Credits,
}

/// A stored entry of the ledger.
#[derive(Clone, Debug, PartialEq)]
pub struct LedgerRow {
    /// Number of the job.
    pub job: u64,
    /// Number of the task; 0 of a job that is no array.
    pub task: u32,
    /// Number of the attempt.
    pub attempt: u32,
    /// `charge` or `penalty`.
    pub kind: String,
    /// Instant of the booking.
    pub at: Instant,
    /// User id.
    pub user: u32,
    /// Amount, positive for the provider.
    pub amount: Credits,
}

/// Milliseconds in an hour.
const HOUR_MS: f64 = 3_600_000.0;

impl StoreReader {
    /// Returns the users of all jobs and of all usage, ascending.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn users(&self) -> Result<Vec<u32>, StoreError> {
        let sql = "SELECT user FROM job UNION SELECT user FROM usage ORDER BY 1";
        self.rows(sql, params![], |row| row.get(0))
    }

    /// Returns the usage on the days of the filter, in the order of user, account and day.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn usage(&self, filter: &RecordFilter, by: UsageKeys) -> Result<Vec<UsageRow>, StoreError> {
        let [user, account, day] = by.columns();
        let sql = format!(
            "SELECT {user}, {account}, {day}, saturating_sum(jobs), saturating_sum(wait),
                 saturating_sum(wall), sum(CAST(core_ms AS REAL)), saturating_sum(cpu),
                 saturating_sum(charges), saturating_sum(penalties)
             FROM usage WHERE (?1 IS NULL OR user = ?1) AND (?2 IS NULL OR day >= ?2)
                 AND (?3 IS NULL OR day < ?3)
             GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
        );
        let used = self.rows(&sql, filter.in_days(), |row| {
            Ok(UsageRow {
                user: row.get(0)?,
                account: row.get(1)?,
                day: row.get(2)?,
                jobs: row.get(3)?,
                wait: Span::from_micros(row.get(4)?),
                wall: Span::from_micros(row.get(5)?),
                core_hours: row.get::<_, f64>(6)? / HOUR_MS,
                cpu: Span::from_micros(row.get(7)?),
                books: Books::default(),
                charges: Credits::from_micros(row.get(8)?),
                penalties: Credits::from_micros(row.get(9)?),
            })
        })?;
        let mut rows: BTreeMap<SumKey, UsageRow> = BTreeMap::new();
        for row in used {
            rows.insert((row.user, row.account.clone(), row.day), row);
        }
        for (key, books) in self.books(filter, by)? {
            let (user, account, day) = key.clone();
            let row = rows.entry(key).or_insert(UsageRow {
                user,
                account,
                day,
                ..UsageRow::default()
            });
            row.books = books;
        }
        Ok(rows.into_values().collect())
    }

    /// Returns at most `limit` jobs with a number above `after` that ended in the time of the filter, in
    /// the order of their numbers. Quotes are no jobs.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn ended_jobs(
        &self,
        filter: &RecordFilter,
        after: u64,
        limit: u32,
    ) -> Result<Vec<JobRow>, StoreError> {
        // The sign keeps SQLite from sorting all of these jobs for each page.
        let sql = format!(
            "SELECT {COLUMNS} FROM {TABLES} WHERE id > ?1 AND +finish IS NOT NULL
                 AND state <> 'expired' AND (?2 IS NULL OR user = ?2)
                 AND (?3 IS NULL OR +finish >= ?3) AND (?4 IS NULL OR +finish < ?4)
             ORDER BY id LIMIT ?5"
        );
        let values = params![
            after,
            filter.user,
            filter.since.map(Instant::as_micros),
            filter.until.map(Instant::as_micros),
            limit
        ];
        self.rows(&sql, values, job_row)
    }

    /// Returns at most `limit` entries of the ledger behind the entry `after`: a job, a task, an attempt
    /// and a kind.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn ledger_entries(
        &self,
        filter: &RecordFilter,
        after: &(u64, u32, u32, String),
        limit: u32,
    ) -> Result<Vec<LedgerRow>, StoreError> {
        let sql = "SELECT job, task, attempt, kind, at, user, amount FROM ledger
             WHERE (job, task, attempt, kind) > (?1, ?2, ?3, ?4) AND (?5 IS NULL OR user = ?5)
                 AND (?6 IS NULL OR at >= ?6) AND (?7 IS NULL OR at < ?7)
             ORDER BY job, task, attempt, kind LIMIT ?8";
        let (job, task, attempt, kind) = after;
        let values = params![
            job,
            task,
            attempt,
            kind,
            filter.user,
            filter.since.map(Instant::as_micros),
            filter.until.map(Instant::as_micros),
            limit
        ];
        self.rows(sql, values, |row| {
            Ok(LedgerRow {
                job: row.get(0)?,
                task: row.get(1)?,
                attempt: row.get(2)?,
                kind: row.get(3)?,
                at: Instant::from_micros(row.get(4)?),
                user: row.get(5)?,
                amount: Credits::from_micros(row.get(6)?),
            })
        })
    }
}
