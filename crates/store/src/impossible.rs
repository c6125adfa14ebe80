//! Stored values that cannot be true. Versions before the bounds of reports stored whatever a worker had
//! reported.

use std::fmt;

use rusqlite::{Connection, Row};
use tollgate_model::{
    AttemptEvent, AttemptId, AttemptOutcome, AttemptReport, AttemptStatus, Bytes, Instant,
    ReportBounds, Span,
};

use crate::error::StoreError;
use crate::read::StoreReader;
use crate::row_values::span;

/// The columns of an attempt in the order of [`AttemptMeasures::of`].
const MEASURES: &str = "job, task, attempt, ordered, finish, wall, cpu, peak_memory, work";

/// A stored value that cannot be true. As text it names the table, the row, the value, and the nearest value
/// that can.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImpossibleValue {
    row: ImpossibleRow,
    column: &'static str,
    found: String,
    nearest: String,
}

/// The row of a value that cannot be true.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ImpossibleRow {
    /// An attempt. Its task is 0 if the job is no array.
    Attempt(AttemptId),
    /// The sums of an array.
    Array(u64),
    /// The usage of a user on a day, which counts from 1970.
    Usage { user: u32, day: i64 },
}

/// The measured values of an attempt that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AttemptMeasures {
    pub(crate) attempt: AttemptId,
    ordered: Instant,
    finish: Instant,
    pub(crate) wall: Option<Span>,
    pub(crate) cpu: Option<Span>,
    /// In bytes, as stored: a negative number was not measured.
    pub(crate) peak_memory: Option<i64>,
    pub(crate) work: Option<Span>,
}

impl AttemptMeasures {
    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            attempt: AttemptId {
                job: row.get(0)?,
                task: row.get(1)?,
                attempt: row.get(2)?,
            },
            ordered: Instant::from_micros(row.get(3)?),
            finish: Instant::from_micros(row.get(4)?),
            wall: span(row, 5)?,
            cpu: span(row, 6)?,
            peak_memory: row.get(7)?,
            work: span(row, 8)?,
        })
    }

    /// Returns the values with those that cannot be true at `last` replaced by the nearest ones that can.
    pub(crate) fn possible(&self, last: Instant) -> Self {
        // An attempt ran no longer than to its end.
        let end = self.finish.clamp(self.ordered, last.max(self.ordered));
        let choose = |stored, widest, nearest| if stored == widest { stored } else { nearest };
        let wall = choose(self.wall, self.within(last).wall, self.within(end).wall);
        // The bound of the processor time follows from the wall-clock time.
        let measured = Self { wall, ..*self };
        let (widest, nearest) = (measured.within(last), measured.within(end));
        Self {
            wall,
            cpu: choose(self.cpu, widest.cpu, nearest.cpu),
            work: choose(self.work, widest.work, nearest.work),
            ..widest
        }
    }

    /// Returns the values as they can be at the latest instant of the attempt.
    fn within(&self, now: Instant) -> Self {
        let bounds = ReportBounds {
            earliest: self.ordered,
            now,
        };
        let outcome = AttemptOutcome {
            status: AttemptStatus::Exited(0),
            killed: None,
            at: self.finish,
            wall: self.wall.unwrap_or(Span::ZERO),
            cpu: self.cpu.unwrap_or(Span::ZERO),
            suspended: Span::ZERO,
            // A report has no negative number of bytes; such a number is too large for the store.
            peak_memory: self.peak_memory.map(|bytes| bytes as u64),
        };
        let report = bounds.apply(AttemptReport {
            attempt: self.attempt,
            event: AttemptEvent::Ended(outcome),
        });
        let AttemptEvent::Ended(outcome) = report.report.event else {
            unreachable!("the bounds keep the kind of a report");
        };
        Self {
            wall: self.wall.map(|_| outcome.wall),
            cpu: self.cpu.map(|_| outcome.cpu),
            peak_memory: outcome
                .peak_memory
                .and_then(|bytes| i64::try_from(bytes).ok()),
            work: self
                .work
                .map(|work| work.clamp(Span::ZERO, bounds.max_wall())),
            ..*self
        }
    }

    /// Lists the values that differ from those that are possible.
    pub(crate) fn differences(&self, possible: &Self) -> Vec<ImpossibleValue> {
        let spans = [
            ("wall", self.wall, possible.wall),
            ("cpu", self.cpu, possible.cpu),
            ("work", self.work, possible.work),
        ];
        let spans = spans.map(|(column, found, nearest)| (column, text(found), text(nearest)));
        let bytes = |stored: Option<i64>| match stored.map(u64::try_from) {
            Some(Ok(bytes)) => Bytes::new(bytes).to_string(),
            Some(Err(_)) => format!("{} bytes", stored.unwrap_or_default()),
            None => "none".to_owned(),
        };
        let memory = (self.peak_memory, possible.peak_memory);
        let memory = ("peak_memory", bytes(memory.0), bytes(memory.1));
        let values = spans.into_iter().chain([memory]);
        let differing = values.filter(|(_, found, nearest)| found != nearest);
        let value = |(column, found, nearest)| ImpossibleValue {
            row: ImpossibleRow::Attempt(self.attempt),
            column,
            found,
            nearest,
        };
        differing.map(value).collect()
    }
}

