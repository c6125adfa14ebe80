//! Steps of attempts: commands that a running attempt runs one after another or side by side, and their ends. They are
//! records: no decision depends on them.

use rusqlite::{TransactionBehavior, params};
use tollgate_model::{AttemptId, Instant};

use crate::error::{StoreError, sqlite};
use crate::read::StoreReader;
use crate::row_values::instant;
use crate::store::Store;

/// The maximum number of steps of an attempt that are recorded.
pub const MAX_STEPS: u32 = 1_000;

/// A step that begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewStep {
    /// The attempt.
    pub attempt: AttemptId,
    /// The name of the step.
    pub name: String,
    /// The number of its tasks.
    pub n_tasks: u32,
    /// The number of its processors.
    pub procs: u32,
    /// The names of its hosts.
    pub hosts: Vec<String>,
}

/// The end of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepEnding {
    /// The exit code; 128 + n after signal n.
    pub code: u8,
    /// The signal that ended the step, if one did.
    pub signal: Option<u8>,
}

/// A stored step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepRow {
    /// Its number among those of the attempt, from 0.
    pub step: u32,
    /// What was known at its start.
    pub begun: NewStep,
    /// The instant of its start.
    pub start: Instant,
    /// The instant of its end; None if no end was reported.
    pub finish: Option<Instant>,
    /// Its end; None if no end was reported.
    pub ending: Option<StepEnding>,
}

impl Store {
    /// Records the start of a step, and returns its number. None if the attempt has [`MAX_STEPS`] steps.
    ///
    /// # Errors
    /// If the write failed; nothing is recorded then.
    pub fn begin_step(&mut self, at: Instant, step: &NewStep) -> Result<Option<u32>, StoreError> {
        let failed = sqlite(&self.path, "cannot be written");
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        let AttemptId { job, task, attempt } = step.attempt;
        let sql = "SELECT coalesce(max(step) + 1, 0) FROM step
             WHERE job = ?1 AND task = ?2 AND attempt = ?3";
        let number: u32 = transaction
            .prepare_cached(sql)
            .and_then(|mut next| next.query_row(params![job, task, attempt], |row| row.get(0)))
            .map_err(failed)?;
        if number >= MAX_STEPS {
            return Ok(None);
        }
        let sql = "INSERT INTO step (job, task, attempt, step, name, n_tasks, procs, hosts, start)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        transaction
            .prepare_cached(sql)
            .and_then(|mut insert| {
                insert.execute(params![
                    job,
                    task,
                    attempt,
                    number,
                    step.name,
                    step.n_tasks,
                    step.procs,
                    step.hosts.join(","),
                    at.as_micros()
                ])
            })
            .map_err(failed)?;
        transaction.commit().map_err(failed)?;
        Ok(Some(number))
    }

    /// Records the end of a step. Returns whether there is such a step that has not ended.
    ///
    /// # Errors
    /// If the write failed.
    pub fn end_step(
        &mut self,
        at: Instant,
        attempt: AttemptId,
        step: u32,
        ending: StepEnding,
    ) -> Result<bool, StoreError> {
        let sql = "UPDATE step SET finish = ?5, code = ?6, signal = ?7
             WHERE job = ?1 AND task = ?2 AND attempt = ?3 AND step = ?4 AND finish IS NULL";
        let ended = self.connection.prepare_cached(sql).and_then(|mut update| {
            update.execute(params![
                attempt.job,
                attempt.task,
                attempt.attempt,
                step,
                at.as_micros(),
                ending.code,
                ending.signal
            ])
        });
        let ended = ended.map_err(sqlite(&self.path, "cannot be written"))?;
        Ok(ended > 0)
    }
}

impl StoreReader {
    /// Returns the steps of jobs, in the order of job, task, attempt and step, at most `limit`; of `user` alone, if one is
    /// given.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn steps(
        &self,
        jobs: &[u64],
        user: Option<u32>,
        limit: u32,
    ) -> Result<Vec<StepRow>, StoreError> {
        let numbers: Vec<String> = jobs.iter().map(u64::to_string).collect();
        let sql = format!(
            "SELECT step.job, task, attempt, step, step.name, n_tasks, step.procs, hosts, step.start,
                 step.finish, code, signal
             FROM step JOIN job ON job.id = step.job
             WHERE step.job IN ({}) AND (?1 IS NULL OR job.user = ?1)
             ORDER BY step.job, task, attempt, step LIMIT ?2",
            numbers.join(",")
        );
        self.rows(&sql, params![user, limit], |row| {
            let hosts: String = row.get(7)?;
            let code: Option<u8> = row.get(10)?;
            let signal = row.get(11)?;
            Ok(StepRow {
                step: row.get(3)?,
                begun: NewStep {
                    attempt: AttemptId {
                        job: row.get(0)?,
                        task: row.get(1)?,
                        attempt: row.get(2)?,
                    },
                    name: row.get(4)?,
                    n_tasks: row.get(5)?,
                    procs: row.get(6)?,
                    hosts: hosts.split(',').map(str::to_owned).collect(),
                },
                start: Instant::from_micros(row.get(8)?),
                finish: instant(row, 9)?,
                ending: code.map(|code| StepEnding { code, signal }),
            })
        })
    }
}
