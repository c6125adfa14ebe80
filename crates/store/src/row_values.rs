//! Values of rows in the types of the store.

use rusqlite::Row;
use tollgate_model::{BookEntry, Credits, Instant, Span};
use tollgate_service::{TaskCounts, TaskRanges};

use crate::history::LatePromise;
use crate::job_program::JobProgram;
use crate::read::JobRow;
use crate::task_numbers::TaskNumbers;
use crate::tasks::ArrayRow;

/// Returns the time of a batch, its commands, their checksum, and its number.
pub(crate) fn batch(row: &Row<'_>) -> rusqlite::Result<(Instant, Vec<u8>, u32, i64)> {
    let at = Instant::from_micros(row.get(0)?);
    Ok((at, row.get(1)?, row.get(2)?, row.get(3)?))
}

pub(crate) fn program_of(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<JobProgram>> {
    json(&row.get::<_, String>(column)?, column)
}

/// Parses the text of a column.
pub(crate) fn json<T: serde::de::DeserializeOwned>(
    text: &str,
    column: usize,
) -> rusqlite::Result<T> {
    serde_json::from_str(text).map_err(|error| {
        let kind = rusqlite::types::Type::Text;
        rusqlite::Error::FromSqlConversionFailure(column, kind, Box::new(error))
    })
}

pub(crate) fn instant(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Instant>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(Instant::from_micros))
}

pub(crate) fn span(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Span>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(Span::from_micros))
}

/// Returns a number of bytes; None if the row has none, or one that cannot be true.
pub(crate) fn bytes(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<u64>> {
    let stored: Option<i64> = row.get(column)?;
    Ok(stored.and_then(|bytes| u64::try_from(bytes).ok()))
}

pub(crate) fn credits(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Credits>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(Credits::from_micros))
}

pub(crate) fn job_row(row: &Row<'_>) -> rusqlite::Result<JobRow> {
    let reasons: Option<String> = row.get(13)?;
    let after: Option<String> = row.get(19)?;
    let after = after.unwrap_or_default();
    let dropped = dropped_texts(row)?;
    let mut program = program_of(row, 4)?;
    let command: Option<String> = row.get(46)?;
    if let (Some(program), Some(command)) = (&mut program, command)
        && !dropped.contains(&"command")
    {
        program.argv = json(&command, 46)?;
    }
    Ok(JobRow {
        id: row.get(0)?,
        task: None,
        number: None,
        array: array_row(row)?,
        after: after
            .split(',')
            .filter_map(|job| job.parse().ok())
            .collect(),
        user: row.get(1)?,
        name: row.get(2)?,
        state: row.get(3)?,
        program,
        dropped,
        procs: row.get(5)?,
        submit: Instant::from_micros(row.get(6)?),
        estimate: Span::from_micros(row.get(7)?),
        source: row.get(8)?,
        due: instant(row, 9)?,
        budget: credits(row, 10)?,
        decided: instant(row, 11)?,
        price: credits(row, 12)?,
        reasons: reasons.map_or(Vec::new(), |keys| {
            keys.split(',').map(str::to_owned).collect()
        }),
        probability: row.get(14)?,
        late_promise: late_promise(row)?,
        on_expected: row.get(56)?,
        start: instant(row, 15)?,
        awaits_engine: row.get(50)?,
        finish: instant(row, 16)?,
        attempts: row.get(17)?,
        status: row.get(18)?,
        forecast: instant(row, 42)?,
        host: row.get(38)?,
        hosts: row.get(52)?,
        run: span(row, 39)?,
        cpu: span(row, 40)?,
        peak_memory: bytes(row, 41)?,
        entry: entry(row, 32)?,
        account: row.get(33)?,
        queue: row.get(34)?,
    })
}

fn late_promise(row: &Row<'_>) -> rusqlite::Result<Option<LatePromise>> {
    let quoted = row.get(54)?;
    Ok(instant(row, 53)?.map(|at| LatePromise { at, quoted }))
}

/// Reads the entry of a job in the books.
pub(crate) fn entry(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<BookEntry>> {
    let key: Option<String> = row.get(column)?;
    Ok(key.as_deref().and_then(BookEntry::from_key))
}

/// Returns the names of the texts of a job that its user keeps no more.
pub(crate) fn dropped_texts(row: &Row<'_>) -> rusqlite::Result<Vec<&'static str>> {
    let mut dropped = Vec::new();
    for (column, name) in [(47, "command"), (48, "environment"), (49, "script")] {
        if row.get(column)? {
            dropped.push(name);
        }
    }
    Ok(dropped)
}

pub(crate) fn array_row(row: &Row<'_>) -> rusqlite::Result<Option<ArrayRow>> {
    let Some(tasks) = row.get::<_, Option<String>>(20)? else {
        return Ok(None);
    };
    let tasks: TaskRanges = tasks.parse().unwrap_or_default();
    let first_number: Option<u64> = row.get(51)?;
    Ok(Some(ArrayRow {
        numbers: first_number.map(|first| TaskNumbers::new(first, &tasks)),
        tasks,
        max_at_once: row.get(21)?,
        counts: TaskCounts {
            queued: row.get(22)?,
            held: row.get(23)?,
            running: row.get(24)?,
            finished: row.get(25)?,
            timed_out: row.get(43)?,
            out_of_memory: row.get(44)?,
            output_limit: row.get(45)?,
            cancelled: row.get(26)?,
            lost: row.get(27)?,
            abandoned: row.get(55)?,
            rejected: row.get(28)?,
            kept: row.get(29)?,
            broken: row.get(30)?,
            void: row.get(31)?,
            unpromised: row.get(35)?,
            unpromised_in_time: row.get(36)?,
            attempts: row.get(17)?,
            price: credits(row, 12)?.unwrap_or(Credits::ZERO),
            max_exit_code: row.get(37)?,
        },
    }))
}
