//! Selectors of a job, or of tasks of an array: `7`, `7_3`, `7_1-5,9`, and `1000000002` for the same as `7_3`.

use tollgate_model::FIRST_TASK_NUMBER;
use tollgate_service::TaskRanges;

use super::error::ApiError;
use super::state::{ApiState, query_store};

/// Maximum job number: the largest integer of the store.
pub(super) const MAX_ID: u64 = i64::MAX as u64;

/// A job, or some of its tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JobSelector {
    pub(super) job: u64,
    pub(super) tasks: Option<TaskRanges>,
}

impl JobSelector {
    /// Parses a selector. An invalid selector gets the error for an unknown job.
    pub(super) fn parse(word: &str) -> Result<Self, ApiError> {
        let (job, tasks) = match word.split_once('_') {
            Some((job, tasks)) => (job, Some(tasks)),
            None => (word, None),
        };
        let job = job.parse().ok().filter(|&job| job <= MAX_ID);
        let job = job.ok_or_else(ApiError::unknown_job)?;
        let tasks = tasks.map(str::parse).transpose();
        let tasks = tasks.map_err(|_| ApiError::unknown_job())?;
        Ok(Self { job, tasks })
    }

    /// Parses a selector, and finds the task if the selector is the whole number of one.
    pub(super) async fn find(service: &ApiState, word: &str) -> Result<Self, ApiError> {
        let selector = Self::parse(word)?;
        match selector.tasks {
            None => Self::of_number(service, selector.job).await,
            Some(_) => Ok(selector),
        }
    }

    /// Returns the selector of the job or task with a number. A number that no task has gets the error for an unknown
    /// job.
    pub(super) async fn of_number(service: &ApiState, number: u64) -> Result<Self, ApiError> {
        if number < FIRST_TASK_NUMBER {
            return Ok(Self {
                job: number,
                tasks: None,
            });
        }
        let found = query_store(service, move |reader| reader.task_of_number(number)).await?;
        let task = found.ok_or_else(ApiError::unknown_job)?;
        Ok(Self {
            job: task.job,
            tasks: Some(TaskRanges::new(task.task, task.task)),
        })
    }

    /// Returns the task if the selector names exactly one.
    pub(super) fn task(&self) -> Option<u32> {
        let tasks = self.tasks.as_ref().filter(|tasks| tasks.len() == 1)?;
        tasks.first()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_selector_parses_jobs_and_task_ranges() {
        let read = |word| JobSelector::parse(word).unwrap();
        assert_eq!((read("7").job, read("7").tasks), (7, None));
        assert_eq!(read("7_3").task(), Some(3));
        assert_eq!(read("7_1-5,9").tasks.unwrap().len(), 6);
        assert_eq!(read("7_1-5").task(), None);
        for word in ["", "_", "7_", "7[3]", "x", "7_x", "9223372036854775808"] {
            assert!(JobSelector::parse(word).is_err(), "{word}");
        }
    }
}
