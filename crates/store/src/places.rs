//! The nodes of attempts over time.

use rusqlite::{Row, Transaction, params};
use tollgate_model::{AttemptId, Instant};

use crate::error::StoreError;
use crate::read::StoreReader;
use crate::row_values::instant;
use crate::statement::run;

/// The required places: those to which all that is given applies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceFilter {
    /// Only those of this job.
    pub job: Option<u64>,
    /// Only those that are taken, or were left after this instant. Without it only those that are taken.
    pub since: Option<Instant>,
    /// Only those that were taken before this instant.
    pub until: Option<Instant>,
    /// Only those that were left before this instant.
    pub before: Option<Instant>,
    /// The maximum number.
    pub limit: u32,
}

/// The nodes that an attempt takes, or took.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaceRow {
    /// The attempt.
    pub attempt: AttemptId,
    /// Whether its job is an array.
    pub of_array: bool,
    /// User id of the owner of the job.
    pub user: u32,
    /// Name of the job.
    pub name: String,
    /// Deadline of the job.
    pub due: Option<Instant>,
    /// Numbers of the nodes, as in `0-3,8`.
    pub nodes: String,
    /// Name of the host of the program; None if it is not known.
    pub host: Option<String>,
    /// The hosts with the number of processors on each, as in `n1:4,n2:2`, if there are several.
    pub hosts: Option<String>,
    /// Instant at which the nodes were taken.
    pub start: Instant,
    /// Instant at which the nodes were left; None of nodes that are taken.
    pub finish: Option<Instant>,
    /// The end of the task, if this is its last attempt: a key of [`tollgate_model::JobEndState`].
    pub ending: Option<String>,
}

/// Records that an attempt takes nodes.
pub(crate) fn begin(
    to: &Transaction<'_>,
    attempt: AttemptId,
    at: i64,
    nodes: &str,
) -> rusqlite::Result<()> {
    run(
        to,
        "INSERT INTO place VALUES (?1, ?2, ?3, ?4, ?5, NULL)
         ON CONFLICT DO UPDATE SET nodes = excluded.nodes, start = excluded.start, finish = NULL",
        params![attempt.job, attempt.task, attempt.attempt, nodes, at],
    )
}

/// Records that an attempt has left its nodes, unless it had before.
pub(crate) fn end(to: &Transaction<'_>, attempt: AttemptId, at: i64) -> rusqlite::Result<()> {
    run(
        to,
        "UPDATE place SET finish = max(start, ?4)
         WHERE job = ?1 AND task = ?2 AND attempt = ?3 AND finish IS NULL",
        params![attempt.job, attempt.task, attempt.attempt, at],
    )
}

/// A place in the tables, in the order of `place_row`.
const COLUMNS: &str =
    "place.job, place.task, place.attempt, array.job IS NOT NULL, user, name, due, nodes, host,
    hosts, place.start, place.finish,
    CASE WHEN array.job IS NOT NULL THEN ending
        WHEN job.finish IS NOT NULL AND place.attempt = job.attempts THEN state END
    FROM place JOIN job ON id = place.job LEFT JOIN array ON array.job = id
        LEFT JOIN attempt USING (job, task, attempt) LEFT JOIN placement USING (job, task, attempt)
    WHERE (?1 IS NULL OR place.job = ?1) AND (?2 IS NULL OR place.start < ?2)";

impl StoreReader {
    /// Returns the places that match the filter: first those that are taken, by the number of the job, then those that were
    /// left last.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn places(&self, filter: &PlaceFilter) -> Result<Vec<PlaceRow>, StoreError> {
        let until = filter.until.map(Instant::as_micros);
        let mut places = Vec::new();
        if filter.before.is_none() {
            let sql = format!(
                "SELECT {COLUMNS} AND place.finish IS NULL
                 ORDER BY place.job, place.task, place.attempt LIMIT ?3"
            );
            places = self.rows(&sql, params![filter.job, until, filter.limit], place_row)?;
        }
        let left = filter.limit.saturating_sub(places.len() as u32);
        if let Some(since) = filter.since
            && left > 0
        {
            let sql = format!(
                "SELECT {COLUMNS} AND place.finish > ?4 AND place.finish < ?5
                 ORDER BY place.finish DESC, place.job, place.task, place.attempt LIMIT ?3"
            );
            let before = filter.before.unwrap_or(Instant::MAX);
            let values = params![
                filter.job,
                until,
                left,
                since.as_micros(),
                before.as_micros()
            ];
            places.extend(self.rows(&sql, values, place_row)?);
        }
        Ok(places)
    }
}

fn place_row(row: &Row<'_>) -> rusqlite::Result<PlaceRow> {
    Ok(PlaceRow {
        attempt: AttemptId {
            job: row.get(0)?,
            task: row.get(1)?,
            attempt: row.get(2)?,
        },
        of_array: row.get(3)?,
        user: row.get(4)?,
        name: row.get(5)?,
        due: instant(row, 6)?,
        nodes: row.get(7)?,
        host: row.get(8)?,
        hosts: row.get(9)?,
        start: Instant::from_micros(row.get(10)?),
        finish: instant(row, 11)?,
        ending: row.get(12)?,
    })
}
