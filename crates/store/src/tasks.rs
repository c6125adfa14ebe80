//! Queries for the tasks of an array.

use std::collections::BTreeMap;

use rusqlite::params;
use tollgate_model::{BookEntry, Instant, Span};
use tollgate_service::{TaskCounts, TaskRanges};

use crate::error::StoreError;
use crate::read::{JobRow, StoreReader};
use crate::row_values::{bytes, entry, span};
use crate::task_numbers::TaskNumbers;

/// The state of an array's tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayRow {
    /// Numbers of the tasks.
    pub tasks: TaskRanges,
    /// Maximum number of tasks at a time.
    pub max_at_once: Option<u32>,
    /// Whole numbers of the tasks; None only if the store is damaged.
    pub numbers: Option<TaskNumbers>,
    /// Number of tasks in each state, and their sums.
    pub counts: TaskCounts,
}

/// Tasks of an array that failed in the same way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedTasks {
    /// Their end: the key of a [`tollgate_model::JobEndState`].
    pub ending: String,
    /// The status of tasks that ended by themselves: `exit 2`.
    pub status: Option<String>,
    /// Numbers of the tasks.
    pub tasks: TaskRanges,
}

/// The key of a task's end, and its status if it ended by itself.
type TaskEnd = (String, Option<String>);

/// The last attempts of the failed tasks of an array. The planner of SQLite knows nothing of how few they are, so the
/// index is named.
const FAILED_TASKS: &str = "attempt INDEXED BY attempt_failed
    WHERE job = ?1 AND (ending IN ('timed_out', 'out_of_memory', 'output_limit', 'lost')
    OR ending = 'finished' AND status <> 'exit 0')";

/// A range of tasks without attempts.
struct PendingTaskRange {
    first: u32,
    last: u32,
    state: String,
    at: Instant,
    reasons: Vec<String>,
}

/// A summary of the attempts of a task.
#[derive(Default)]
struct AttemptSummary {
    attempts: u32,
    start: Option<Instant>,
    finish: Option<Instant>,
    status: Option<String>,
    ending: Option<String>,
    entry: Option<BookEntry>,
    host: Option<String>,
    hosts: Option<String>,
    run: Option<Span>,
    /// Processor time of all attempts.
    cpu: Option<Span>,
    /// Greatest peak memory of an attempt, in bytes.
    peak_memory: Option<u64>,
}

