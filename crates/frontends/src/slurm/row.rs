//! Rows of Slurm's lists: jobs, tasks of arrays, and the tasks of an array that wait, which are one row.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tollgate_client::types::{JobDetails, JobForecast, JobState};

use super::states::{SlurmState, SlurmStatus};
use super::time::api_instant;

/// The present time and the zone of the user.
#[derive(Clone, Debug)]
pub struct SlurmClock {
    /// The present time.
    pub now: Timestamp,
    /// The zone.
    pub zone: TimeZone,
}

/// A row of a list.
#[derive(Clone, Debug)]
pub struct SlurmRow {
    /// The job or task; of tasks that wait together, the first.
    pub job: JobDetails,
    /// How it stands.
    pub status: SlurmStatus,
    /// The tasks of an array that wait together: `2-4%1`. None for a single job or task.
    pub waiting: Option<String>,
    /// Whether it is a part of an array.
    pub is_of_array: bool,
    /// The maximum number of tasks of the array at a time.
    pub max_running: Option<u32>,
    /// The forecast, if it was requested.
    pub forecast: Option<JobForecast>,
    /// Whether the row stands for its array where jobs are whole numbers.
    pub stands_for_array: bool,
}

impl SlurmRow {
    /// Returns the row of a job that is no array. None if Slurm would not list the job.
    pub fn of_job(job: JobDetails) -> Option<Self> {
        Some(Self {
            status: SlurmStatus::of(&job)?,
            is_of_array: job.array.is_some(),
            max_running: job.array.as_ref().and_then(|array| array.max_running),
            job,
            waiting: None,
            forecast: None,
            stands_for_array: false,
        })
    }

    /// Returns the rows of an array, ascending: one for each task, but for tasks that wait one for all, if
    /// `joins_waiting`. Tasks of different reasons wait apart.
    pub fn of_array(array: &JobDetails, tasks: Vec<JobDetails>, joins_waiting: bool) -> Vec<Self> {
        let status = array.array.as_ref();
        let max_running = status.and_then(|status| status.max_running);
        let is_full = status.is_some_and(|status| {
            max_running.is_some_and(|most| status.running >= u64::from(most))
        });
        let rows = tasks.into_iter().filter_map(|mut task| {
            if task.after.is_empty() {
                task.after.clone_from(&array.after);
            }
            let mut status = SlurmStatus::of(&task)?;
            if is_full && task.state == JobState::Queued && task.waits_for.is_none() {
                status.reason = "JobArrayTaskLimit".into();
            }
            Some(Self {
                job: task,
                status,
                waiting: None,
                is_of_array: true,
                max_running,
                forecast: None,
                stands_for_array: false,
            })
        });
        let (waiting, mut others): (Vec<Self>, Vec<Self>) =
            rows.partition(|row| joins_waiting && row.status.state == SlurmState::Pending);
        let mut groups: Vec<(Self, Vec<u32>)> = Vec::new();
        for row in waiting {
            let task = row.job.task.unwrap_or(0);
            match groups
                .iter_mut()
                .find(|(first, _)| first.status.reason == row.status.reason)
            {
                Some((_, tasks)) => tasks.push(task),
                None => groups.push((row, vec![task])),
            }
        }
        let joined = groups.into_iter().map(|(first, tasks)| {
            let most = max_running.map_or_else(String::new, |most| format!("%{most}"));
            let waiting = Some(format!("{}{most}", ranges(&tasks)));
            Self { waiting, ..first }
        });
        let mut rows: Vec<Self> = joined.collect();
        rows.append(&mut others);
        rows
    }

    /// Returns the number of the job, or the whole number of the task.
    pub fn raw_id(&self) -> u64 {
        match self.waiting.is_some() || self.stands_for_array {
            true => self.job.id,
            false => self.job.number.unwrap_or(self.job.id),
        }
    }

    /// Returns the hosts of the job: of a job on several all of them, else the one it runs on, or none.
    pub fn hosts(&self) -> Vec<&str> {
        match &self.job.hosts {
            Some(parts) => {
                let parts = parts.split(',');
                let names = parts.map(|part| part.rsplit_once(':').map_or(part, |(name, _)| name));
                names.collect()
            }
            None => self.job.host.as_deref().into_iter().collect(),
        }
    }

    /// Returns the name of the job in lists: `7`, `7_3`, or `7_[2-4%1]`.
    pub fn display_id(&self) -> String {
        let id = self.job.id;
        match (&self.waiting, self.job.task, &self.job.array) {
            (Some(tasks), _, _) => format!("{id}_[{tasks}]"),
            (None, Some(task), _) if self.is_of_array => format!("{id}_{task}"),
            (None, None, Some(array)) => format!("{id}_[{}]", array.tasks),
            (None, _, _) => id.to_string(),
        }
    }

