//! The work of attempts.
//!
//! Work is what the gate accounts. On nodes of its own an attempt does one second of work a second, and on
//! nodes that it shares it does as much as its rate says. Where load that is not of jobs slows a host, a second of work
//! on nodes of its own takes longer. A job needs a certain amount of work, however long
//! it takes; so forecasts are about work.

use tollgate_model::{Distribution, Instant, Span};

use crate::active_task::ActiveTask;
use crate::core::Core;

/// The resolution of work on shared nodes, in microseconds. Ends are rounded to the next microsecond
/// and rates are summed as floating-point numbers; neither may make two equal runs differ.
const WORK_STEP_US: i64 = 1_000;

impl Core {
    /// Returns the work that the running attempt of a task has done by `now`; zero if none runs.
    pub(crate) fn work_so_far(&self, live: &ActiveTask, now: Instant) -> Span {
        match live.started {
            Some(started) if live.is_running() => self.work_within(live, now.since(started)),
            Some(_) | None => Span::ZERO,
        }
    }

    /// Returns the work that the current attempt of a task has done within the span `wall` since its
    /// start.
    pub(crate) fn work_within(&self, live: &ActiveTask, wall: Span) -> Span {
        let Some(started) = live.started else {
            return Span::ZERO;
        };
        let Some(work_s) = self.shared_work_s(live, started + wall) else {
            return self.work_alone(live, wall);
        };
        let work = Span::from_secs_f64(work_s) - live.work_before;
        let steps = (work.as_micros() + WORK_STEP_US / 2) / WORK_STEP_US;
        let work = Span::from_micros(steps * WORK_STEP_US);
        work.max(Span::from_micros(WORK_STEP_US)).min(wall)
    }

    /// Returns the work that an attempt on nodes of its own has done within the span `wall`. Load of its hosts that is not of
    /// jobs has cost it the rest.
    fn work_alone(&self, live: &ActiveTask, wall: Span) -> Span {
        let view = self.gate.view(self.now);
        let (Some(slot), Some(started)) = (view.find_job(live.slot), live.started) else {
            return wall;
        };
        let cost = self.now.since(started) - slot.progress().work_by(self.now);
        match cost > Span::ZERO {
            true => (wall - cost).max(Span::TICK),
            false => wall,
        }
    }

    /// Returns the seconds of work that the gate has accounted to a task on shared nodes by `at`. A job on
    /// several nodes progresses as one process, at the mean of its rates. None if the task has its nodes to
    /// itself.
    pub(crate) fn shared_work_s(&self, live: &ActiveTask, at: Instant) -> Option<f64> {
        let view = self.gate.view(self.now);
        let placement = view.find_job(live.slot)?.placement();
        let nodes = placement.iter().flat_map(|range| range.nodes());
        let (mut sum_s, mut n) = (0.0, 0_u32);
        for node in nodes.map(|id| view.node(id)) {
            if let Some(task) = node.tasks().iter().find(|task| task.job == live.slot) {
                sum_s += node.work_at(task, at);
                n += 1;
            }
        }
        (n > 0).then(|| sum_s / f64::from(n))
    }

    /// Returns the distribution of the total work of a task, given the work that it has done by `now`.
    pub(crate) fn work_distribution(&self, live: &ActiveTask, now: Instant) -> Distribution {
        let whole = *live.forecast.distribution();
        match self.work_so_far(live, now) {
            Span::ZERO => whole,
            work => whole.given_survived(work),
        }
    }
}
