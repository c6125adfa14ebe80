//! Removal of jobs that are over. The ledger, the sums over jobs and the usage stay.

use std::collections::BTreeSet;

use rusqlite::{Connection, TransactionBehavior, params};
use tollgate_model::Instant;

use crate::error::{StoreError, sqlite};
use crate::read::StoreReader;
use crate::store::Store;

/// The progress of a removal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemovalProgress {
    /// The jobs removed now; an array is one.
    pub jobs: Vec<u64>,
    /// Whether no job is left to remove.
    pub is_done: bool,
}

impl Store {
    /// Removes jobs that ended before an instant, in the order of their ends, with their attempts and
    /// tasks. A job that an unfinished job depends on stays. Removes about `max_rows` rows in one
    /// transaction, so that an array may take several calls.
    ///
    /// # Errors
    /// If the write failed; nothing is removed then.
    pub fn remove_jobs(
        &mut self,
        before: Instant,
        max_rows: u32,
    ) -> Result<RemovalProgress, StoreError> {
        let failed = sqlite(&self.path, "cannot be written");
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        let removed = remove(&transaction, before, max_rows).map_err(failed)?;
        transaction.commit().map_err(failed)?;
        Ok(removed)
    }
}

impl StoreReader {
    /// Returns the number of jobs that [`Store::remove_jobs`] would remove.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn n_removable(&self, before: Instant) -> Result<u64, StoreError> {
        let needed = self.with_connection(predecessors)?;
        let sql = "SELECT count(*) FROM job WHERE finish < ?1";
        let over: Vec<u64> = self.rows(sql, [before.as_micros()], |row| row.get(0))?;
        let mut kept = 0;
        for job in needed {
            let sql = "SELECT 1 FROM job WHERE id = ?1 AND finish < ?2";
            let found = self.rows(sql, params![job, before.as_micros()], |_| Ok(()))?;
            kept += found.len() as u64;
        }
        Ok(over.first().map_or(0, |over| over.saturating_sub(kept)))
    }
}

/// Returns the jobs that unfinished jobs depend on.
fn predecessors(connection: &Connection) -> rusqlite::Result<BTreeSet<u64>> {
    let sql = "SELECT after FROM job WHERE after IS NOT NULL
         AND state IN ('queued', 'held', 'running', 'reserved', 'dependent')";
    let mut statement = connection.prepare_cached(sql)?;
    let lists = statement.query_map([], |row| row.get::<_, String>(0))?;
    let mut jobs = BTreeSet::new();
    for list in lists {
        jobs.extend(list?.split(',').filter_map(|job| job.parse::<u64>().ok()));
    }
    Ok(jobs)
}

fn remove(from: &Connection, before: Instant, max_rows: u32) -> rusqlite::Result<RemovalProgress> {
    crate::desktops::forget_uses(from, before.as_micros())?;
    let needed = predecessors(from)?;
    let limit = needed.len() as u64 + u64::from(max_rows);
    let sql = "SELECT id FROM job WHERE finish < ?1 ORDER BY finish, id LIMIT ?2";
    let mut statement = from.prepare_cached(sql)?;
    let found = statement.query_map(params![before.as_micros(), limit], |row| row.get(0))?;
    let found: Vec<u64> = found.collect::<Result<_, _>>()?;
    let n_found = found.len() as u64;
    let mut rows_left = u64::from(max_rows);
    let mut removed = RemovalProgress::default();
    for job in found.into_iter().filter(|job| !needed.contains(job)) {
        if rows_left == 0 || !remove_job(from, job, &mut rows_left)? {
            return Ok(removed);
        }
        removed.jobs.push(job);
    }
    removed.is_done = n_found < limit;
    Ok(removed)
}

/// Removes a job, or some tasks of an array. Returns whether the job is removed.
fn remove_job(from: &Connection, job: u64, rows_left: &mut u64) -> rusqlite::Result<bool> {
    let is_array: bool = from
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM array WHERE job = ?1)")?
        .query_row([job], |row| row.get(0))?;
    if is_array {
        for sql in [
            "DELETE FROM attempt WHERE job = ?1 AND (task, attempt) IN
                 (SELECT task, attempt FROM attempt WHERE job = ?1 LIMIT ?2)",
            "DELETE FROM placement WHERE job = ?1 AND (task, attempt) IN
                 (SELECT task, attempt FROM placement WHERE job = ?1 LIMIT ?2)",
            "DELETE FROM place WHERE job = ?1 AND (task, attempt) IN
                 (SELECT task, attempt FROM place WHERE job = ?1 LIMIT ?2)",
            "DELETE FROM eviction WHERE job = ?1 AND (task, attempt) IN
                 (SELECT task, attempt FROM eviction WHERE job = ?1 LIMIT ?2)",
            "DELETE FROM abandonment WHERE job = ?1 AND task IN
                 (SELECT task FROM abandonment WHERE job = ?1 LIMIT ?2)",
            "DELETE FROM step WHERE job = ?1 AND (task, attempt, step) IN
                 (SELECT task, attempt, step FROM step WHERE job = ?1 LIMIT ?2)",
            "DELETE FROM task_range WHERE job = ?1 AND (first, state) IN
                 (SELECT first, state FROM task_range WHERE job = ?1 LIMIT ?2)",
        ] {
            let rows = from
                .prepare_cached(sql)?
                .execute(params![job, *rows_left])?;
            *rows_left -= rows as u64;
            if *rows_left == 0 {
                return Ok(false);
            }
        }
    }
    from.prepare_cached(
        "UPDATE removed SET jobs = jobs + 1, forecasts = forecasts + found,
             covered = covered + within
         FROM (SELECT count(*) AS found,
                 coalesce(sum(coalesce(work, wall) <= estimate), 0) AS within
             FROM job JOIN attempt ON attempt.job = job.id
             WHERE job.id = ?1 AND state = 'finished' AND source = 'class' AND status = 'exit 0'
                 AND NOT EXISTS (SELECT 1 FROM array WHERE array.job = ?1))",
    )?
    .execute([job])?;
    for sql in [
        "DELETE FROM placement WHERE job = ?1",
        "DELETE FROM step WHERE job = ?1",
        "DELETE FROM attempt WHERE job = ?1",
        "DELETE FROM array WHERE job = ?1",
        "DELETE FROM granted WHERE job = ?1",
        "DELETE FROM place WHERE job = ?1",
        "DELETE FROM late_promise WHERE job = ?1",
        "DELETE FROM on_expected WHERE job = ?1",
        "DELETE FROM turn WHERE job = ?1",
        "DELETE FROM sample WHERE job = ?1",
        "DELETE FROM eviction WHERE job = ?1",
        "DELETE FROM abandonment WHERE job = ?1",
        "DELETE FROM job WHERE id = ?1",
    ] {
        let rows = from.prepare_cached(sql)?.execute([job])?;
        *rows_left = rows_left.saturating_sub(rows as u64);
    }
    Ok(true)
}
