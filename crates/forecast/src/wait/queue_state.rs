//! The state of a queue and its machine, held incrementally.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tollgate_model::{Instant, Span};

use super::capacity::RollingCapacity;
use super::job::{WaitClass, WaitJob};
use super::work_left::WorkLeft;

/// The weights of the newest wait in the smoothed waits.
const USER_WEIGHT: f64 = 0.2;
const CLASS_WEIGHT: f64 = 0.05;
const SITE_WEIGHT: f64 = 0.02;

/// The jobs that wait and run, and the last waits of users, classes and the site.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct QueueState {
    pub(super) waiting: BTreeMap<u64, QueueEntry>,
    running: BTreeMap<u64, MachineEntry>,
    /// The waiting work by processors of the job, in processors × seconds.
    pub(super) work_by_procs: BTreeMap<u32, u128>,
    pub(super) work: u128,
    pub(super) waiting_by_class: BTreeMap<WaitClass, BTreeSet<u64>>,
    pub(super) n_by_queue: BTreeMap<Option<u32>, u64>,
    pub(super) users: BTreeMap<Option<u32>, UserQueue>,
    pub(super) class_waits: BTreeMap<WaitClass, SmoothedWait>,
    pub(super) site_wait: SmoothedWait,
    pub(super) procs_in_use: u64,
    pub(super) capacity: RollingCapacity,
    pub(super) left_by_request: WorkLeft,
    pub(super) left_by_history: WorkLeft,
    pub(super) last_start: Option<Instant>,
}

/// A job that waits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct QueueEntry {
    pub(super) job: WaitJob,
    pub(super) queued: Instant,
    /// The longest run time that is expected, with the user's estimate before the history.
    pub(super) planned_run: Option<Span>,
}

/// A job that runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct MachineEntry {
    job: WaitJob,
    start: Instant,
    end_by_request: Option<Instant>,
    end_by_history: Option<Instant>,
}

/// The jobs of a user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct UserQueue {
    pub(super) n_waiting: u64,
    pub(super) procs_in_use: u64,
    /// The last wait, as ln(1 + seconds).
    pub(super) last_wait: Option<f64>,
    pub(super) wait: SmoothedWait,
    /// The last run time and the one before.
    last_runs: [Option<Span>; 2],
}

/// A smoothed wait, as ln(1 + seconds). None before the first one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct SmoothedWait(pub(super) Option<f64>);

impl SmoothedWait {
    fn learn(&mut self, wait: f64, weight: f64) {
        self.0 = Some(self.0.map_or(wait, |old| old + weight * (wait - old)));
    }
}

impl UserQueue {
    /// Returns the mean of the last two run times (Tsafrir, Etsion & Feitelson 2007).
    fn mean_run(&self) -> Option<Span> {
        match self.last_runs {
            [Some(last), Some(before)] => Some(Span::from_micros(
                last.as_micros() / 2 + before.as_micros() / 2,
            )),
            [last, _] => last,
        }
    }
}

impl QueueState {
    /// Removes expected ends that have passed.
    pub(super) fn advance(&mut self, now: Instant) {
        self.left_by_request.advance(now);
        self.left_by_history.advance(now);
    }

    /// Returns the run time that the user's last jobs let expect, at most the request.
    pub(super) fn expected_run(&self, job: &WaitJob) -> Option<Span> {
        let mean = self.users.get(&job.user).and_then(UserQueue::mean_run);
        match (mean, job.request) {
            (Some(mean), Some(request)) => Some(mean.min(request)),
            (mean, request) => mean.or(request),
        }
    }

    /// Adds a job to the queue.
    pub(super) fn add(&mut self, now: Instant, id: u64, job: WaitJob) {
        let planned_run = job.request.or_else(|| self.expected_run(&job));
        let queued = QueueEntry {
            job,
            queued: now,
            planned_run,
        };
        *self.work_by_procs.entry(job.procs).or_default() += queued.work();
        self.work += queued.work();
        self.waiting_by_class
            .entry(job.class())
            .or_default()
            .insert(id);
        *self.n_by_queue.entry(job.queue).or_default() += 1;
        self.users.entry(job.user).or_default().n_waiting += 1;
        self.waiting.insert(id, queued);
    }

