//! A node and the tasks that share it.

use tollgate_model::{Instant, Span};

use super::{OracleShareRule, OracleShareSettings};
use crate::OracleJob;

/// Remaining work of at most this many seconds counts as zero. It is a microsecond, plus the `f64` rounding
/// error of a month of work, so that a rest of one whole microsecond is within the tolerance.
const TOLERANCE: f64 = 1e-6 + 1e-9;

/// One of a job's tasks on a node.
#[derive(Clone, Debug)]
pub(super) struct OracleShareTask {
    /// The job's index in the list.
    pub(super) job: usize,
    /// True work in seconds.
    runtime: f64,
    /// Estimated work in seconds.
    estimate: f64,
    /// Seconds from submission to the deadline.
    deadline: f64,
    due: Instant,
    /// Seconds of work done.
    done: f64,
    /// Seconds of work per second, until the shares of its node are recomputed.
    rate: f64,
}

/// A node between two events, with constant rates.
#[derive(Clone, Debug)]
pub(super) struct OracleShareNode {
    pub(super) tasks: Vec<OracleShareTask>,
    /// Speed relative to the slowest node.
    pub(super) speed: f64,
    /// The instant until which the work done is counted.
    since: Instant,
}

impl OracleShareTask {
    pub(super) fn new(job: usize, arriving: &OracleJob) -> Self {
        let deadline = arriving.spec.sla.deadline;
        let deadline = deadline.expect("time-shared policies need a deadline");
        Self {
            job,
            runtime: arriving.runtime.as_secs_f64(),
            estimate: arriving.spec.estimate.as_secs_f64(),
            deadline: deadline.as_secs_f64(),
            due: arriving.spec.submit + deadline,
            done: 0.0,
            rate: 0.0,
        }
    }

    /// Returns the seconds left to the task's deadline at `now`.
    pub(super) fn left(&self, now: Instant) -> f64 {
        self.due.since(now).as_secs_f64()
    }

    /// Returns true if the task's deadline has passed at `now`.
    pub(super) fn expired(&self, now: Instant) -> bool {
        self.due <= now + Span::TICK
    }

    fn has_overrun(&self) -> bool {
        self.estimate - self.done <= TOLERANCE
    }

    fn is_over(&self) -> bool {
        self.runtime - self.done <= TOLERANCE
    }

    /// Returns the share that the task needs at `now` (Yeo & Buyya 2006, eq. 1).
    pub(super) fn share(&self, now: Instant, settings: &OracleShareSettings) -> f64 {
        if self.expired(now) {
            self.share_by(settings.expired, now)
        } else if self.has_overrun() {
            self.share_by(settings.overrun, now)
        } else {
            (self.estimate - self.done) / self.left(now)
        }
    }

    fn share_by(&self, rule: OracleShareRule, now: Instant) -> f64 {
        match rule {
            OracleShareRule::Full => 1.0,
            OracleShareRule::Zero => 0.0,
            OracleShareRule::Keep => self.estimate / self.deadline,
            OracleShareRule::OneSecond => 1.0 / self.left(now).max(1.0),
        }
    }
}

impl OracleShareNode {
    pub(super) fn of_speed(speed: f64, now: Instant) -> Self {
        Self {
            tasks: Vec::new(),
            speed,
            since: now,
        }
    }

    /// Returns the tasks with their work done at `now` at the present rates.
    pub(super) fn at(&self, now: Instant) -> Vec<OracleShareTask> {
        let elapsed = now.since(self.since).as_secs_f64();
        let tasks = self.tasks.iter().map(|task| OracleShareTask {
            done: task.done + task.rate * elapsed,
            ..task.clone()
        });
        tasks.collect()
    }

    /// Processes all events up to `now`. Events a microsecond later are processed as well, because
    /// an arrival comes after them.
    pub(super) fn advance(
        &mut self,
        now: Instant,
        settings: &OracleShareSettings,
        finishes: &mut [Instant],
    ) {
        while let Some(event) = self.next_event().filter(|&event| event <= now) {
            self.step(event, settings, finishes);
        }
        if self.next_event() == Some(now + Span::TICK) {
            self.step(now, settings, finishes);
        }
    }

    /// Processes all remaining events.
    pub(super) fn drain(&mut self, settings: &OracleShareSettings, finishes: &mut [Instant]) {
        while let Some(event) = self.next_event() {
            self.step(event, settings, finishes);
        }
    }

    pub(super) fn add(
        &mut self,
        task: OracleShareTask,
        now: Instant,
        settings: &OracleShareSettings,
    ) {
        self.tasks = self.at(now);
        self.tasks.push(task);
        self.share_out(now, settings);
    }

    /// Removes the tasks that have ended at `now` and recomputes the rates.
    pub(super) fn step(
        &mut self,
        now: Instant,
        settings: &OracleShareSettings,
        finishes: &mut [Instant],
    ) {
        self.tasks = self.at(now);
        for task in self.tasks.iter().filter(|task| task.is_over()) {
            finishes[task.job] = finishes[task.job].max(now);
        }
        self.tasks.retain(|task| !task.is_over());
        self.share_out(now, settings);
    }

    /// Distributes spare time and shortage in proportion to the shares.
    fn share_out(&mut self, now: Instant, settings: &OracleShareSettings) {
        let total: f64 = self
            .tasks
            .iter()
            .map(|task| task.share(now, settings))
            .sum();
        let equally = 1.0 / self.tasks.len() as f64;
        for task in &mut self.tasks {
            task.rate = if total > 0.0 {
                task.share(now, settings) / total
            } else {
                equally
            };
        }
        self.since = now;
    }

    /// Returns true if since the rates were set a task ended, used up its estimate or passed its
    /// deadline: the events that [`OracleShareNode::next_event`] predicts, detected afterwards.
    #[cfg(test)]
    pub(super) fn had_event(&self, now: Instant) -> bool {
        let changed = |(before, after): (&OracleShareTask, &OracleShareTask)| {
            after.is_over()
                || before.has_overrun() != after.has_overrun()
                || before.expired(self.since) != after.expired(now)
        };
        self.tasks.iter().zip(&self.at(now)).any(changed)
    }

    /// Returns the next instant at which a task ends, uses up its estimate or passes its deadline.
    pub(super) fn next_event(&self) -> Option<Instant> {
        self.tasks.iter().filter_map(|task| self.event(task)).min()
    }

    fn event(&self, task: &OracleShareTask) -> Option<Instant> {
        let reaches = |work: f64| {
            let seconds = (work - task.done) / task.rate;
            (task.rate > 0.0).then(|| self.since + Span::ceil_secs_f64(seconds))
        };
        let end = reaches(task.runtime);
        let used_up = reaches(task.estimate).filter(|_| !task.has_overrun());
        let lapse = Some(task.due).filter(|_| !task.expired(self.since));
        [end, used_up, lapse].into_iter().flatten().min()
    }
}
