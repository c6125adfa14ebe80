//! Turns in the lives of jobs, promises made after the submission, and what was expected of jobs as time went by.

use rusqlite::{Transaction, TransactionBehavior, params};
use tollgate_model::Instant;
use tollgate_service::{JobPrediction, TaskRanges};

use crate::error::{StoreError, sqlite};
use crate::read::StoreReader;
use crate::statement::run;
use crate::store::Store;

/// The maximum number of samples of a job that are kept.
pub const MAX_SAMPLES: u32 = 64;
/// The maximum number of turns of a job that are recorded.
const MAX_TURNS: u32 = 64;

/// A promise that was made after the submission.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatePromise {
    /// The instant of the promise; of an array that of the last task that was promised.
    pub at: Instant,
    /// The probability that the answer to the submission had.
    pub quoted: Option<f64>,
}

/// A turn in the life of a job besides its submission, its decision, its attempts and its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnRow {
    /// The instant.
    pub at: Instant,
    /// The kind, as of an event: `queued`, `held`, `deferred`, `claimed`, `altered`, `at_risk` or `broken`.
    pub kind: String,
    /// Numbers of the tasks; empty if it concerns the whole job.
    pub tasks: String,
    /// More about it.
    pub note: Option<String>,
}

/// The expectation of a job at an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleRow {
    /// The instant.
    pub at: Instant,
    /// Expected start, or the start.
    pub start: Instant,
    /// Expected end.
    pub finish: Instant,
    /// The job ends before this instant with a probability of one tenth.
    pub earliest: Instant,
    /// The job ends after this instant with a probability of one tenth.
    pub latest: Instant,
    /// Probability of meeting the deadline, if there is one.
    pub probability: Option<f64>,
}

impl SampleRow {
    /// Returns a prediction of an instant.
    pub fn new(at: Instant, prediction: &JobPrediction) -> Self {
        Self {
            at,
            start: prediction.start,
            finish: prediction.finish,
            earliest: prediction.earliest,
            latest: prediction.latest,
            probability: prediction.probability.map(|chance| chance.as_f64()),
        }
    }
}

/// Records a turn, unless it comes with the submission or the job has as many as are recorded.
pub(crate) fn turn(
    to: &Transaction<'_>,
    job: u64,
    at: i64,
    kind: &str,
    tasks: Option<&TaskRanges>,
    note: Option<&str>,
) -> rusqlite::Result<()> {
    let tasks = tasks.map_or_else(String::new, ToString::to_string);
    run(
        to,
        "INSERT OR IGNORE INTO turn SELECT ?1, ?2, ?3, ?4, ?5 FROM job
         WHERE id = ?1 AND submit < ?2 AND (SELECT count(*) FROM turn WHERE job = ?1) < ?6",
        params![job, at, kind, tasks, note, MAX_TURNS],
    )
}

/// Records that a job is promised now, before its probability is replaced by that of the promise.
pub(crate) fn promise_late(to: &Transaction<'_>, job: u64, at: i64) -> rusqlite::Result<()> {
    run(
        to,
        "INSERT INTO late_promise SELECT id, ?2, probability FROM job WHERE id = ?1
         ON CONFLICT (job) DO UPDATE SET at = excluded.at",
        params![job, at],
    )
}

impl Store {
    /// Records what is expected of jobs now. A job with more than [`MAX_SAMPLES`] loses the one whose neighbours are nearest to
    /// each other, never the first or the last. So the samples are spread evenly over its life.
    ///
    /// # Errors
    /// If the write failed; nothing is recorded then.
    pub fn add_samples(&mut self, samples: &[(u64, SampleRow)]) -> Result<(), StoreError> {
        let failed = sqlite(&self.path, "cannot be written");
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        for (job, sample) in samples {
            add_sample(&transaction, *job, sample).map_err(failed)?;
        }
        transaction.commit().map_err(failed)
    }
}

fn add_sample(to: &Transaction<'_>, job: u64, sample: &SampleRow) -> rusqlite::Result<()> {
    run(
        to,
        "INSERT INTO sample SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 FROM job WHERE id = ?1
         ON CONFLICT DO NOTHING",
        params![
            job,
            sample.at.as_micros(),
            sample.start.as_micros(),
            sample.finish.as_micros(),
            sample.earliest.as_micros(),
            sample.latest.as_micros(),
            sample.probability,
        ],
    )?;
    let sql = "SELECT count(*) FROM sample WHERE job = ?1";
    let count: u32 = to.prepare_cached(sql)?.query_row([job], |row| row.get(0))?;
    if count <= MAX_SAMPLES {
        return Ok(());
    }
    run(
        to,
        "DELETE FROM sample WHERE job = ?1 AND at =
             (SELECT at FROM (SELECT at, lead(at) OVER (ORDER BY at) - lag(at) OVER (ORDER BY at) AS gap
                 FROM sample WHERE job = ?1) WHERE gap IS NOT NULL ORDER BY gap, at LIMIT 1)",
        params![job],
    )
}

impl StoreReader {
    /// Returns the promise to a job that was made after its submission, if one was.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn late_promise(&self, job: u64) -> Result<Option<LatePromise>, StoreError> {
        let sql = "SELECT at, quoted FROM late_promise WHERE job = ?1";
        let mut rows = self.rows(sql, [job], |row| {
            Ok(LatePromise {
                at: Instant::from_micros(row.get(0)?),
                quoted: row.get(1)?,
            })
        })?;
        Ok(rows.pop())
    }

    /// Returns the recorded turns of a job, in order of time.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn turns(&self, job: u64) -> Result<Vec<TurnRow>, StoreError> {
        let sql = "SELECT at, kind, tasks, note FROM turn WHERE job = ?1 ORDER BY at, kind, tasks";
        self.rows(sql, [job], |row| {
            Ok(TurnRow {
                at: Instant::from_micros(row.get(0)?),
                kind: row.get(1)?,
                tasks: row.get(2)?,
                note: row.get(3)?,
            })
        })
    }

    /// Returns the kept samples of a job, in order of time.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn samples(&self, job: u64) -> Result<Vec<SampleRow>, StoreError> {
        let sql = "SELECT at, start, finish, earliest, latest, probability FROM sample
             WHERE job = ?1 ORDER BY at";
        self.rows(sql, [job], |row| {
            let at = |column| Ok::<_, rusqlite::Error>(Instant::from_micros(row.get(column)?));
            Ok(SampleRow {
                at: at(0)?,
                start: at(1)?,
                finish: at(2)?,
                earliest: at(3)?,
                latest: at(4)?,
                probability: row.get(5)?,
            })
        })
    }
}