impl StoreReader {
    /// Returns tasks of an array, each as a job of its own, ascending, at most `limit`. None if the
    /// array does not exist.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn tasks(
        &self,
        job: u64,
        chosen: Option<&TaskRanges>,
        limit: u32,
    ) -> Result<Option<Vec<JobRow>>, StoreError> {
        let Some((row, array)) = self.job(job)?.and_then(|mut row| {
            let array = row.array.take()?;
            Some((row, array))
        }) else {
            return Ok(None);
        };
        let tasks = chosen.map_or_else(|| array.tasks.clone(), |it| array.tasks.intersection(it));
        let tasks: Vec<u32> = tasks.numbers().take(limit as usize).collect();
        let (Some(&first), Some(&last)) = (tasks.first(), tasks.last()) else {
            return Ok(Some(Vec::new()));
        };
        let mut tried = self.attempt_summaries(job, first, last)?;
        let unstarted = self.pending_ranges(job, first, last)?;
        let tasks = tasks.into_iter().map(|task| {
            let ranges = unstarted.iter().rev();
            let range = ranges
                .clone()
                .find(|it| it.first <= task && task <= it.last);
            let numbers = array.numbers.as_ref();
            let number = numbers.and_then(|numbers| numbers.number(task));
            JobRow {
                number,
                ..task_row(&row, task, tried.remove(&task), range)
            }
        });
        Ok(Some(tasks.collect()))
    }

    /// Returns the failed tasks of an array by how they ended, those with the most tasks first. A status is part of
    /// the end of tasks that ended by themselves.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn failures(&self, job: u64) -> Result<Vec<FailedTasks>, StoreError> {
        let sql = format!("SELECT task, ending, status FROM {FAILED_TASKS} ORDER BY task");
        let rows = self.rows(&sql, [job], |row| {
            let (task, ending): (u32, String) = (row.get(0)?, row.get(1)?);
            let status: Option<String> = row.get(2)?;
            Ok((task, ending, status))
        })?;
        let mut tasks_by_end: BTreeMap<TaskEnd, Vec<(u32, u32)>> = BTreeMap::new();
        for (task, ending, status) in rows {
            let status = status.filter(|_| ending == "finished");
            let tasks = tasks_by_end.entry((ending, status)).or_default();
            tasks.push((task, task));
        }
        let failures = tasks_by_end.into_iter();
        let mut failures: Vec<FailedTasks> = failures
            .map(|((ending, status), tasks)| FailedTasks {
                ending,
                status,
                tasks: tasks.into_iter().collect(),
            })
            .collect();
        failures.sort_by_key(|failed| std::cmp::Reverse(failed.tasks.len()));
        Ok(failures)
    }

    /// Returns the run times of tasks of an array that ended with success, ascending: of those with the greatest
    /// numbers, at most `limit`.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn task_runs(&self, job: u64, limit: u32) -> Result<Vec<Span>, StoreError> {
        let sql =
            "SELECT wall FROM attempt WHERE job = ?1 AND status = 'exit 0' AND ending = 'finished'
             AND wall IS NOT NULL ORDER BY task DESC LIMIT ?2";
        let mut runs = self.rows(sql, params![job, limit], |row| {
            row.get(0).map(Span::from_micros)
        })?;
        runs.sort_unstable();
        Ok(runs)
    }

    /// Returns the tasks of an array that failed: with another exit code than 0, ended by a limit, or lost.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn failed_tasks(&self, job: u64) -> Result<TaskRanges, StoreError> {
        let sql = format!("SELECT task FROM {FAILED_TASKS} ORDER BY task");
        let failed = self.rows(&sql, [job], |row| row.get(0))?;
        Ok(failed.into_iter().map(|task: u32| (task, task)).collect())
    }

    fn attempt_summaries(
        &self,
        job: u64,
        first: u32,
        last: u32,
    ) -> Result<BTreeMap<u32, AttemptSummary>, StoreError> {
        let sql = "SELECT task, attempt, start, finish, status, ending, promise, host, wall, cpu,
                 peak_memory, hosts FROM attempt LEFT JOIN placement USING (job, task, attempt)
             WHERE job = ?1 AND task BETWEEN ?2 AND ?3 ORDER BY task, attempt";
        let instant = |micros: Option<i64>| micros.map(Instant::from_micros);
        let rows = self.rows(sql, params![job, first, last], |row| {
            let tried = AttemptSummary {
                attempts: row.get(1)?,
                start: instant(row.get(2)?),
                finish: instant(row.get(3)?),
                status: row.get(4)?,
                ending: row.get(5)?,
                entry: entry(row, 6)?,
                host: row.get(7)?,
                run: span(row, 8)?,
                cpu: span(row, 9)?,
                peak_memory: bytes(row, 10)?,
                hosts: row.get(11)?,
            };
            Ok((row.get::<_, u32>(0)?, tried))
        })?;
        let mut tried: BTreeMap<u32, AttemptSummary> = BTreeMap::new();
        for (task, row) in rows {
            let earlier = tried.remove(&task).unwrap_or_default();
            let summary = AttemptSummary {
                start: earlier.start.or(row.start),
                cpu: earlier
                    .cpu
                    .map_or(row.cpu, |cpu| Some(cpu + row.cpu.unwrap_or(Span::ZERO))),
                peak_memory: earlier.peak_memory.max(row.peak_memory),
                ..row
            };
            tried.insert(task, summary);
        }
        Ok(tried)
    }

    fn pending_ranges(
        &self,
        job: u64,
        first: u32,
        last: u32,
    ) -> Result<Vec<PendingTaskRange>, StoreError> {
        let sql = "SELECT first, last, state, at, reasons FROM task_range
             WHERE job = ?1 AND first <= ?3 AND last >= ?2 ORDER BY state = 'held', first";
        self.rows(sql, params![job, first, last], |row| {
            let reasons: Option<String> = row.get(4)?;
            let reasons = reasons.as_deref().map(|keys| keys.split(','));
            Ok(PendingTaskRange {
                first: row.get(0)?,
                last: row.get(1)?,
                state: row.get(2)?,
                at: Instant::from_micros(row.get(3)?),
                reasons: reasons.map_or(Vec::new(), |keys| keys.map(str::to_owned).collect()),
            })
        })
    }
}

/// Returns the row of a task: that of its array, with the fields that differ.
fn task_row(
    row: &JobRow,
    task: u32,
    tried: Option<AttemptSummary>,
    range: Option<&PendingTaskRange>,
) -> JobRow {
    let tried = tried.unwrap_or_default();
    let one = JobRow {
        task: Some(task),
        start: tried.start,
        attempts: tried.attempts,
        status: tried.status,
        entry: tried.entry,
        host: tried.host,
        hosts: tried.hosts,
        run: tried.run,
        cpu: tried.cpu,
        peak_memory: tried.peak_memory,
        reasons: Vec::new(),
        finish: None,
        ..row.clone()
    };
    match (tried.ending, range) {
        (Some(state), _) => JobRow {
            state,
            finish: tried.finish,
            ..one
        },
        (None, _) if tried.attempts > 0 && tried.finish.is_none() => JobRow {
            state: "running".to_owned(),
            ..one
        },
        (None, Some(range)) => JobRow {
            state: range.state.clone(),
            finish: Some(range.at).filter(|_| range.state != "held"),
            reasons: range.reasons.clone(),
            ..one
        },
        // A task of an array that is undecided, or was finished before its tasks were created.
        (None, None) if ["dependent", "held", "cancelled", "rejected"].contains(&&*row.state) => {
            JobRow {
                finish: row.finish,
                reasons: row.reasons.clone(),
                ..one
            }
        }
        (None, None) => JobRow {
            state: "queued".to_owned(),
            ..one
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    #[test]
    fn failures_are_found_by_the_index_of_failed_tasks() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("tollgate.db")).unwrap();
        let sql = format!(
            "EXPLAIN QUERY PLAN SELECT task, ending, status FROM {FAILED_TASKS} ORDER BY task"
        );
        let plan = store.reader().unwrap().rows(&sql, [7], |row| row.get(3));
        let plan: Vec<String> = plan.unwrap();
        assert_eq!(plan, ["SEARCH attempt USING INDEX attempt_failed (job=?)"]);
    }
}
