//! The promised work on a node.

use tollgate_model::{Instant, JobId, Span};
use tollgate_policy::{JobPhase, Node, NodeTask, TOLERANCE_S, View};

use super::runtime_model::{CachedAnswer, RuntimeModel, RuntimeQuestion};
use super::settings::TailParams;

/// The work that a node's promises need, in order of deadline, which is the order of execution.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct NodeDemand {
    /// The instant at which the work left was counted.
    since: Instant,
    rows: Vec<TaskDemand>,
}

/// A task whose deadline has not passed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct TaskDemand {
    job: JobId,
    due: Instant,
    /// Seconds of work done.
    work_s: f64,
    /// Seconds of work per second.
    rate: f64,
    /// Seconds of work that the task is believed to still need.
    left_s: f64,
}

/// Returns true if a promise for `due` can no longer be kept.
fn passed(due: Instant, now: Instant) -> bool {
    due <= now + Span::TICK
}

/// Returns the task that runs: the one due first among those whose deadline has not passed, else
/// the one due first of all. Ties go to the task that arrived first.
pub(super) fn first(node: &Node, now: Instant) -> Option<&NodeTask> {
    let tasks = node.tasks().iter();
    tasks.min_by_key(|task| (passed(task.due, now), task.due))
}

/// Returns, by node, the job that runs there if the tasks of a job run in step. Job by job in the order of
/// [`first`], one runs if none of its nodes is taken yet. None on a node whose jobs all wait.
pub(super) fn jobs_in_step(view: View<'_>) -> Vec<Option<JobId>> {
    let running = view
        .jobs()
        .filter(|(_, job)| job.phase == JobPhase::Running);
    let mut jobs: Vec<_> = running
        .map(|(id, job)| {
            let due = job.spec.due().unwrap_or(Instant::MAX);
            (passed(due, view.now), due, job.sequence, id)
        })
        .collect();
    jobs.sort_unstable();
    let mut taken = vec![None; view.n_nodes() as usize];
    for (.., id) in jobs {
        let placement = view.job(id).placement();
        let nodes = || placement.iter().flat_map(|range| range.nodes());
        if nodes().all(|node| taken[node.index()].is_none()) {
            nodes().for_each(|node| taken[node.index()] = Some(id));
        }
    }
    taken
}

impl NodeDemand {
    /// Computes the promised work on `node`, whose shares were just set.
    pub(super) fn of(view: View<'_>, node: &Node, settings: &TailParams) -> Self {
        let mut demand = Self::default();
        demand.set(view, node, settings, &mut CachedAnswer::default());
        demand
    }

    /// Updates the demand from `node`, whose shares were just set. Only the task that has run since
    /// can have changed.
    pub(super) fn set(
        &mut self,
        view: View<'_>,
        node: &Node,
        settings: &TailParams,
        last_need: &mut CachedAnswer,
    ) {
        let old = std::mem::take(&mut self.rows);
        self.since = node.since();
        for task in node.tasks() {
            if passed(task.due, self.since) {
                continue;
            }
            let same = |row: &&TaskDemand| row.job == task.job && row.work_s == task.work;
            let known = old.iter().find(same).copied();
            let known_left_s = known.map(|row| row.left_s);
            self.rows.push(TaskDemand {
                job: task.job,
                due: task.due,
                work_s: task.work,
                rate: task.rate,
                left_s: known_left_s
                    .unwrap_or_else(|| left_s(view, node, task, settings, last_need)),
            });
        }
        self.rows.sort_by_key(|row| row.due);
    }

    /// Returns the seconds of work promised at `now`, if a task that needs `required_work_s` of them until
    /// `due` keeps its own promise and does not break those of later tasks. None otherwise. Nothing may have
    /// happened on the node since its shares were set.
    pub(super) fn load_with_task_s(&self, due: Instant, need_s: f64, now: Instant) -> Option<f64> {
        let elapsed_s = now.since(self.since).as_secs_f64();
        let mut promised_s = 0.0;
        let mut with_task_s = None;
        for row in &self.rows {
            let left_s = f64::max(row.left_s - row.rate * elapsed_s, 0.0);
            if row.due > due {
                let before_s = match with_task_s {
                    Some(before_s) => before_s,
                    None => in_time(promised_s + need_s, due, now)?,
                };
                with_task_s = Some(in_time(before_s + left_s, row.due, now)?);
            }
            // A late task stops at its deadline.
            promised_s = f64::min(promised_s + left_s, until_s(row.due, now));
        }
        if with_task_s.is_none() {
            in_time(promised_s + need_s, due, now)?;
        }
        Some(promised_s)
    }
}

