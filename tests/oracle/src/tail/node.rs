//! A node on which the task that is due first runs.

use tollgate_model::distribution::N_LEVELS;
use tollgate_model::{Distribution, Instant, Probability, Span};

use super::OracleTailSettings;
use crate::OracleJob;

/// Remaining work of at most this many seconds counts as zero.
const TOLERANCE: f64 = 1e-6 + 1e-9;

/// The fraction of its estimate that a job takes, at the levels of a distribution.
const PARTS: [f64; N_LEVELS] = [
    0.004, 0.01, 0.04, 0.09, 0.17, 0.27, 0.44, 0.62, 0.81, 1.0, 1.01, 1.2,
];

/// One of a job's tasks on a node.
#[derive(Clone, Debug)]
struct OracleTailTask {
    job: usize,
    /// True work in seconds.
    runtime: f64,
    belief: Distribution,
    deadline: Span,
    due: Instant,
    /// Seconds of work done.
    done: f64,
    /// Seconds of work done at the node's last event; the basis of predictions.
    work_at_last_event: f64,
}

/// A node and its tasks in order of arrival.
#[derive(Clone, Debug)]
pub(super) struct OracleTailNode {
    /// Speed relative to the slowest node.
    speed: f64,
    tasks: Vec<OracleTailTask>,
    /// The instant until which the work done is counted.
    since: Instant,
}

impl OracleTailTask {
    fn new(job: usize, arriving: &OracleJob) -> Self {
        let estimate = arriving.spec.estimate.as_secs_f64();
        let deadline = arriving.spec.sla.deadline.expect("a deadline");
        Self {
            job,
            runtime: arriving.runtime.as_secs_f64(),
            belief: Distribution::new(PARTS.map(|part| Span::from_secs_f64(part * estimate))),
            deadline,
            due: arriving.spec.submit + deadline,
            done: 0.0,
            work_at_last_event: 0.0,
        }
    }

    fn passed(&self, now: Instant) -> bool {
        self.due <= now + Span::TICK
    }

    /// Returns the total seconds of work the task needs, from the work done at its last
    /// examination.
    fn need(&self, settings: &OracleTailSettings) -> f64 {
        self.need_within(settings.trusted.then_some(self.deadline), settings)
    }

    /// Returns the total seconds of work, given that they are at most `most`.
    fn need_within(&self, most: Option<Span>, settings: &OracleTailSettings) -> f64 {
        let within = |seconds: f64| {
            let span = Span::from_secs_f64(seconds);
            self.belief.probability_within(span).as_f64()
        };
        let gone = if self.work_at_last_event > 0.0 {
            within(self.work_at_last_event + TOLERANCE)
        } else {
            0.0
        };
        let possible = most.map_or(1.0, |most| within(most.as_secs_f64()));
        if possible <= gone {
            return self.deadline.as_secs_f64();
        }
        let level = gone + (possible - gone) * (1.0 - settings.bound);
        let level = Probability::new(level).expect("a probability");
        self.belief.quantile(level).as_secs_f64()
    }

    /// Returns the seconds of work at which the task outlives its next quantile; beyond the last
    /// quantile, its need.
    fn mark(&self, settings: &OracleTailSettings) -> f64 {
        let quantiles = self.belief.quantiles().iter().map(|q| q.as_secs_f64());
        let mut ahead = quantiles.filter(|&quantile| quantile > self.done + 2.0 * TOLERANCE);
        let next = ahead.next();
        next.unwrap_or_else(|| self.need_within(None, settings))
    }
}

impl OracleTailNode {
    pub(super) fn of_speed(speed: f64) -> Self {
        Self {
            speed,
            tasks: Vec::new(),
            since: Instant::ZERO,
        }
    }

    /// Returns the index of the running task.
    fn first(&self, now: Instant) -> Option<usize> {
        (0..self.tasks.len()).min_by_key(|&place| {
            let task = &self.tasks[place];
            (task.passed(now), task.due, place)
        })
    }