    /// Returns the instant of the start: the real one, or the expected one if it is known.
    pub fn expected_start(&self) -> Option<Timestamp> {
        let real = self.job.started_at.as_deref().and_then(api_instant);
        real.or_else(|| {
            let waits = matches!(
                self.job.state.known(),
                Some(JobState::Held | JobState::Dependent)
            );
            let forecast = self.forecast.as_ref().filter(|_| !waits)?;
            api_instant(&forecast.expected_start_at)
        })
    }

    /// Returns the instant of the end: the real one, or that of the time limit of a job that runs.
    pub(crate) fn end(&self) -> Option<Timestamp> {
        let real = self.job.finished_at.as_deref().and_then(api_instant);
        real.or_else(|| {
            let limit = self.job.time_limit_s?;
            let span = jiff::SignedDuration::try_from_secs_f64(limit).ok()?;
            self.expected_start()?.checked_add(span).ok()
        })
    }

    /// Returns the whole seconds that the job has run.
    pub(crate) fn used_s(&self, clock: &SlurmClock) -> u64 {
        let start = self.job.started_at.as_deref().and_then(api_instant);
        let end = self.job.finished_at.as_deref().and_then(api_instant);
        let used = start.map(|start| end.unwrap_or(clock.now).duration_since(start));
        used.map_or(0, |used| u64::try_from(used.as_secs()).unwrap_or(0))
    }
}

/// Lets one task of each array carry the number of the array, as in the records of Slurm. Callers know by it how the
/// array stands. The task is one that waits, else one that runs, else one that failed.
pub fn mark_arrays(rows: &mut [SlurmRow]) {
    let rank = |row: &SlurmRow| match row.status.state {
        SlurmState::Pending => 0,
        SlurmState::Running | SlurmState::Suspended => 1,
        SlurmState::Completed => 3,
        SlurmState::Failed
        | SlurmState::Timeout
        | SlurmState::OutOfMemory
        | SlurmState::Cancelled
        | SlurmState::NodeFail
        | SlurmState::Preempted
        | SlurmState::Deadline => 2,
    };
    let mut chosen: BTreeMap<u64, (u8, usize)> = BTreeMap::new();
    for (at, row) in rows.iter().enumerate().filter(|(_, row)| row.is_of_array) {
        let candidate = (rank(row), at);
        let best = chosen.entry(row.job.id).or_insert(candidate);
        *best = candidate.min(*best);
    }
    for (_, at) in chosen.into_values() {
        rows[at].stands_for_array = true;
    }
}

/// Writes ascending numbers as ranges: `1-3,7`. A step of more than 1 stays a list.
fn ranges(numbers: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*number) => *last = *number,
            Some(_) | None => ranges.push((*number, *number)),
        }
    }
    let texts = ranges.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    texts.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::job;
    use super::*;

    #[test]
    fn tasks_that_wait_are_one_row() {
        let array = job(serde_json::json!({"array": {
            "tasks": "1-5", "max_running": 1, "queued": 3, "held": 1, "running": 1, "finished": 0, "cancelled": 0,
            "lost": 0, "rejected": 0, "kept": 0, "broken": 0, "void": 0, "unpromised": 0,
        }}));
        let task = |task: u32, state: &str| {
            job(
                serde_json::json!({"task": task, "number": 1_000_000_000_u64 + u64::from(task), "state": state}),
            )
        };
        let tasks = vec![
            task(1, "running"),
            task(2, "queued"),
            task(3, "queued"),
            task(4, "held"),
            task(5, "queued"),
        ];
        let rows = SlurmRow::of_array(&array, tasks.clone(), true);
        let ids: Vec<String> = rows
            .iter()
            .map(|row| {
                format!(
                    "{} {} {}",
                    row.display_id(),
                    row.raw_id(),
                    row.status.reason
                )
            })
            .collect();
        assert_eq!(
            ids,
            [
                "7_[2-3,5%1] 7 JobArrayTaskLimit",
                "7_[4%1] 7 JobHeldUser",
                "7_1 1000000001 None"
            ]
        );
        assert_eq!(SlurmRow::of_array(&array, tasks, false).len(), 5);
    }

    #[test]
    fn one_task_carries_the_number_of_its_array() {
        let numbers = |states: &[&str]| {
            let array = job(serde_json::json!({}));
            let tasks = (1_u32..).zip(states).map(|(task, state)| {
                let status = if *state == "failed" {
                    "exit 1"
                } else {
                    "exit 0"
                };
                let state = if *state == "failed" {
                    "finished"
                } else {
                    *state
                };
                job(serde_json::json!({
                    "task": task, "number": 100 + task, "state": state, "status": status,
                }))
            });
            let mut rows = SlurmRow::of_array(&array, tasks.collect(), true);
            mark_arrays(&mut rows);
            rows.iter().map(SlurmRow::raw_id).collect::<Vec<_>>()
        };
        assert_eq!(numbers(&["finished", "finished", "running"]), [101, 102, 7]);
        assert_eq!(numbers(&["finished", "failed", "finished"]), [101, 7, 103]);
        assert_eq!(numbers(&["finished", "finished"]), [7, 102]);
        assert_eq!(numbers(&["queued", "running"]), [7, 102]);
    }
}
