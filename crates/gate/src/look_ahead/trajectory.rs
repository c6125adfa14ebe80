//! The start of a job and the progress of its work.

use tollgate_model::{Instant, NodeSpeed, Span};

/// The horizon of a look-ahead: until the job has done this much work. It lasts until the job is due unless
/// it has done all the work that it may need by then.
#[derive(Clone, Copy, Debug)]
pub struct LookAheadHorizon {
    /// The longest run time that will be queried in any case.
    pub runtime: Span,
    /// The job's due time, and the longest run time that matters for it.
    pub due: Option<(Instant, Span)>,
}

impl LookAheadHorizon {
    /// Returns whether a task with `work_s` seconds of work done at `now` needs no further
    /// look-ahead.
    pub(super) fn is_reached(&self, now: Instant, work_s: f64) -> bool {
        let due = self.due;
        work_s >= self.runtime.as_secs_f64()
            && due.is_none_or(|(due, most)| now >= due || work_s >= most.as_secs_f64())
    }
}

/// A job's predicted start and the progress of its work from then on.
#[derive(Clone, Debug, PartialEq)]
pub struct JobTrajectory {
    start: Instant,
    now: Instant,
    nodes: JobNodes,
}

/// The nodes of a job.
#[derive(Clone, Debug, PartialEq)]
enum JobNodes {
    /// The job has its nodes to itself, the slowest of which has this speed.
    Exclusive(NodeSpeed),
    /// The job shares its nodes; its tasks progress like this.
    Shared(Vec<TaskProgress>),
}

/// The progress of one task of a job, at a constant rate from step to step, in seconds of work on the
/// slowest node of the machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TaskProgress {
    steps: Vec<RateSegment>,
    /// Time up to which the progress is known.
    until: Instant,
}

/// A segment of constant rate: at `since`, `work_s` seconds of work are done, and the task does
/// `rate` seconds of work a second from then on.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RateSegment {
    since: Instant,
    work_s: f64,
    rate: f64,
}

impl JobTrajectory {
    /// Returns the trajectory of a job that has its nodes to itself from `start` on, the slowest of which
    /// has this speed, and has not ended at `now`.
    pub(super) fn exclusive(start: Instant, speed: NodeSpeed, now: Instant) -> Self {
        Self {
            start,
            now,
            nodes: JobNodes::Exclusive(speed),
        }
    }

    /// Returns the trajectory of a job that started, or starts, on nodes that it shares.
    pub(super) fn shared(start: Instant, now: Instant, tasks: Vec<TaskProgress>) -> Self {
        Self {
            start,
            now,
            nodes: JobNodes::Shared(tasks),
        }
    }

    /// Returns the past or future start of the job.
    pub fn start(&self) -> Instant {
        self.start
    }

    /// Returns the time at which all tasks of the job have ended, if the job takes `runtime` alone
    /// on the slowest nodes. None if that time is beyond the look-ahead.
    pub fn finish(&self, runtime: Span) -> Option<Instant> {
        let tasks = match &self.nodes {
            JobNodes::Exclusive(speed) => {
                return Some((self.start + speed.time_for(runtime)).max(self.now));
            }
            JobNodes::Shared(tasks) => tasks,
        };
        let work_s = runtime.as_secs_f64();
        let mut finish = self.now;
        for task in tasks {
            finish = finish.max(task.time_of_work(work_s)?);
        }
        Some(finish)
    }

    /// Returns the longest run time, alone on the slowest nodes, with which the job finishes by `due`, as
    /// far as the look-ahead reaches; not negative.
    pub fn max_runtime(&self, due: Instant) -> Span {
        if due < self.now {
            return Span::ZERO;
        }
        let tasks = match &self.nodes {
            JobNodes::Exclusive(speed) => {
                let longest = speed.work_within(due.since(self.start));
                return longest.max(Span::ZERO);
            }
            JobNodes::Shared(tasks) => tasks,
        };
        let work_s = tasks.iter().map(|task| task.work_by(due));
        let least_s = work_s.fold(f64::INFINITY, f64::min).max(0.0);
        Span::from_micros((least_s * 1e6) as i64)
    }
}

impl TaskProgress {
    /// Appends a new rate. Steps come in order of time; of several steps at one instant the last
    /// counts.
    pub(super) fn push(&mut self, since: Instant, work_s: f64, rate: f64) {
        self.steps.pop_if(|last| last.since == since);
        self.steps.push(RateSegment {
            since,
            work_s,
            rate,
        });
    }

    /// Sets the time up to which the progress is known.
    pub(super) fn known_until(&mut self, until: Instant) {
        self.until = until;
    }

    /// Returns the time at which `work_s` seconds of work are done.
    fn time_of_work(&self, work_s: f64) -> Option<Instant> {
        let after = self.steps.partition_point(|step| step.work_s < work_s);
        let step = self.steps.get(after.saturating_sub(1))?;
        let left_s = f64::max(work_s - step.work_s, 0.0);
        let done = step.since + Span::ceil_secs_f64(left_s / step.rate);
        // An end beyond the range of time does not happen; ends are rounded up.
        (done <= self.until + Span::TICK && done < Instant::MAX).then_some(done)
    }

    /// Returns the seconds of work done by `at`, or by the end of the known progress if that is
    /// earlier.
    pub(super) fn work_by(&self, at: Instant) -> f64 {
        let at = at.min(self.until);
        let after = self.steps.partition_point(|step| step.since <= at);
        let step = self.steps[..after].last();
        step.map_or(0.0, |step| {
            step.work_s + step.rate * at.since(step.since).as_secs_f64()
        })
    }
}
