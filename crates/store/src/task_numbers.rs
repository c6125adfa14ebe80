//! Whole numbers of the tasks of arrays, for systems whose words for a job are numbers.
//!
//! The tasks of an array have consecutive numbers, in their order, which the array gets with its submission. One row an
//! array is stored, however many tasks the array has, and the row outlives the array, so no number is given twice.

use rusqlite::{Transaction, params};
use tollgate_model::{FIRST_TASK_NUMBER, TaskId};
use tollgate_service::TaskRanges;

use crate::error::{StoreError, sqlite};
use crate::read::StoreReader;
use crate::statement::run;
use crate::store::Store;

/// The numbers of the tasks of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskNumbers {
    /// The ranges of tasks, ascending, each with the number of its first task.
    ranges: Vec<NumberedRange>,
}

/// Tasks between two indices, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NumberedRange {
    /// The number of the first task.
    number: u64,
    first: u32,
    last: u32,
}

impl NumberedRange {
    fn last_number(&self) -> u64 {
        self.number + u64::from(self.last - self.first)
    }
}

impl TaskNumbers {
    /// Numbers tasks from `first` on.
    pub(crate) fn new(first: u64, tasks: &TaskRanges) -> Self {
        let mut next = first;
        let ranges = tasks.iter().map(|(first, last)| {
            let range = NumberedRange {
                number: next,
                first,
                last,
            };
            next = range.last_number() + 1;
            range
        });
        Self {
            ranges: ranges.collect(),
        }
    }

    /// Returns the number of a task; None if the array does not have the task.
    pub fn number(&self, task: u32) -> Option<u64> {
        let place = self.ranges.partition_point(|range| range.last < task);
        let range = self.ranges.get(place).filter(|range| range.first <= task)?;
        Some(range.number + u64::from(task - range.first))
    }

    /// Returns the task that has a number; None if no task of the array has it.
    fn task(&self, number: u64) -> Option<u32> {
        let place = self
            .ranges
            .partition_point(|range| range.last_number() < number);
        let range = self.ranges.get(place)?;
        let beyond = number.checked_sub(range.number)?;
        Some(range.first + u32::try_from(beyond).ok()?)
    }
}

impl StoreReader {
    /// Returns the task that has a number; None if no task has it, or its array was removed.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn task_of_number(&self, number: u64) -> Result<Option<TaskId>, StoreError> {
        let Ok(sql_number) = i64::try_from(number) else {
            return Ok(None);
        };
        let sql = "SELECT array.job, numbers.first, tasks FROM
             (SELECT first, job FROM task_numbers WHERE first <= ?1 ORDER BY first DESC LIMIT 1) AS numbers
             JOIN array ON array.job = numbers.job";
        let rows = self.rows(sql, [sql_number], |row| {
            let (job, first, tasks): (u64, u64, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok((job, TaskNumbers::new(first, &parsed(&tasks))))
        })?;
        let found = rows.into_iter().next();
        Ok(found.and_then(|(job, numbers)| {
            let task = numbers.task(number)?;
            Some(TaskId { job, task })
        }))
    }
}

impl Store {
    /// Returns the numbers of the tasks of an array; None if there is no such array.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn task_numbers(&self, job: u64) -> Result<Option<TaskNumbers>, StoreError> {
        let sql = "SELECT first, tasks FROM task_numbers JOIN array USING (job) WHERE job = ?1";
        let read = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query([job])?;
            let Some(row) = rows.next()? else {
                return Ok(None);
            };
            let tasks: String = row.get(1)?;
            Ok(Some(TaskNumbers::new(row.get(0)?, &parsed(&tasks))))
        };
        read().map_err(sqlite(&self.path, "cannot be read"))
    }
}

/// Returns the tasks of an array from their column; none if the column is damaged.
fn parsed(tasks: &str) -> TaskRanges {
    tasks.parse().unwrap_or_default()
}

/// Gives the tasks of a new array the numbers after those of all arrays before.
pub(crate) fn insert(to: &Transaction<'_>, job: u64, tasks: &TaskRanges) -> rusqlite::Result<()> {
    run(
        to,
        "INSERT INTO task_numbers (first, job, n_tasks) VALUES (coalesce(
             (SELECT first + n_tasks FROM task_numbers ORDER BY first DESC LIMIT 1), ?1), ?2, ?3)",
        params![FIRST_TASK_NUMBER, job, tasks.len()],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_have_consecutive_numbers_in_their_order() {
        let tasks: TaskRanges = "1-3,7,10-19:3".parse().unwrap();
        let numbers = TaskNumbers::new(50, &tasks);
        for (task, number) in tasks.numbers().zip(50..) {
            assert_eq!(numbers.number(task), Some(number), "{task}");
            assert_eq!(numbers.task(number), Some(task), "{number}");
        }
        for other in [0, 4, 8, 11, 20, u32::MAX] {
            assert_eq!(numbers.number(other), None, "{other}");
        }
        for other in [0, 49, 58, u64::MAX] {
            assert_eq!(numbers.task(other), None, "{other}");
        }
    }
}
