//! The runs of finished jobs, from which a service that begins anew learns what it knew of them.

use std::path::Path;

use rusqlite::{Connection, Row};
use tollgate_model::{Instant, Span};
use tollgate_service::{OwnRun, RunRecord, executable};

use crate::error::{StoreError, sqlite};
use crate::row_values;

/// Number of last runs from which beliefs are rebuilt. Older ones hardly count: groups remember at most 32
/// batches.
const MAX_RUNS: u32 = 20_000;

/// Returns the last runs that ended with success, in no particular order.
///
/// # Errors
/// If the store cannot be read.
pub(crate) fn earlier_runs(
    connection: &Connection,
    path: &Path,
) -> Result<Vec<OwnRun>, StoreError> {
    let sql =
        "SELECT user, name, program, procs, job.estimate, source = 'user', submit, account, queue,
            attempt.finish, coalesce(work, wall, attempt.finish - attempt.start),
            EXISTS (SELECT 1 FROM array WHERE array.job = job.id), job.id, cpu, peak_memory
        FROM attempt JOIN job ON job.id = attempt.job
        WHERE attempt.status = 'exit 0' AND attempt.finish IS NOT NULL
        ORDER BY attempt.finish DESC LIMIT ?1";
    let failed = sqlite(path, "cannot be read");
    let mut statement = connection.prepare(sql).map_err(failed)?;
    let runs = statement.query_map([MAX_RUNS], own_run).map_err(failed)?;
    let runs: rusqlite::Result<Vec<Option<OwnRun>>> = runs.collect();
    Ok(runs.map_err(failed)?.into_iter().flatten().collect())
}

/// Returns a run; None if it took no time.
fn own_run(row: &Row<'_>) -> rusqlite::Result<Option<OwnRun>> {
    let Some(runtime) = row_values::span(row, 10)?.filter(|&runtime| runtime > Span::ZERO) else {
        return Ok(None);
    };
    let is_requested: bool = row.get(5)?;
    let estimate = row_values::span(row, 4)?.filter(|_| is_requested);
    let program = row_values::program_of(row, 2)?;
    let is_array: bool = row.get(11)?;
    let job: i64 = row.get(12)?;
    let procs = row.get(3)?;
    // The stored use of a job on several hosts is that on the first of them, and the hosts are not stored.
    let is_whole = procs == 1;
    Ok(Some(OwnRun {
        run: RunRecord {
            digest: 0,
            user: row.get(0)?,
            name: row.get(1)?,
            executable: program.and_then(|program| executable(&program.argv)),
            account: row.get(7)?,
            queue: row.get(8)?,
            procs,
            estimate,
            submit: Instant::from_micros(row.get(6)?),
            finish: Instant::from_micros(row.get(9)?),
            runtime,
            cpu: row_values::span(row, 13)?.filter(|_| is_whole),
            peak_memory: row_values::bytes(row, 14)?.filter(|_| is_whole),
        },
        array: is_array.then_some(job.cast_unsigned()),
    }))
}
