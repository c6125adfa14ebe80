//! Batches: jobs that one user submits together, which count as one witness.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use tollgate_model::{Instant, Span, TaskId};

use super::BeliefJob;
use super::alike::NormalSums;
use super::group::GroupKey;
use super::recalibration::N_BUCKETS;
use super::siblings::N_SIBLING_BUCKETS;
use super::site::is_unlimited;
use super::weights::Multipliers;

/// The longest time between two submissions of a batch. Beliefs on archived traces are insensitive to it
/// from two minutes to an hour.
const MAX_GAP: Span = Span::from_secs(600);
/// The longest time between the first and the last submission of a batch that is no array.
const MAX_LENGTH: Span = Span::from_secs(7200);
/// Number of remembered run times of a live batch.
const ENDED_RUNS: usize = 16;

/// The number of a batch, in order of the first submissions.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub(crate) struct BatchId(pub(crate) u64);

/// The facts that make jobs a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum BatchKey {
    /// The array.
    Array(u64),
    /// The smallest group, for jobs submitted one after another.
    Class(GroupKey),
}

impl BatchKey {
    fn of(job: &BeliefJob) -> Self {
        let class = || Self::Class(GroupKey::smallest(job));
        job.array.map_or_else(class, Self::Array)
    }

    /// Returns the key of a job that differs in nothing but that it has no request.
    const fn without_request(self) -> Self {
        match self {
            Self::Array(_) => self,
            Self::Class(group) => Self::Class(group.without_request()),
        }
    }
}

/// A batch with unfinished tasks, or one that another job may still join.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct LiveBatch {
    key: BatchKey,
    class: GroupKey,
    first_submit: Instant,
    last_submit: Instant,
    n_submitted: u32,
    /// Number of tasks that have not ended, or whose statements have not taught yet.
    n_open: u32,
    /// True once the statement of a task teaches the levels.
    pub(crate) has_leader: bool,
    pub(crate) n_ended: u32,
    /// Logarithms of the last run times.
    pub(crate) ended: VecDeque<f32>,
    running: BTreeSet<(Instant, TaskId)>,
    /// The instant at which the job whose statement teaches the levels, if it runs, has run longer than believed.
    leader_is_long: Option<Instant>,
    /// The experience with the components of siblings.
    pub(crate) multipliers: Multipliers,
    n_taught: BTreeMap<u8, u32>,
    n_stated: BTreeMap<u8, u32>,
    /// How far the tasks were from their statements.
    pub(crate) misses: NormalSums,
}

impl LiveBatch {
    fn new(key: BatchKey, class: GroupKey, now: Instant) -> Self {
        Self {
            key,
            class,
            first_submit: now,
            last_submit: now,
            n_submitted: 0,
            n_open: 0,
            has_leader: false,
            n_ended: 0,
            ended: VecDeque::new(),
            running: BTreeSet::new(),
            leader_is_long: None,
            multipliers: Multipliers::default(),
            n_taught: BTreeMap::new(),
            n_stated: BTreeMap::new(),
            misses: NormalSums::default(),
        }
    }

    /// Returns the last instant at which another job may join.
    fn closes(&self) -> Instant {
        let gap = self.last_submit + MAX_GAP;
        match self.key {
            BatchKey::Array(_) => gap,
            BatchKey::Class(_) => gap.min(self.first_submit + MAX_LENGTH),
        }
    }

    pub(crate) fn n_running(&self) -> usize {
        self.running.len()
    }

    /// Returns the elapsed times of at most `n` running tasks, evenly spaced from the longest, each with the
    /// number of tasks that it stands for.
    pub(crate) fn elapsed(&self, now: Instant, n: usize) -> impl Iterator<Item = (Span, f64)> {
        let n_running = self.running.len();
        let n = n.min(n_running);
        let weight = n_running as f64 / n.max(1) as f64;
        let mut starts = self.running.iter();
        let mut at = 0;
        (0..n).filter_map(move |k| {
            let next = k * n_running / n;
            let (start, _) = starts.nth(next - at)?;
            at = next + 1;
            Some((now.since(*start), weight))
        })
    }

    pub(crate) fn start(&mut self, task: TaskId, now: Instant) {
        self.running.insert((now, task));
    }

    /// Notes that the job whose statement teaches the levels starts now, and how long it runs at most as believed.
    pub(crate) fn start_leader(&mut self, longest: Span, now: Instant) {
        self.leader_is_long = Some(now + longest);
    }

