//! The future of one node on which a job has a task, where no other node affects the job.

use tollgate_model::{Instant, JobId, Span};
use tollgate_policy::{JobInfo, Node, NodeSharing};

use super::trajectory::{LookAheadHorizon, TaskProgress};
use super::{STEPS_PER_EVENT, end_of, record_rate, spend_steps};

/// A copy of a node that moves into the future.
#[derive(Debug)]
pub(super) struct NodeTrajectory {
    node: Node,
    me: JobId,
    now: Instant,
    /// Time at which shares must be recomputed even if no task ends.
    alarm: Option<Instant>,
    /// By task: its run time on the slowest node. The job of the look-ahead never ends.
    run_time_s: Vec<f64>,
}

impl NodeTrajectory {
    pub(super) fn new(
        node: Node,
        me: JobId,
        now: Instant,
        alarm: Option<Instant>,
        expected: &dyn Fn(JobId) -> Span,
    ) -> Self {
        let run_time_s = node.tasks().iter().map(|task| {
            if task.job == me {
                f64::INFINITY
            } else {
                expected(task.job).as_secs_f64()
            }
        });
        Self {
            run_time_s: run_time_s.collect(),
            node,
            me,
            now,
            alarm,
        }
    }

    /// Returns the progress of the task, up to the horizon or the end of the remaining looks.
    pub(super) fn follow<'a>(
        mut self,
        sharing: &dyn NodeSharing,
        known: &dyn Fn(JobId) -> JobInfo<'a>,
        horizon: &LookAheadHorizon,
        looks_left: &mut u64,
    ) -> TaskProgress {
        let mut progress = TaskProgress::default();
        loop {
            record_rate(&mut progress, &self.node, self.me);
            let end = self.next_end();
            let alarm = self.alarm.map(|alarm| alarm.max(self.now));
            let next = end.map(|(at, _)| at).into_iter().chain(alarm).min();
            let at = next.unwrap_or(Instant::MAX);
            progress.known_until(at);
            let looks = STEPS_PER_EVENT + self.run_time_s.len() as u64;
            if at == Instant::MAX
                || horizon.is_reached(at, progress.work_by(at))
                || !spend_steps(looks_left, looks)
            {
                return progress;
            }
            self.now = at;
            if let Some((_, task)) = end.filter(|&(end, _)| end == at) {
                self.node.remove_task(task, at);
                self.run_time_s.remove(task);
            }
            self.alarm = sharing.set_shares(&mut self.node, at, known);
        }
    }

    /// Returns the earliest end and its task; ties by order of arrival.
    fn next_end(&self) -> Option<(Instant, usize)> {
        let tasks = self.node.tasks().iter().zip(&self.run_time_s);
        let ends = tasks.map(|(task, &run_time_s)| end_of(&self.node, task, run_time_s, self.now));
        ends.zip(0..).min()
    }
}
