//! The unfinished work of a service.

use tollgate_model::{Instant, Span};

/// The least time that a task counts for.
const SHORTEST: Span = Span::from_secs(1);

/// Equal tasks that wait or run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskGroup {
    /// The number of cores of a task; at least 1.
    pub cores: u32,
    /// The time that a task is expected to take from now on.
    pub run_time: Span,
    /// The number of tasks.
    pub tasks: u32,
    /// The maximum number of these tasks that may run at once.
    pub at_once: u32,
    /// The deadline of each task. None if there is no deadline.
    pub deadline: Option<Instant>,
    /// Whether the deadline is promised on the cores that are there. Else it has no promise yet, or one that counts on pilots
    /// to come.
    pub is_promised: bool,
}

/// The unfinished work of a service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PendingWork {
    /// The tasks that could start at once if there were cores.
    pub waiting: Vec<TaskGroup>,
    /// The tasks that wait for other tasks, or whose room is reserved: no pilot is wanted for them yet, and one that is
    /// there waits for them.
    pub later: Vec<TaskGroup>,
    /// The tasks that run on pilots.
    pub running: Vec<TaskGroup>,
    /// The number of idle cores that belong to no pilot.
    pub idle_elsewhere: u32,
}

impl TaskGroup {
    /// Returns the time within which the tasks are to be done. None without a deadline, or if they cannot meet it any more.
    ///
    /// It is half of the time left, and at least the run time, as long as no promise rests on the cores that are there. Pilots
    /// that just suffice on average are too few for a promise.
    pub(crate) fn due_within(&self, now: Instant) -> Option<Span> {
        let within = self.deadline?.since(now);
        let half = Span::from_micros(within.as_micros() / 2);
        let counted = match self.is_promised {
            true => within,
            false => half.max(self.run_time),
        };
        (self.run_time <= within).then_some(counted)
    }

    pub(crate) fn is_startable(&self) -> bool {
        self.tasks > 0 && self.at_once > 0
    }

    pub(crate) fn fits(&self, cores: u32, time: Span) -> bool {
        self.cores <= cores && self.run_time <= time
    }

    /// Returns the work in core-seconds.
    pub(crate) fn work(&self) -> f64 {
        let run_time = self.run_time.max(SHORTEST);
        f64::from(self.tasks) * f64::from(self.cores) * run_time.as_secs_f64()
    }

    /// Returns the number of cores that the tasks can use at once.
    pub(crate) fn width(&self) -> f64 {
        f64::from(self.tasks.min(self.at_once)) * f64::from(self.cores)
    }
}