    /// Notes that the job whose statement teaches the levels runs no more.
    pub(crate) fn stop_leader(&mut self) {
        self.leader_is_long = None;
    }

    /// Returns whether the job whose statement teaches the levels runs longer than believed.
    pub(crate) fn is_long(&self, now: Instant) -> bool {
        self.leader_is_long.is_some_and(|at| now > at)
    }

    /// Removes a running task.
    pub(crate) fn stop(&mut self, task: TaskId, started: Instant) {
        self.running.remove(&(started, task));
    }

    /// Adds the run time of a task that ended, a logarithm, and returns its rank.
    pub(crate) fn end(&mut self, ln_run: f64) -> u32 {
        self.n_ended = self.n_ended.saturating_add(1);
        if self.ended.len() == ENDED_RUNS {
            self.ended.pop_front();
        }
        self.ended.push_back(ln_run as f32);
        self.n_ended
    }

    /// Returns the part of the last run times for which a request, a logarithm, would have been no limit.
    pub(crate) fn overrun(&self, ln_request: f64) -> f64 {
        let outlived = |ln_run: &&f32| is_unlimited(f64::from(**ln_run), ln_request);
        let n_over = self.ended.iter().filter(outlived).count();
        n_over as f64 / self.ended.len().max(1) as f64
    }

    /// Counts a statement in a bucket, and returns its weight: all of a batch together weigh little more than
    /// one.
    pub(crate) fn statement_weight(&mut self, bucket: usize) -> f64 {
        debug_assert!(bucket < N_BUCKETS, "a bucket");
        let n = self.n_stated.entry(bucket as u8).or_default();
        *n += 1;
        1.0 / f64::from(*n)
    }

    /// Counts a lesson in a bucket of siblings, and returns its weight.
    pub(crate) fn lesson_weight(&mut self, bucket: u8) -> f64 {
        debug_assert!(usize::from(bucket) < N_SIBLING_BUCKETS, "a bucket");
        let n = self.n_taught.entry(bucket).or_default();
        *n += 1;
        1.0 / f64::from(*n)
    }
}

/// The live batches.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LiveBatches {
    next: BatchId,
    batches: BTreeMap<BatchId, LiveBatch>,
    #[serde(with = "crate::map_entries")]
    latest: BTreeMap<BatchKey, BatchId>,
    /// The batches without open tasks, by the instant after which no job joins.
    idle: BTreeSet<(Instant, BatchId)>,
}

impl LiveBatches {
    pub(crate) fn get(&self, id: BatchId) -> Option<&LiveBatch> {
        self.batches.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: BatchId) -> Option<&mut LiveBatch> {
        self.batches.get_mut(&id)
    }

    /// Returns the batch that a job submitted now would join, if any. A job without a request joins the last batch of jobs
    /// that differ from it by their requests alone.
    pub(crate) fn find(&self, job: &BeliefJob, now: Instant) -> Option<BatchId> {
        let id = self.latest.get(&BatchKey::of(job))?;
        let batch = &self.batches[id];
        let is_array = job.array.is_some() && batch.n_open > 0;
        (is_array || now <= batch.closes()).then_some(*id)
    }

    /// Adds a job submitted now, and returns its batch.
    pub(crate) fn join(&mut self, job: &BeliefJob, now: Instant) -> BatchId {
        let id = self.find(job, now).unwrap_or_else(|| {
            let key = BatchKey::of(job);
            let id = self.next;
            self.next = BatchId(id.0 + 1);
            self.latest.insert(key, id);
            self.batches
                .insert(id, LiveBatch::new(key, GroupKey::smallest(job), now));
            id
        });
        self.latest.insert(BatchKey::of(job).without_request(), id);
        let batch = self.batches.get_mut(&id).expect("just found or added");
        if batch.n_open == 0 {
            self.idle.remove(&(batch.closes(), id));
        }
        batch.last_submit = now;
        batch.n_submitted = batch.n_submitted.saturating_add(1);
        batch.n_open += 1;
        id
    }

    /// Opens a task of a batch once more: it has ended, and its statement teaches later.
    pub(crate) fn hold(&mut self, id: BatchId) {
        self.batches.get_mut(&id).expect("the batch is open").n_open += 1;
    }

    /// Closes a task of a batch.
    pub(crate) fn release(&mut self, id: BatchId) {
        let batch = self.batches.get_mut(&id).expect("the batch is open");
        batch.n_open -= 1;
        if batch.n_open == 0 {
            self.idle.insert((batch.closes(), id));
        }
    }

