//! The failed tasks of an array, and what is known of its unfinished ones.

use tollgate_client::types::{
    JobDetails, RunningTaskAge, TaskFailures, TaskRuns, TasksOutlook, WireWord,
};
use tollgate_model::Span;
use tollgate_service::{RunningTask, TaskRanges};
use tollgate_store::{FailedTasks, JobRow};

use super::convert;
use super::error::ApiError;
use super::jobs::with_name;
use super::state::{ApiState, query_controller, query_store};
use crate::controller::ControllerRequest;

/// Maximum number of ways to fail that an answer distinguishes.
const MAX_WAYS: usize = 16;
/// Maximum number of ranges of tasks that are named of each.
const MAX_RANGES: usize = 16;
/// Number of last tasks whose run times are in an answer.
const MAX_RUNS: u32 = 1_000;

/// Converts a stored job, with the name of its user; an array with its failed tasks and its outlook.
pub(super) async fn with_outlook(service: &ApiState, row: JobRow) -> Result<JobDetails, ApiError> {
    let job = row.id;
    let Some(counts) = row.array.as_ref().map(|array| &array.counts) else {
        return with_name(service, row).await;
    };
    let has_failed = counts.lost > 0 || counts.max_exit_code.unwrap_or(0) > 0;
    let failures = match has_failed {
        true => query_store(service, move |reader| reader.failures(job)).await?,
        false => Vec::new(),
    };
    let outlook = match row.finish {
        None => tasks_outlook(service, job).await?,
        Some(_) => None,
    };
    let mut details = with_name(service, row).await?;
    if let Some(array) = &mut details.array {
        array.failures = failures.iter().take(MAX_WAYS).map(task_failures).collect();
        array.outlook = outlook.map(Box::new);
    }
    Ok(details)
}

/// Returns what is known of the tasks of an array; None if the array is over, or waits for its decision.
async fn tasks_outlook(service: &ApiState, job: u64) -> Result<Option<TasksOutlook>, ApiError> {
    let outlook = query_controller(service, |reply| ControllerRequest::ExplainArray {
        job,
        reply,
    });
    let Some(outlook) = outlook.await? else {
        return Ok(None);
    };
    let runs = query_store(service, move |reader| reader.task_runs(job, MAX_RUNS)).await?;
    let age = |running: RunningTask| RunningTaskAge {
        task: running.task,
        age_s: running.age.as_secs_f64(),
    };
    Ok(Some(TasksOutlook {
        oldest: outlook.oldest.map(age),
        youngest: outlook.youngest.map(age),
        runs: task_runs(&runs),
        forecast_from: outlook.basis.to_string(),
        forecast_parts: convert::forecast_parts(&outlook.basis),
        forecast_doubt: convert::forecast_doubt(&outlook.basis),
        expected: outlook.prediction.as_ref().map(convert::job_forecast),
    }))
}

/// Returns the range of ascending run times; None without one.
fn task_runs(runs: &[Span]) -> Option<TaskRuns> {
    let last = runs.len().checked_sub(1)?;
    let at = |tenth: usize| runs[(last * tenth + 5) / 10].as_secs_f64();
    Some(TaskRuns {
        count: runs.len() as u64,
        low_s: at(1),
        high_s: at(9),
    })
}

fn task_failures(failed: &FailedTasks) -> TaskFailures {
    let named: TaskRanges = failed.tasks.iter().take(MAX_RANGES).collect();
    TaskFailures {
        state: WireWord::from_key(&failed.ending),
        status: failed.status.clone(),
        count: failed.tasks.len(),
        cut: named.len() < failed.tasks.len(),
        tasks: named.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_of_failed_tasks_are_cut() {
        let failed = FailedTasks {
            ending: "finished".to_owned(),
            status: Some("exit 2".to_owned()),
            tasks: "1-99:2".parse().unwrap(),
        };
        let sentence = task_failures(&failed);
        assert_eq!((sentence.count, sentence.cut), (50, true));
        assert!(sentence.tasks.ends_with(",29,31"), "{}", sentence.tasks);
    }

    #[test]
    fn eight_in_ten_run_times_are_within_the_range() {
        let runs: Vec<Span> = (0..=100).map(Span::from_secs).collect();
        let sentence = task_runs(&runs).unwrap();
        assert_eq!(
            (sentence.count, sentence.low_s, sentence.high_s),
            (101, 10.0, 90.0)
        );
        assert_eq!(task_runs(&[]), None);
    }
}
