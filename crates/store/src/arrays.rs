//! Writes about arrays, within a transaction.

use rusqlite::{Transaction, params};
use tollgate_model::Reason;
use tollgate_service::{ArraySpec, TaskCounts, TaskDropCause, TaskRanges};

use crate::job_rows::keys;
use crate::statement::run;
use crate::{books, task_numbers};

pub(crate) fn insert(to: &Transaction<'_>, job: u64, plan: &ArraySpec) -> rusqlite::Result<()> {
    run(
        to,
        "INSERT INTO array (job, tasks, most, queued) VALUES (?1, ?2, ?3, ?4)",
        params![
            job,
            plan.tasks.to_string(),
            plan.max_at_once,
            plan.tasks.len() as i64
        ],
    )?;
    task_numbers::insert(to, job, &plan.tasks)
}

/// Updates the number of tasks in each state, and the state of the array.
pub(crate) fn tally(
    to: &Transaction<'_>,
    job: u64,
    at: i64,
    tally: &TaskCounts,
) -> rusqlite::Result<()> {
    run(
        to,
        "UPDATE array SET queued = ?2, held = ?3, running = ?4, finished = ?5, cancelled = ?6,
             lost = ?7, rejected = ?8, kept = ?9, broken = ?10, void = ?11,
             unpromised_in_time = ?12, worst = ?13, unpromised = ?14, timed_out = ?15, out_of_memory = ?16,
             output_limit = ?17 WHERE job = ?1",
        params![
            job,
            tally.queued as i64,
            tally.held as i64,
            tally.running,
            tally.finished,
            tally.cancelled,
            tally.lost,
            tally.rejected,
            tally.kept,
            tally.broken,
            tally.void,
            tally.unpromised_in_time,
            tally.max_exit_code,
            tally.unpromised,
            tally.timed_out,
            tally.out_of_memory,
            tally.output_limit,
        ],
    )?;
    let state = match tally {
        tally if tally.running > 0 => "running",
        tally if tally.queued == 0 && tally.held > 0 => "held",
        _ => "queued",
    };
    run(
        to,
        "UPDATE job SET state = CASE WHEN finish IS NULL AND state <> 'dependent' THEN ?2 ELSE state END, attempts = ?3, price = nullif(?4, 0),
             start = coalesce(start, CASE WHEN ?3 > 0 THEN ?5 END) WHERE id = ?1",
        params![job, state, tally.attempts, tally.price.as_micros(), at],
    )
}

/// Records tasks that will never run.
pub(crate) fn dropped(
    to: &Transaction<'_>,
    job: u64,
    at: i64,
    tasks: &TaskRanges,
    cause: &TaskDropCause,
) -> rusqlite::Result<()> {
    let (state, reasons) = match cause {
        TaskDropCause::Cancelled => ("cancelled", None),
        TaskDropCause::Late => ("cancelled", Some(Reason::LATE.key().to_owned())),
        TaskDropCause::Rejected(reasons) => {
            books::enter_rejected_tasks(to, job, at, tasks.len())?;
            ("rejected", Some(keys(reasons)))
        }
    };
    ranges(to, job, at, tasks, state, reasons.as_deref())
}

/// Replaces the set of held tasks.
pub(crate) fn held(
    to: &Transaction<'_>,
    job: u64,
    at: i64,
    tasks: &TaskRanges,
) -> rusqlite::Result<()> {
    run(
        to,
        "DELETE FROM task_range WHERE job = ?1 AND state = 'held'",
        [job],
    )?;
    ranges(to, job, at, tasks, "held", None)
}

fn ranges(
    to: &Transaction<'_>,
    job: u64,
    at: i64,
    tasks: &TaskRanges,
    state: &str,
    reasons: Option<&str>,
) -> rusqlite::Result<()> {
    for (first, last) in tasks.iter() {
        run(
            to,
            "INSERT INTO task_range (job, first, last, state, at, reasons)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![job, first, last, state, at, reasons],
        )?;
    }
    Ok(())
}