/// Returns `finish_s`, in seconds from now, if the finish is not after `due`.
fn in_time(finish_s: f64, due: Instant, now: Instant) -> Option<f64> {
    (finish_s <= until_s(due, now) + TOLERANCE_S).then_some(finish_s)
}

/// Returns the seconds from now to `due`, not negative; infinite without a deadline.
fn until_s(due: Instant, now: Instant) -> f64 {
    if due == Instant::MAX {
        return f64::INFINITY;
    }
    due.since(now).as_secs_f64().max(0.0)
}

/// Returns the seconds of work that a task is believed to still need, from the work it had done
/// when its node's shares were last set.
fn left_s(
    view: View<'_>,
    node: &Node,
    task: &NodeTask,
    settings: &TailParams,
    last_need: &mut CachedAnswer,
) -> f64 {
    let job = view.job(task.job);
    let forecast = view.forecast(task.job);
    let start = job.start.unwrap_or(job.spec.submit);
    let question = RuntimeQuestion {
        estimate: job.spec.estimate,
        forecast: forecast.copied(),
        speed: node.speed(),
        work_s: task.work,
        deadline: job.spec.due().map(|due| due.since(start)),
    };
    let need_s = last_need.of(&question, || {
        RuntimeModel::of(&job.spec, forecast)
            .at_speed(node.speed())
            .required_work_s(task.work, question.deadline, settings)
    });
    f64::max(need_s - task.work, 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: i64) -> Instant {
        Instant::from_secs(secs)
    }

    /// Builds a node with tasks given as (due, left), in seconds.
    fn node(rows: &[(i64, f64)]) -> NodeDemand {
        let rows = (0..).zip(rows).map(|(job, &(due, left_s))| TaskDemand {
            job: JobId(job),
            due: at(due),
            work_s: 0.0,
            rate: f64::from(job == 0),
            left_s,
        });
        NodeDemand {
            since: at(0),
            rows: rows.collect(),
        }
    }

    #[test]
    fn new_task_must_not_delay_tasks_due_later() {
        let node = node(&[(100, 40.0), (200, 100.0)]);
        // 60 s are free before the second task is due, 40 s and the task's own before its own
        // deadline.
        assert_eq!(node.load_with_task_s(at(150), 60.0, at(0)), Some(140.0));
        assert_eq!(node.load_with_task_s(at(150), 60.1, at(0)), None);
        assert_eq!(node.load_with_task_s(at(90), 60.0, at(0)), Some(140.0));
        assert_eq!(node.load_with_task_s(at(90), 60.1, at(0)), None);
        assert_eq!(node.load_with_task_s(at(200), 60.0, at(0)), Some(140.0));
        assert_eq!(node.load_with_task_s(at(300), 160.0, at(0)), Some(140.0));
        assert_eq!(node.load_with_task_s(at(300), 160.1, at(0)), None);
        assert_eq!(node.load_with_task_s(Instant::MAX, 1e9, at(0)), Some(140.0));
    }

    #[test]
    fn first_task_progresses_as_time_passes() {
        let node = node(&[(100, 40.0), (200, 100.0)]);
        assert_eq!(node.load_with_task_s(at(300), 160.0, at(30)), Some(110.0));
        assert_eq!(node.load_with_task_s(at(300), 160.1, at(30)), None);
    }

    #[test]
    fn broken_promise_does_not_block_later_tasks() {
        let node = node(&[(100, 150.0), (200, 50.0)]);
        assert_eq!(node.load_with_task_s(at(250), 100.0, at(0)), Some(150.0));
        // No task is admitted before the late one: the late task would be even later.
        assert_eq!(node.load_with_task_s(at(50), 1.0, at(0)), None);
    }
}
