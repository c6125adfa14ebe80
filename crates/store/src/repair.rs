//! The repair of values that cannot be true.

use rusqlite::{Connection, TransactionBehavior, params};
use tollgate_model::{AttemptId, Instant, Span};

use crate::error::{StoreError, sqlite};
use crate::impossible::{AttemptMeasures, ImpossibleValue, impossible_attempts, impossible_values};
use crate::store::Store;

/// The sums of `usage` over attempts.
const USAGE_SUMS: [&str; 3] = ["wall", "core_ms", "cpu"];

/// Microseconds in a day.
const DAY: &str = "86400000000";

/// The wall-clock time of an attempt, processors times that time in milliseconds, and its processor time, as the triggers
/// of the table `attempt` add them up.
const USED: [&str; 3] = [
    "max(coalesce(attempt.wall, attempt.finish - coalesce(attempt.start, attempt.ordered)), 0)",
    "CAST((max(coalesce(attempt.wall, attempt.finish - coalesce(attempt.start, attempt.ordered)), 0) * procs + 500)
        / 1000 AS INTEGER)",
    "coalesce(attempt.cpu, 0)",
];

impl Store {
    /// Replaces each value that cannot be true by the nearest one that can, and corrects the sums that such
    /// values entered, all in one transaction. `last` is the time of the last step. Returns the values that
    /// were replaced.
    ///
    /// # Errors
    /// If the store cannot be read or written; nothing is changed then.
    pub fn repair(&mut self, last: Instant) -> Result<Vec<ImpossibleValue>, StoreError> {
        let failed = sqlite(&self.path, "cannot be repaired");
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        let values = repair(&transaction, last).map_err(failed)?;
        transaction.commit().map_err(failed)?;
        Ok(values)
    }
}

fn repair(store: &Connection, last: Instant) -> rusqlite::Result<Vec<ImpossibleValue>> {
    let values = impossible_values(store, last)?;
    let attempts = impossible_attempts(store, last)?;
    for (found, possible) in &attempts {
        add_to_usage(store, found.attempt, '-')?;
        replace(store, possible)?;
        add_to_usage(store, found.attempt, '+')?;
    }
    for (found, _) in &attempts {
        raise_usage(store, found.attempt)?;
        sum_array(store, found.attempt.job)?;
    }
    for column in USAGE_SUMS {
        let sql = format!("UPDATE usage SET {column} = 0 WHERE {column} < 0");
        store.execute(&sql, [])?;
    }
    let mut statement =
        store.prepare("SELECT job FROM array WHERE cpu < 0 OR peak_memory < 0 ORDER BY job")?;
    let arrays = statement.query_map([], |row| row.get(0))?;
    for job in arrays.collect::<Result<Vec<u64>, _>>()? {
        sum_array(store, job)?;
    }
    Ok(values)
}

/// Adds what an attempt used to the usage of its user and day, or subtracts it.
fn add_to_usage(store: &Connection, attempt: AttemptId, sign: char) -> rusqlite::Result<()> {
    let [wall, core, cpu] = USED;
    let sums =
        USAGE_SUMS.map(|sum| format!("{sum} = CAST(usage.{sum} {sign} used.{sum} AS INTEGER)"));
    let sql = format!(
        "UPDATE usage SET {sums} FROM (
             SELECT user, coalesce(account, '') AS account, attempt.finish / {DAY} AS day,
                 {wall} AS wall, {core} AS core_ms, {cpu} AS cpu
             FROM attempt JOIN job ON id = attempt.job
             WHERE attempt.job = ?1 AND task = ?2 AND attempt = ?3) AS used
         WHERE usage.user = used.user AND usage.account = used.account AND usage.day = used.day",
        sums = sums.join(", "),
    );
    let key = params![attempt.job, attempt.task, attempt.attempt];
    store.prepare_cached(&sql)?.execute(key).map(drop)
}

/// Raises the usage of the user and day of an attempt to the sum over the attempts that are there. The usage
/// is less if a sum had reached the greatest number of its column.
fn raise_usage(store: &Connection, attempt: AttemptId) -> rusqlite::Result<()> {
    let [wall, core, cpu] = USED;
    let sums = USAGE_SUMS.map(|sum| format!("{sum} = max(usage.{sum}, used.{sum})"));
    let sql = format!(
        "UPDATE usage SET {sums} FROM (
             SELECT of.user, of.account, of.day, saturating_sum({wall}) AS wall,
                 saturating_sum({core}) AS core_ms, saturating_sum({cpu}) AS cpu
             FROM (SELECT user, coalesce(account, '') AS account, attempt.finish / {DAY} AS day
                     FROM attempt JOIN job ON id = attempt.job
                     WHERE attempt.job = ?1 AND task = ?2 AND attempt = ?3) AS of
                 JOIN job ON job.user = of.user AND coalesce(job.account, '') = of.account
                 JOIN attempt ON attempt.job = job.id AND attempt.finish / {DAY} = of.day
             ) AS used
         WHERE usage.user = used.user AND usage.account = used.account AND usage.day = used.day",
        sums = sums.join(", "),
    );
    let key = params![attempt.job, attempt.task, attempt.attempt];
    store.prepare_cached(&sql)?.execute(key).map(drop)
}

fn replace(store: &Connection, possible: &AttemptMeasures) -> rusqlite::Result<()> {
    let micros = |span: Option<Span>| span.map(Span::as_micros);
    let sql = "UPDATE attempt SET wall = ?4, cpu = ?5, peak_memory = ?6, work = ?7
         WHERE job = ?1 AND task = ?2 AND attempt = ?3";
    let attempt = possible.attempt;
    let values = params![
        attempt.job,
        attempt.task,
        attempt.attempt,
        micros(possible.wall),
        micros(possible.cpu),
        possible.peak_memory,
        micros(possible.work),
    ];
    store.prepare_cached(sql)?.execute(values).map(drop)
}

/// Sums up the attempts of an array; changes nothing of any other job.
fn sum_array(store: &Connection, job: u64) -> rusqlite::Result<()> {
    let sql = "UPDATE array SET
             cpu = (SELECT saturating_sum(cpu) FROM attempt WHERE attempt.job = ?1),
             peak_memory = (SELECT max(peak_memory) FROM attempt WHERE attempt.job = ?1)
         WHERE job = ?1";
    store.prepare_cached(sql)?.execute([job]).map(drop)
}
