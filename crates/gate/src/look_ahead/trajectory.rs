//! When a job starts, and how its work gets on.

use tollgate_model::{Instant, Span};

/// How far to look ahead: until the job has done this much work, and until it is due unless it has
/// done all that it may need by then.
#[derive(Clone, Copy, Debug)]
pub struct LookAheadHorizon {
    /// The longest run time that will be asked for, in any case.
    pub runtime: Span,
    /// When the job is due, and the longest run time that matters for that.
    pub due: Option<(Instant, Span)>,
}

impl LookAheadHorizon {
    /// Whether nothing more is asked for of a task that has done `work_s` seconds of work at `now`.
    pub(super) fn is_reached(&self, now: Instant, work_s: f64) -> bool {
        let due = self.due;
        work_s >= self.runtime.as_secs_f64()
            && due.is_none_or(|(due, most)| now >= due || work_s >= most.as_secs_f64())
    }
}

/// What becomes of a job: when it starts, and how its work gets on from then on.
#[derive(Clone, Debug, PartialEq)]
pub struct JobTrajectory {
    start: Instant,
    now: Instant,
    /// None if it has its nodes to itself.
    tasks: Option<Vec<TaskProgress>>,
}

/// How one task of a job gets on: at constant rates, from step to step.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TaskProgress {
    steps: Vec<RateSegment>,
    /// Nothing is known of what is later.
    until: Instant,
}

/// From `since` on, when `work_s` seconds of work are done, it does `rate` seconds of work a second.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RateSegment {
    since: Instant,
    work_s: f64,
    rate: f64,
}

impl JobTrajectory {
    /// A job that has its nodes to itself from `start` on, and has not ended at `now`.
    pub(super) fn exclusive(start: Instant, now: Instant) -> Self {
        Self {
            start,
            now,
            tasks: None,
        }
    }

    /// A job that started, or starts, on nodes that it shares.
    pub(super) fn shared(start: Instant, now: Instant, tasks: Vec<TaskProgress>) -> Self {
        Self {
            start,
            now,
            tasks: Some(tasks),
        }
    }

    /// When it starts, or has started.
    pub fn start(&self) -> Instant {
        self.start
    }

    /// When all its tasks have ended, if it takes `runtime` alone on its nodes; none if that is
    /// further away than was looked.
    pub fn finish(&self, runtime: Span) -> Option<Instant> {
        let Some(tasks) = &self.tasks else {
            return Some((self.start + runtime).max(self.now));
        };
        let work_s = runtime.as_secs_f64();
        let mut finish = self.now;
        for task in tasks {
            finish = finish.max(task.time_of_work(work_s)?);
        }
        Some(finish)
    }

    /// The longest run time with which it finishes by `due`, as far as was looked; not negative.
    pub fn max_runtime(&self, due: Instant) -> Span {
        if due < self.now {
            return Span::ZERO;
        }
        let Some(tasks) = &self.tasks else {
            return due.since(self.start).max(Span::ZERO);
        };
        let work_s = tasks.iter().map(|task| task.work_by(due));
        let least_s = work_s.fold(f64::INFINITY, f64::min).max(0.0);
        Span::from_micros((least_s * 1e6) as i64)
    }
}

impl TaskProgress {
    /// Takes note of a new rate. Steps come in order of time; of one instant the last counts.
    pub(super) fn push(&mut self, since: Instant, work_s: f64, rate: f64) {
        self.steps.pop_if(|last| last.since == since);
        self.steps.push(RateSegment {
            since,
            work_s,
            rate,
        });
    }

    /// Takes note of up to when this is known.
    pub(super) fn known_until(&mut self, until: Instant) {
        self.until = until;
    }

    /// When `work_s` seconds of work are done.
    fn time_of_work(&self, work_s: f64) -> Option<Instant> {
        let after = self.steps.partition_point(|step| step.work_s < work_s);
        let step = self.steps.get(after.saturating_sub(1))?;
        let left_s = f64::max(work_s - step.work_s, 0.0);
        let done = step.since + Span::ceil_secs_f64(left_s / step.rate);
        // What is further away than time can tell does not happen; ends are rounded up.
        (done <= self.until + Span::TICK && done < Instant::MAX).then_some(done)
    }

    /// Seconds of work done by `at`, or by when it is known.
    pub(super) fn work_by(&self, at: Instant) -> f64 {
        let at = at.min(self.until);
        let after = self.steps.partition_point(|step| step.since <= at);
        let step = self.steps[..after].last();
        step.map_or(0.0, |step| {
            step.work_s + step.rate * at.since(step.since).as_secs_f64()
        })
    }
}
