//! The fates of tasks and pilots, in figures.

use tollgate_model::{Instant, Span};

/// The fate of a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TaskRecord {
    pub(super) submitted: Instant,
    pub(super) due: Option<Instant>,
    /// The instant of the promise. None if nothing was promised.
    pub(super) promised: Option<Instant>,
    /// Whether the promise counts on pilots that had not come.
    pub(super) on_expected: bool,
    /// The probability that was stated with the promise.
    pub(super) stated: f64,
    pub(super) finished: Option<Instant>,
    /// The length of the attempt that finished.
    pub(super) ran: Span,
}

/// A run that is over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SitesRun {
    /// The tasks in order of submission.
    pub(super) tasks: Vec<TaskRecord>,
    pub(super) pilots: u32,
    pub(super) moves: u32,
    /// The time that pilots ran, summed over their cores.
    pub(super) held: Span,
    pub(super) without_cores: Span,
}

/// The outcome of some runs together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SitesOutcome {
    /// Number of tasks that were submitted.
    pub tasks: usize,
    /// Number of tasks that finished.
    pub finished: usize,
    /// Number of tasks that finished by their deadlines, promised or not.
    pub in_time: usize,
    /// Number of deadlines that were promised.
    pub promised: usize,
    /// Number of promises that were kept.
    pub kept: usize,
    /// The number of promises that should be kept, by the probabilities that were stated.
    pub expected_kept: f64,
    /// The time from the submission to the promise: the median, in seconds. None without promises.
    pub promise_wait_s: Option<f64>,
    /// The same, which nine in ten promises do not exceed.
    pub promise_wait_p90_s: Option<f64>,
    /// Number of pilots that were submitted.
    pub pilots: u32,
    /// Number of pilots that were moved from one queue to another.
    pub moves: u32,
    /// The core hours that pilots held.
    pub core_hours: f64,
    /// The core hours that pilots held besides those of tasks that finished.
    pub wasted_core_hours: f64,
    /// Tasks that finished an hour, from the first submission to the last end of each run. None if none finished.
    pub tasks_per_hour: Option<f64>,
    /// The time in which no pilot ran while tasks with deadlines waited, in seconds.
    pub without_cores_s: f64,
}

impl TaskRecord {
    pub(super) const fn new(submitted: Instant, due: Option<Instant>) -> Self {
        Self {
            submitted,
            due,
            promised: None,
            on_expected: false,
            stated: 0.0,
            finished: None,
            ran: Span::ZERO,
        }
    }

    fn is_in_time(&self) -> bool {
        let by_due = |finished: Instant| self.due.is_none_or(|due| finished <= due);
        self.finished.is_some_and(by_due)
    }
}

impl SitesRun {
    /// Returns the time from the first submission to the last end. Zero if no task finished.
    fn length(&self) -> Span {
        let first = self.tasks.first().map(|task| task.submitted);
        let last = self.tasks.iter().filter_map(|task| task.finished).max();
        let length = first.zip(last).map(|(first, last)| last.since(first));
        length.unwrap_or(Span::ZERO)
    }
}

impl SitesOutcome {
    /// Returns the figures of runs: counts and times are sums, the waits are those of all tasks.
    pub fn of_runs(runs: &[SitesRun]) -> Self {
        let tasks = || runs.iter().flat_map(|run| &run.tasks);
        let promised = || tasks().filter(|task| task.promised.is_some());
        let mut waits: Vec<f64> = promised()
            .filter_map(|task| Some(task.promised?.since(task.submitted).as_secs_f64()))
            .collect();
        waits.sort_by(f64::total_cmp);
        let hours = |span: Span| span.as_secs_f64() / 3600.0;
        let finished = || tasks().filter(|task| task.finished.is_some());
        let used: f64 = finished().map(|task| hours(task.ran)).sum();
        let held = runs.iter().map(|run| hours(run.held)).sum();
        let length: f64 = runs.iter().map(|run| hours(run.length())).sum();
        let per_hour = finished().count() as f64 / length;
        Self {
            tasks: tasks().count(),
            finished: finished().count(),
            promised: waits.len(),
            in_time: tasks().filter(|task| task.is_in_time()).count(),
            kept: promised().filter(|task| task.is_in_time()).count(),
            expected_kept: promised().map(|task| task.stated).sum(),
            promise_wait_s: nearest_rank(&waits, 0.5),
            promise_wait_p90_s: nearest_rank(&waits, 0.9),
            pilots: runs.iter().map(|run| run.pilots).sum(),
            moves: runs.iter().map(|run| run.moves).sum(),
            core_hours: held,
            wasted_core_hours: held - used,
            tasks_per_hour: Some(per_hour).filter(|rate| rate.is_finite()),
            without_cores_s: runs.iter().map(|run| run.without_cores.as_secs_f64()).sum(),
        }
    }
}

/// Returns the value that this part of the sorted values does not exceed. None without values.
fn nearest_rank(sorted: &[f64], part: f64) -> Option<f64> {
    let rank = (part * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(submitted: i64, promised: Option<i64>, finished: Option<i64>) -> TaskRecord {
        TaskRecord {
            promised: promised.map(Instant::from_secs),
            stated: 0.9,
            finished: finished.map(Instant::from_secs),
            ran: Span::from_secs(360),
            ..TaskRecord::new(
                Instant::from_secs(submitted),
                Some(Instant::from_secs(submitted + 1000)),
            )
        }
    }

    #[test]
    fn figures_follow_from_the_records() {
        let run = SitesRun {
            tasks: vec![
                record(0, Some(0), Some(900)),
                record(0, Some(30), Some(1001)),
                record(0, None, Some(500)),
                record(0, Some(50), None),
            ],
            pilots: 2,
            moves: 1,
            held: Span::from_secs(7200),
            without_cores: Span::from_secs(5),
        };
        let outcome = SitesOutcome::of_runs(std::slice::from_ref(&run));
        assert_eq!(
            (outcome.promised, outcome.kept, outcome.finished),
            (3, 1, 3)
        );
        assert_eq!(outcome.in_time, 2);
        assert!((outcome.expected_kept - 2.7).abs() < 1e-12);
        let waits = (outcome.promise_wait_s, outcome.promise_wait_p90_s);
        assert_eq!(waits, (Some(30.0), Some(50.0)));
        assert_eq!(outcome.core_hours, 2.0);
        assert!((outcome.wasted_core_hours - 1.7).abs() < 1e-12);
        let per_hour = outcome.tasks_per_hour.expect("tasks finished");
        assert!((per_hour - 3.0 * 3600.0 / 1001.0).abs() < 1e-9);
        let both = SitesOutcome::of_runs(&[run.clone(), run]);
        assert_eq!((both.tasks, both.pilots, both.moves), (8, 4, 2));
        assert_eq!(
            (both.promise_wait_s, both.without_cores_s),
            (Some(30.0), 10.0)
        );
        assert!((both.tasks_per_hour.expect("tasks") - per_hour).abs() < 1e-9);
    }

    #[test]
    fn runs_without_tasks_have_no_waits_and_no_rate() {
        let outcome = SitesOutcome::of_runs(&[SitesRun::default()]);
        assert_eq!(outcome, SitesOutcome::default());
    }
}
