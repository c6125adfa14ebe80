//! Queries of the store for clients.

use std::path::PathBuf;

use rusqlite::{Connection, Row, params};
use tollgate_model::{AttemptId, BookEntry, Credits, Instant, JobEndState, Span, TaskId};

use crate::error::{StoreError, sqlite};
use crate::history::LatePromise;
use crate::job_filter::JobFilter;
use crate::job_program::JobProgram;
use crate::row_values::{bytes, instant, job_row, span};
use crate::tasks::ArrayRow;

/// A read-only connection to the store, in parallel with the writer.
#[derive(Debug)]
pub struct StoreReader {
    connection: Connection,
    path: PathBuf,
}

/// A stored job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobRow {
    /// Number of the job.
    pub id: u64,
    /// Number of the task, if this is a task of an array.
    pub task: Option<u32>,
    /// Whole number of the task, if this is a task of an array.
    pub number: Option<u64>,
    /// State of the tasks, if the job is an array.
    pub array: Option<ArrayRow>,
    /// User id of the owner.
    pub user: u32,
    /// Name of the job.
    pub name: String,
    /// Account that the user named.
    pub account: Option<String>,
    /// Queue that the user named.
    pub queue: Option<String>,
    /// State: `dependent`, `queued`, `held`, `running`, a key of [`tollgate_model::JobEndState`] or
    /// `rejected`; of a quote, `reserved` or `expired`.
    pub state: String,
    /// The program; None if the job was rejected.
    pub program: Option<JobProgram>,
    /// The texts of the program that the user keeps no more, because the job is over: `command`,
    /// `environment`, `script`. Of a dropped command the first word is left.
    pub dropped: Vec<&'static str>,
    /// Number of processors.
    pub procs: u32,
    /// Instant of the submission.
    pub submit: Instant,
    /// The estimate that the decision used.
    pub estimate: Span,
    /// Source of the estimate: `user`, `class` or `default`.
    pub source: String,
    /// Deadline.
    pub due: Option<Instant>,
    /// Budget: the maximum that the user pays.
    pub budget: Option<Credits>,
    /// Instant of the admission or rejection.
    pub decided: Option<Instant>,
    /// Maximum cost of an admitted job.
    pub price: Option<Credits>,
    /// Keys of the reasons of a rejection.
    pub reasons: Vec<String>,
    /// Probability of meeting the deadline: that of the promise, or of the submission if there is none.
    pub probability: Option<f64>,
    /// Whether the promise counted on hosts that were not there when it was made.
    pub on_expected: bool,
    /// The promise that was made after the submission, if one was.
    pub late_promise: Option<LatePromise>,
    /// Instant of the order to start the first attempt.
    pub start: Option<Instant>,
    /// Whether the job has nodes, and the engine has not started the program of its last attempt; false for an array.
    pub awaits_engine: bool,
    /// Instant of the end.
    pub finish: Option<Instant>,
    /// Number of attempts.
    pub attempts: u32,
    /// Status of the last attempt, as text: `exit 0`, `signal 9`, `lost`; of a finished array, the
    /// greatest exit code.
    pub status: Option<String>,
    /// End that was forecast when the job was decided about; None for an array.
    pub forecast: Option<Instant>,
    /// Name of the host of the last attempt; None for an array.
    pub host: Option<String>,
    /// The hosts of the last attempt with the number of its processors on each, as in `n1:4,n2:2`, if there are several;
    /// None for an array.
    pub hosts: Option<String>,
    /// Wall-clock time of the last attempt, once it has ended; None for an array.
    pub run: Option<Span>,
    /// Processor time of all attempts that have ended.
    pub cpu: Option<Span>,
    /// Greatest peak memory of an attempt that has ended, in bytes.
    pub peak_memory: Option<u64>,
    /// The outcome of the job and of its promise; None before its end, of a job that never ran, and for an
    /// array, whose tasks have one each.
    pub entry: Option<BookEntry>,
    /// Dependencies, without the jobs that had finished at the submission.
    pub after: Vec<u64>,
}

/// A stored attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct AttemptRow {
    /// Number of the task.
    pub task: u32,
    /// Number of the attempt.
    pub attempt: u32,
    /// Instant of the start.
    pub start: Option<Instant>,
    /// Instant of the end.
    pub finish: Option<Instant>,
    /// Status, as text.
    pub status: Option<String>,
    /// Name of the host.
    pub host: Option<String>,
    /// Processor time.
    pub cpu: Option<Span>,
    /// Peak memory, in bytes.
    pub peak_memory: Option<u64>,
    /// The work that the gate accounted: the time that the attempt would have taken alone on its nodes.
    pub work: Option<Span>,
}