    /// Removes a job from the queue. Returns None if it does not wait.
    pub(super) fn remove(&mut self, id: u64) -> Option<QueueEntry> {
        let queued = self.waiting.remove(&id)?;
        let job = queued.job;
        if let Some(work) = self.work_by_procs.get_mut(&job.procs) {
            *work -= queued.work();
        }
        self.work -= queued.work();
        if let Some(class) = self.waiting_by_class.get_mut(&job.class()) {
            class.remove(&id);
        }
        if let Some(n_waiting) = self.n_by_queue.get_mut(&job.queue) {
            *n_waiting -= 1;
        }
        self.users.entry(job.user).or_default().n_waiting -= 1;
        Some(queued)
    }

    /// Moves a job from the queue to the machine, and learns its wait. Returns None if it does not wait.
    pub(super) fn start(&mut self, now: Instant, id: u64) -> Option<QueueEntry> {
        let queued = self.remove(id)?;
        let job = queued.job;
        let wait = ln_wait(now.since(queued.queued));
        let planned_end = |run: Option<Span>| run.map(|run| now + run);
        let running = MachineEntry {
            job,
            start: now,
            end_by_request: planned_end(queued.planned_run),
            end_by_history: planned_end(self.expected_run(&job)),
        };
        for (left, end) in [
            (&mut self.left_by_request, running.end_by_request),
            (&mut self.left_by_history, running.end_by_history),
        ] {
            if let Some(end) = end {
                left.add(end, id, job.procs);
            }
        }
        self.running.insert(id, running);
        self.procs_in_use += u64::from(job.procs);
        // A start that becomes known late meets jobs that started after it, which were not all there at once.
        if self.last_start.is_none_or(|last| now >= last) {
            self.capacity.note(now, self.procs_in_use);
            self.last_start = Some(now);
        }
        let user = self.users.entry(job.user).or_default();
        user.procs_in_use += u64::from(job.procs);
        user.last_wait = Some(wait);
        user.wait.learn(wait, USER_WEIGHT);
        self.class_waits
            .entry(job.class())
            .or_default()
            .learn(wait, CLASS_WEIGHT);
        self.site_wait.learn(wait, SITE_WEIGHT);
        Some(queued)
    }

    /// Removes a job from the machine, and learns its run time. A job that does not run changes nothing.
    pub(super) fn end(&mut self, now: Instant, id: u64) {
        let Some(running) = self.running.remove(&id) else {
            return;
        };
        let procs = u64::from(running.job.procs);
        self.procs_in_use -= procs;
        if let Some(end) = running.end_by_request {
            self.left_by_request.remove(end, id);
        }
        if let Some(end) = running.end_by_history {
            self.left_by_history.remove(end, id);
        }
        let user = self.users.entry(running.job.user).or_default();
        user.procs_in_use -= procs;
        user.last_runs = [Some(now.since(running.start)), user.last_runs[0]];
    }
}

impl QueueEntry {
    /// Returns the work in processors × seconds, rounded up. A job without any expectation has none.
    pub(super) fn work(&self) -> u128 {
        let micros = self.planned_run.map_or(0, |run| run.as_micros().max(0));
        u128::from(self.job.procs) * u128::from(micros.unsigned_abs().div_ceil(1_000_000))
    }
}

/// Returns ln(1 + seconds) of a span that is not negative.
pub(super) fn ln_wait(span: Span) -> f64 {
    span.as_secs_f64().max(0.0).ln_1p()
}

/// Returns the span of which the result of [`ln_wait`] is `ln`.
pub(super) fn span_of_ln(ln: f64) -> Span {
    Span::from_secs_f64(ln.exp_m1())
}