    fn work_until(&mut self, now: Instant) {
        if let Some(first) = self.first(self.since) {
            self.tasks[first].done += now.since(self.since).as_secs_f64();
        }
        self.since = now;
    }

    pub(super) fn add(&mut self, job: usize, arriving: &OracleJob, now: Instant) {
        self.work_until(now);
        let there = arriving.at_speed(self.speed);
        self.tasks.push(OracleTailTask::new(job, &there));
        self.record_work();
    }

    fn record_work(&mut self) {
        for task in &mut self.tasks {
            task.work_at_last_event = task.done;
        }
    }

    pub(super) fn advance(
        &mut self,
        now: Instant,
        settings: &OracleTailSettings,
        finishes: &mut [Instant],
    ) {
        let due = |event: &Instant| *event <= now;
        while let Some(event) = self.next_event(settings).filter(due) {
            self.step(event, finishes);
        }
        if self.next_event(settings) == Some(now + Span::TICK) {
            self.step(now, finishes);
        }
    }

    pub(super) fn drain(&mut self, settings: &OracleTailSettings, finishes: &mut [Instant]) {
        while let Some(event) = self.next_event(settings) {
            self.step(event, finishes);
        }
    }

    fn step(&mut self, now: Instant, finishes: &mut [Instant]) {
        self.work_until(now);
        for task in &self.tasks {
            if task.runtime - task.done <= TOLERANCE {
                finishes[task.job] = finishes[task.job].max(now);
            }
        }
        self.tasks
            .retain(|task| task.runtime - task.done > TOLERANCE);
        self.record_work();
    }

    /// Returns the next instant at which the running task ends or outlives a quantile, or a
    /// deadline passes.
    fn next_event(&self, settings: &OracleTailSettings) -> Option<Instant> {
        let running = &self.tasks[self.first(self.since)?];
        let reaches = |work: f64| self.since + Span::ceil_secs_f64(work - running.done);
        let mark = reaches(running.mark(settings));
        let ends = self.tasks.iter().filter(|task| !task.passed(self.since));
        let due = ends.map(|task| task.due).min();
        due.into_iter()
            .chain([reaches(running.runtime), mark])
            .min()
    }

    /// Returns the seconds of work still needed at `now` by each task that can be in time, with the
    /// seconds until it is due, in order of deadline.
    fn promises(&self, now: Instant, settings: &OracleTailSettings) -> Vec<(Instant, f64, f64)> {
        let mut node = self.clone();
        node.work_until(now);
        let mut promises: Vec<(Instant, f64, f64)> = node
            .tasks
            .iter()
            .filter(|task| !task.passed(now))
            .map(|task| {
                let left = (task.need(settings) - task.done).max(0.0);
                (task.due, left, task.due.since(now).as_secs_f64())
            })
            .collect();
        promises.sort_by_key(|promise| promise.0);
        promises
    }

    /// Returns the seconds of work promised: a late task stops at the deadline.
    pub(super) fn load(&self, now: Instant, settings: &OracleTailSettings) -> f64 {
        let promises = self.promises(now, settings);
        let upto = |load: f64, (_, left, until): (Instant, f64, f64)| (load + left).min(until);
        promises.into_iter().fold(0.0, upto)
    }

    /// Returns true if `job` and all tasks due after it are in time on this node.
    pub(super) fn keeps_promises_with(
        &self,
        job: &OracleJob,
        now: Instant,
        settings: &OracleTailSettings,
    ) -> bool {
        let new = OracleTailTask::new(usize::MAX, &job.at_speed(self.speed));
        let promises = self.promises(now, settings);
        let (before, after): (Vec<_>, Vec<_>) = promises
            .into_iter()
            .partition(|promise| promise.0 <= new.due);
        let upto = |load: f64, (_, left, until): (Instant, f64, f64)| (load + left).min(until);
        let mut finish = before.into_iter().fold(0.0, upto) + new.need(settings);
        if finish > new.deadline.as_secs_f64() + TOLERANCE {
            return false;
        }
        after.into_iter().all(|(_, left, until)| {
            finish += left;
            finish <= until + TOLERANCE
        })
    }
}