impl StoreReader {
    /// Lists the stored values that cannot be true. `last` is the time of the last step.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn impossible_values(&self, last: Instant) -> Result<Vec<ImpossibleValue>, StoreError> {
        self.with_connection(|connection| impossible_values(connection, last))
    }
}

/// Lists the stored values that cannot be true: of attempts, and negative sums over attempts.
pub(crate) fn impossible_values(
    connection: &Connection,
    last: Instant,
) -> rusqlite::Result<Vec<ImpossibleValue>> {
    let attempts = impossible_attempts(connection, last)?.into_iter();
    let mut values: Vec<ImpossibleValue> = attempts
        .flat_map(|(found, possible)| found.differences(&possible))
        .collect();
    values.extend(negative_sums(connection)?);
    Ok(values)
}

/// Returns the attempts with values that cannot be true, each with those that can.
pub(crate) fn impossible_attempts(
    connection: &Connection,
    last: Instant,
) -> rusqlite::Result<Vec<(AttemptMeasures, AttemptMeasures)>> {
    let sql = format!(
        "SELECT {MEASURES} FROM attempt WHERE finish IS NOT NULL ORDER BY job, task, attempt"
    );
    let mut statement = connection.prepare(&sql)?;
    let mut attempts = Vec::new();
    for found in statement.query_map([], AttemptMeasures::of)? {
        let found = found?;
        let possible = found.possible(last);
        if possible != found {
            attempts.push((found, possible));
        }
    }
    Ok(attempts)
}

/// Lists the negative sums of what attempts reported.
fn negative_sums(connection: &Connection) -> rusqlite::Result<Vec<ImpossibleValue>> {
    let mut values = Vec::new();
    for (column, unit) in [("cpu", "us"), ("peak_memory", "bytes")] {
        let sql = format!("SELECT job, {column} FROM array WHERE {column} < 0 ORDER BY job");
        let mut statement = connection.prepare(&sql)?;
        let rows = statement.query_map([], |row| {
            let row = (ImpossibleRow::Array(row.get(0)?), row.get(1)?);
            Ok(negative(row, column, unit))
        })?;
        values.extend(rows.collect::<Result<Vec<_>, _>>()?);
    }
    for (column, unit) in [("wall", "us"), ("core_ms", "ms"), ("cpu", "us")] {
        let sql = format!(
            "SELECT user, day, {column} FROM usage WHERE {column} < 0 ORDER BY user, day, account"
        );
        let mut statement = connection.prepare(&sql)?;
        let rows = statement.query_map([], |row| {
            let (user, day) = (row.get(0)?, row.get(1)?);
            let row = (ImpossibleRow::Usage { user, day }, row.get(2)?);
            Ok(negative(row, column, unit))
        })?;
        values.extend(rows.collect::<Result<Vec<_>, _>>()?);
    }
    Ok(values)
}

fn negative(
    (row, found): (ImpossibleRow, i64),
    column: &'static str,
    unit: &str,
) -> ImpossibleValue {
    ImpossibleValue {
        row,
        column,
        found: format!("{found} {unit}"),
        nearest: "the sum over its attempts, or 0".to_owned(),
    }
}

fn text(span: Option<Span>) -> String {
    span.map_or_else(|| "none".to_owned(), |span| format!("{span} s"))
}

impl fmt::Display for ImpossibleValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.row {
            ImpossibleRow::Attempt(id) if id.task == 0 => {
                write!(f, "table attempt, job {}, attempt {}", id.job, id.attempt)
            }
            ImpossibleRow::Attempt(id) => {
                let AttemptId { job, task, attempt } = id;
                write!(
                    f,
                    "table attempt, job {job}, task {task}, attempt {attempt}"
                )
            }
            ImpossibleRow::Array(job) => write!(f, "table array, job {job}"),
            ImpossibleRow::Usage { user, day } => {
                write!(f, "table usage, user {user}, day {day}")
            }
        }?;
        let (column, found, nearest) = (self.column, &self.found, &self.nearest);
        write!(
            f,
            ": {column} is {found}: the nearest possible value is {nearest}"
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Any number, often one of the extremes.
    fn number() -> impl Strategy<Value = i64> {
        let extremes = vec![i64::MIN, -1, 0, 1, 60_000_000, i64::MAX - 1, i64::MAX];
        prop_oneof![
            prop::sample::select(extremes),
            any::<i64>(),
            0..100_000_000i64
        ]
    }

    proptest! {
        #[test]
        fn possible_values_are_possible(
            (ordered, finish, last) in (0..1_000_000_000i64, number(), 0..1_000_000_000i64),
            (wall, cpu, peak_memory, work) in (number(), number(), number(), number()),
        ) {
            let span = |micros| Some(Span::from_micros(micros));
            let found = AttemptMeasures {
                attempt: AttemptId { job: 1, task: 0, attempt: 1 },
                ordered: Instant::from_micros(ordered),
                finish: Instant::from_micros(finish),
                wall: span(wall),
                cpu: span(cpu),
                peak_memory: Some(peak_memory),
                work: span(work),
            };
            let last = Instant::from_micros(last);
            let possible = found.possible(last);
            prop_assert_eq!(possible.possible(last), possible);
            prop_assert!(possible.wall >= span(0) && possible.cpu >= span(0));
            prop_assert_eq!(found.differences(&possible).is_empty(), found == possible);
        }
    }
}