/// The bookings of a user on a day.
#[derive(Clone, Debug, PartialEq)]
pub struct AccountRow {
    /// User id.
    pub user: u32,
    /// Days since 1970, in UTC.
    pub day: i64,
    /// Total of charges.
    pub charges: Credits,
    /// Total of penalties; not positive.
    pub penalties: Credits,
}

/// The columns of a job, in the order of `job_row`.
pub(crate) const COLUMNS: &str =
    "id, user, name, state, program, procs, submit, estimate, source, due, budget,
    decided, price, reasons, probability, start, finish, attempts,
    CASE WHEN array.job IS NULL
        THEN (SELECT status FROM attempt WHERE job = id ORDER BY attempt DESC LIMIT 1)
        WHEN finish IS NOT NULL THEN 'exit ' || worst END,
    after, array.tasks, most, queued, held, running, finished, cancelled, lost, rejected,
    array.kept, array.broken, array.void, job.promise, account, queue, array.unpromised,
    array.unpromised_in_time, worst,
    CASE WHEN array.job IS NULL
        THEN (SELECT host FROM attempt WHERE job = id ORDER BY attempt DESC LIMIT 1) END,
    CASE WHEN array.job IS NULL
        THEN (SELECT wall FROM attempt WHERE job = id ORDER BY attempt DESC LIMIT 1) END,
    CASE WHEN array.job IS NULL
        THEN (SELECT saturating_sum(cpu) FROM attempt WHERE job = id) ELSE array.cpu END,
    CASE WHEN array.job IS NULL
        THEN (SELECT max(peak_memory) FROM attempt WHERE job = id) ELSE array.peak_memory END,
    forecast, timed_out, out_of_memory, output_limit,
    (SELECT text FROM content WHERE sha256 = job.command),
    finish IS NOT NULL AND command IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM kept WHERE kept.user = job.user AND sha256 = job.command),
    finish IS NOT NULL AND environment IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM kept WHERE kept.user = job.user AND sha256 = job.environment),
    finish IS NOT NULL AND script IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM kept WHERE kept.user = job.user AND sha256 = job.script),
    state = 'running' AND array.job IS NULL AND NOT EXISTS
        (SELECT 1 FROM attempt
         WHERE attempt.job = id AND attempt.attempt = job.attempts AND attempt.start IS NOT NULL),
    (SELECT first FROM task_numbers WHERE task_numbers.job = id),
    CASE WHEN array.job IS NULL
        THEN (SELECT hosts FROM placement
            WHERE placement.job = id AND placement.attempt = job.attempts) END,
    (SELECT at FROM late_promise WHERE late_promise.job = id),
    (SELECT quoted FROM late_promise WHERE late_promise.job = id),
    (SELECT count(*) FROM abandonment WHERE abandonment.job = id),
    EXISTS (SELECT 1 FROM on_expected WHERE on_expected.job = id)";
/// Selects the jobs that are not over.
pub(crate) const IS_UNFINISHED: &str =
    "state IN ('queued', 'held', 'running', 'reserved', 'dependent')";
/// The tables with `COLUMNS`.
pub(crate) const TABLES: &str = "job LEFT JOIN array ON array.job = id";

impl JobRow {
    /// Returns the instant at which the deadline was promised; None if it was not.
    pub fn promised_at(&self) -> Option<Instant> {
        let is_promised = self.due.is_some() && self.reasons.is_empty() && self.price.is_some();
        let late = self.late_promise.map(|late| late.at);
        late.or(self.decided.filter(|_| is_promised))
    }
}

impl StoreReader {
    pub(crate) fn new(connection: Connection, path: PathBuf) -> Self {
        Self { connection, path }
    }

