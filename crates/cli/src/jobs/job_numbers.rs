//! Parses the numbers of jobs and of tasks.

use super::cluster_job::{ClusterJob, parse_cluster_job};

/// Parses a job or tasks of an array: `7`, `7_3`, `7_1-5,9`. The service checks that they exist.
pub(crate) fn parse_job_id(words: &str) -> Result<String, String> {
    let (id, tasks) = words.split_once('_').unwrap_or((words, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let ranges = tasks.split([',', '-', ':']).all(digits);
    if digits(id) && ranges {
        return Ok(words.to_owned());
    }
    Err(format!(
        "expected the number of a job as in 7, or tasks of an array as in 7_3 or 7_1-5,9, got `{words}`"
    ))
}

/// Parses a job or tasks of an array, with the cluster that has them if it is named: `7`, `north:7_3`.
pub(crate) fn parse_cluster_job_id(words: &str) -> Result<ClusterJob, String> {
    parse_cluster_job(words, parse_job_id)
}

/// Parses jobs as [`parse_job_numbers`] does, with the cluster that has them if it is named.
pub(crate) fn parse_cluster_job_numbers(words: &str) -> Result<ClusterJob<JobNumbers>, String> {
    parse_cluster_job(words, parse_job_numbers)
}

/// The numbers of jobs, as a user names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JobNumbers {
    /// A job, or tasks of an array: `7`, `7_3`, `7_1-5,9`.
    One(String),
    /// The jobs between two numbers, with both.
    Range(u64, u64),
}

/// Parses a job, tasks of an array, or a range of jobs: `7`, `7_1-5,9`, `10-20`.
pub(crate) fn parse_job_numbers(words: &str) -> Result<JobNumbers, String> {
    let range = words.split_once('-').filter(|_| !words.contains('_'));
    let Some((first, last)) = range else {
        return parse_job_id(words).map(JobNumbers::One);
    };
    let ends = first.parse().ok().zip(last.parse().ok());
    ends.filter(|(first, last)| first <= last)
        .map(|(first, last)| JobNumbers::Range(first, last))
        .ok_or_else(|| format!("expected a range of jobs as in 10-20, got `{words}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_and_task_ids_are_parsed() {
        for words in ["7", "7_3", "7_1-5,9", "7_0-9:3"] {
            assert_eq!(parse_job_id(words).as_deref(), Ok(words));
        }
        for words in ["", "x", "7_", "7_a", "_3", "7_1-", "-7", "7/cancel"] {
            assert!(parse_job_id(words).is_err(), "{words}");
            assert!(parse_job_numbers(words).is_err(), "{words}");
        }
        assert_eq!(parse_job_numbers("10-20"), Ok(JobNumbers::Range(10, 20)));
        let tasks = JobNumbers::One("7_1-5".to_owned());
        assert_eq!(parse_job_numbers("7_1-5"), Ok(tasks));
        assert!(parse_job_numbers("20-10").is_err());
    }
}