    /// Returns the number of tasks of a batch that were submitted.
    pub(crate) fn n_tasks(&self, id: BatchId) -> u32 {
        self.batches.get(&id).map_or(0, |batch| batch.n_submitted)
    }

    /// Removes a batch that no job joins any more, and whose tasks have all ended. Returns its class, and how
    /// far its tasks were from their statements.
    pub(crate) fn pop_closed(&mut self, now: Instant) -> Option<(GroupKey, NormalSums)> {
        let &(closes, id) = self.idle.first()?;
        if closes >= now {
            return None;
        }
        self.idle.pop_first();
        let batch = self.batches.remove(&id).expect("an idle batch is live");
        for key in [batch.key, batch.key.without_request()] {
            if self.latest.get(&key) == Some(&id) {
                self.latest.remove(&key);
            }
        }
        Some((batch.class, batch.misses))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::belief::Program;
    use tollgate_model::UserId;

    fn job(procs: u32, array: Option<u64>) -> BeliefJob {
        BeliefJob {
            user: UserId(1),
            program: Some(Program::Executable(1)),
            procs,
            request: Some(Span::from_secs(60)),
            queue: None,
            account: None,
            array,
            n_tasks: 1,
        }
    }

    fn secs(secs: i64) -> Instant {
        Instant::from_secs(secs)
    }

    #[test]
    fn jobs_submitted_one_after_another_are_a_batch() {
        let mut live = LiveBatches::default();
        let first = live.join(&job(1, None), secs(0));
        assert_eq!(live.join(&job(1, None), secs(600)), first);
        assert_ne!(
            live.join(&job(2, None), secs(600)),
            first,
            "other processors"
        );
        assert_eq!(
            live.find(&job(1, None), secs(1201)),
            None,
            "too long after the last"
        );
        let mut last = first;
        for n in 2..=12 {
            last = live.join(&job(1, None), secs(600 * n));
        }
        assert_eq!(last, first);
        assert_ne!(
            live.join(&job(1, None), secs(7300)),
            first,
            "too long after the first"
        );
    }

    #[test]
    fn job_without_a_request_joins_the_last_batch_of_the_same_other_requirements() {
        let mut live = LiveBatches::default();
        let requesting = |secs: Option<i64>| BeliefJob {
            request: secs.map(Span::from_secs),
            ..job(1, None)
        };
        let first = live.join(&requesting(Some(60)), secs(0));
        let last = live.join(&requesting(Some(90)), secs(1));
        assert_eq!(live.join(&requesting(None), secs(2)), last);
        assert_eq!(live.find(&requesting(Some(60)), secs(2)), Some(first));
        let wider = BeliefJob {
            procs: 2,
            ..requesting(None)
        };
        assert_eq!(live.find(&wider, secs(2)), None);
        let other = BeliefJob {
            program: Some(Program::Executable(2)),
            ..requesting(None)
        };
        assert_eq!(live.find(&other, secs(2)), None);
    }

    #[test]
    fn tasks_of_an_array_are_a_batch_while_any_is_left() {
        let mut live = LiveBatches::default();
        let first = live.join(&job(1, Some(7)), secs(0));
        assert_eq!(live.join(&job(1, Some(7)), secs(100_000)), first);
        assert_ne!(live.join(&job(1, Some(8)), secs(100_000)), first);
    }

    #[test]
    fn closed_batches_are_dropped() {
        let mut live = LiveBatches::default();
        let id = live.join(&job(1, None), secs(0));
        live.join(&job(1, None), secs(10));
        live.release(id);
        assert!(live.pop_closed(secs(100_000)).is_none(), "a task is left");
        live.release(id);
        assert!(live.pop_closed(secs(610)).is_none(), "another job may join");
        assert!(live.pop_closed(secs(611)).is_some());
        assert_eq!(
            live,
            LiveBatches {
                next: BatchId(1),
                ..LiveBatches::default()
            }
        );
    }

    #[test]
    fn elapsed_times_stand_for_all_running_tasks() {
        let mut live = LiveBatches::default();
        let id = live.join(&job(1, None), secs(0));
        let batch = live.get_mut(id).unwrap();
        for task in 0..20 {
            batch.start(TaskId::from(task), secs(task as i64));
        }
        let elapsed: Vec<(Span, f64)> = batch.elapsed(secs(100), 8).collect();
        assert_eq!(elapsed.len(), 8);
        assert_eq!(elapsed[0], (Span::from_secs(100), 2.5));
        assert_eq!(elapsed[7], (Span::from_secs(83), 2.5));
    }
}