    /// Returns a job.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn job(&self, job: u64) -> Result<Option<JobRow>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM {TABLES} WHERE id = ?1");
        let rows = self.rows(&sql, [job], job_row)?;
        Ok(rows.into_iter().next())
    }

    /// Returns the user id of a job's owner; None if the job does not exist.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn owner(&self, job: u64) -> Result<Option<u32>, StoreError> {
        let sql = "SELECT user FROM job WHERE id = ?1";
        let rows = self.rows(sql, [job], |row| row.get(0))?;
        Ok(rows.into_iter().next())
    }

    /// Returns the jobs that match the filter, latest first.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn jobs(&self, selection: &JobFilter) -> Result<Vec<JobRow>, StoreError> {
        let (condition, values) = selection.condition();
        let sql = format!(
            "SELECT {COLUMNS} FROM {TABLES} WHERE {condition} ORDER BY id DESC LIMIT {}",
            selection.limit
        );
        self.rows(&sql, rusqlite::params_from_iter(values), job_row)
    }

    /// Returns the attempts of a job, in order of task and attempt.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn attempts(&self, job: u64) -> Result<Vec<AttemptRow>, StoreError> {
        self.attempts_of_tasks(job, 0, u32::MAX)
    }

    /// Returns the attempts of a task, in order; of a single job with the task number 0.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn task_attempts(&self, task: TaskId) -> Result<Vec<AttemptRow>, StoreError> {
        self.attempts_of_tasks(task.job, task.task, task.task)
    }

    fn attempts_of_tasks(
        &self,
        job: u64,
        first: u32,
        last: u32,
    ) -> Result<Vec<AttemptRow>, StoreError> {
        let sql = "SELECT task, attempt, start, finish, status, cpu, peak_memory, work, host
             FROM attempt WHERE job = ?1 AND task BETWEEN ?2 AND ?3 ORDER BY task, attempt";
        self.rows(sql, params![job, first, last], |row| {
            Ok(AttemptRow {
                task: row.get(0)?,
                attempt: row.get(1)?,
                start: instant(row, 2)?,
                finish: instant(row, 3)?,
                status: row.get(4)?,
                cpu: span(row, 5)?,
                peak_memory: bytes(row, 6)?,
                work: span(row, 7)?,
                host: row.get(8)?,
            })
        })
    }

    /// Returns the name of the host of an attempt; None if the attempt or its host is not known.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn attempt_host(&self, attempt: AttemptId) -> Result<Option<String>, StoreError> {
        let sql = "SELECT host FROM attempt WHERE job = ?1 AND task = ?2 AND attempt = ?3";
        let values = params![attempt.job, attempt.task, attempt.attempt];
        let rows = self.rows(sql, values, |row| row.get(0))?;
        Ok(rows.into_iter().next().flatten())
    }

    /// Returns the bookings by user and day.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn ledger(&self, user: Option<u32>) -> Result<Vec<AccountRow>, StoreError> {
        let sql = "SELECT user, day, charges, penalties FROM account
             WHERE ?1 IS NULL OR user = ?1 ORDER BY user, day";
        self.rows(sql, [user], |row| {
            Ok(AccountRow {
                user: row.get(0)?,
                day: row.get(1)?,
                charges: Credits::from_micros(row.get(2)?),
                penalties: Credits::from_micros(row.get(3)?),
            })
        })
    }

    pub(crate) fn with_connection<T>(
        &self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        query(&self.connection).map_err(sqlite(&self.path, "cannot be read"))
    }

    pub(crate) fn rows<T>(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
        row: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        let failed = sqlite(&self.path, "cannot be read");
        let mut statement = self.connection.prepare_cached(sql).map_err(failed)?;
        let rows = statement
            .query_map(values, |found| row(found))
            .map_err(failed)?;
        rows.collect::<Result<_, _>>().map_err(failed)
    }
}

/// Lists the unfinished jobs: number, user, and size of the program in bytes.
pub(crate) fn stored_bytes(connection: &Connection) -> rusqlite::Result<Vec<(u64, u32, u64)>> {
    let sql = "SELECT id, user, octet_length(program)
                   + coalesce((SELECT sum(octet_length(text)) FROM content
                       WHERE sha256 IN (script, environment, command)), 0)
               FROM job WHERE finish IS NULL";
    let mut statement = connection.prepare(sql)?;
    let rows = statement.query_map([], |row| {
        let bytes: Option<u64> = row.get(2)?;
        Ok((row.get(0)?, row.get(1)?, bytes.unwrap_or(0)))
    })?;
    rows.collect()
}

/// Returns the key with which a job of this user was claimed; None without such a job or a key.
pub(crate) fn claim_key(
    connection: &Connection,
    job: u64,
    user: u32,
) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT json_extract(program, '$.claim_key') FROM job WHERE id = ?1 AND user = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query((job, user))?;
    rows.next()?.map_or(Ok(None), |row| row.get(0))
}

/// Returns the user of a job that is over, and whether all of its tasks succeeded. A status of more words
/// than `exit 0` names what ended the job.
pub(crate) fn ended(connection: &Connection, job: u64) -> rusqlite::Result<Option<(u32, bool)>> {
    let sql = format!("SELECT {COLUMNS} FROM {TABLES} WHERE id = ?1 AND finish IS NOT NULL");
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([job])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let row = job_row(row)?;
    let whole = row.array.is_none_or(|array| array.counts.rejected == 0);
    let well = row.state == JobEndState::Finished.key()
        && row.status.as_deref() == Some("exit 0")
        && whole;
    Ok(Some((row.user, well)))
}
