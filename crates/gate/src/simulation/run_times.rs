//! The run times of jobs, which a simulation knows and the gate does not.

use tollgate_model::{Instant, JobId, NodeSpeed, Span};
use tollgate_policy::{Node, NodeTask, TOLERANCE_S};

/// The source of the run times of a [`Simulation`](super::Simulation). A closure from job to run time is one.
pub trait RunTimes {
    /// Returns the total run time of a job, alone on the slowest nodes of the machine, as far as is known
    /// at `now`; not negative. None if the job never ends.
    fn run_time(&self, job: JobId, now: Instant) -> Option<Span>;

    /// Returns the same in seconds. An implementation may know them, which saves a division for each task at
    /// each event of its node.
    fn run_time_s(&self, job: JobId, now: Instant) -> Option<f64> {
        self.run_time(job, now).map(Span::as_secs_f64)
    }

    /// Returns whether a task on a node that jobs share has done its work. By default at most a
    /// microsecond of work is left: nothing can be timed more exactly. An implementation that
    /// overrides one of the methods about tasks overrides both.
    fn has_ended(&self, node: &Node, task: &NodeTask, now: Instant) -> bool {
        self.run_time_s(task.job, now).is_some_and(|run_time_s| {
            work_left_s(run_time_s, node.speed(), task, node.elapsed_s(now)) <= TOLERANCE_S
        })
    }

    /// Returns the first end of a task on a node that jobs share, if the rates stay the same; not
    /// before `now`. None if no task ever ends.
    fn first_task_end(&self, node: &Node, now: Instant) -> Option<Instant> {
        let elapsed_s = node.elapsed_s(now);
        let mut first_s = f64::INFINITY;
        for task in node.tasks() {
            let Some(run_time_s) = self.run_time_s(task.job, now) else {
                continue;
            };
            let left_s = work_left_s(run_time_s, node.speed(), task, elapsed_s);
            let further_s = if left_s <= TOLERANCE_S {
                0.0
            } else {
                left_s / task.rate
            };
            if further_s < first_s {
                first_s = further_s;
            }
        }
        first_s
            .is_finite()
            .then(|| now + Span::ceil_secs_f64(first_s))
    }

    /// Returns the job of the ended task on a node that comes first by `rank`, which maps places in
    /// [`Node::tasks`]. None if no task has ended. One call per node, because calls per task would
    /// take longer than what they do.
    fn first_ended_task(
        &self,
        node: &Node,
        now: Instant,
        rank: &dyn Fn(usize) -> u64,
    ) -> Option<JobId> {
        let tasks = node.tasks().iter().enumerate();
        let ended = tasks.filter(|(_, task)| self.has_ended(node, task, now));
        let first = ended.min_by_key(|&(place, _)| rank(place));
        first.map(|(_, task)| task.job)
    }
}

/// Returns the seconds of work that a task still has to do on a node of this speed, `elapsed_s` seconds after
/// [`Node::since`]. The task takes `run_time_s` seconds on the slowest node.
#[inline]
pub(crate) fn work_left_s(
    run_time_s: f64,
    speed: NodeSpeed,
    task: &NodeTask,
    elapsed_s: f64,
) -> f64 {
    speed.seconds_for(run_time_s) - task.work_after(elapsed_s)
}

impl<F: Fn(JobId) -> Span> RunTimes for F {
    fn run_time(&self, job: JobId, _: Instant) -> Option<Span> {
        Some(self(job))
    }
}
