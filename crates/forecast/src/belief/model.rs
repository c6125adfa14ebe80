//! The model: what happens to jobs, and what it teaches.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tollgate_model::distribution::LEVELS;
use tollgate_model::{Distribution, Instant, Kinship, Span, TaskId, UserId};

use super::alike::{AlikeCounts, SiteAlike};
use super::batch::{BatchId, LiveBatches};
use super::chain::{Query, Teaches};
use super::group::{Group, GroupKey};
use super::mixture::Lesson;
use super::recalibration::Recalibration;
use super::site::SiteHistory;
use super::statement::{Due, DueAt, Occasion, Statement};
use super::weights::{Cell, LearnedWeights, N_COUNTS};
use super::{Belief, BeliefJob, alike, siblings};
use crate::record::ln_secs;

/// The part of their experience that groups forget with each run time, and the step towards it.
const GROUP_STEP: f64 = 0.1;
/// The step of a batch towards the experience with its own tasks.
const BATCH_STEP: f64 = 0.05;
/// The run time in whose middle a job without a request is believed where no job has ended.
const DEFAULT_RUNTIME: Span = Span::from_secs(3600);

/// The experience with run times, and the jobs that have not ended. Memory is constant per user and class,
/// and per unfinished job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BeliefModel {
    pub(crate) weights: LearnedWeights,
    pub(crate) site: SiteHistory,
    pub(crate) groups: BTreeMap<GroupKey, Group>,
    pub(crate) batches: LiveBatches,
    recalibration: Recalibration,
    alike: SiteAlike,
    tasks: BTreeMap<TaskId, LiveTask>,
    waiting: BTreeSet<(UserId, BatchId, TaskId)>,
    due: BTreeSet<DueAt>,
    /// The statements of ended tasks that teach later.
    late: BTreeMap<(TaskId, Occasion), LateLessons>,
    /// Number of jobs of records that were ever learned.
    n_records: u64,
    outdated_users: BTreeSet<UserId>,
    outdated_batches: BTreeSet<(UserId, BatchId)>,
    default_runtime: Span,
}

impl Default for BeliefModel {
    fn default() -> Self {
        Self {
            weights: LearnedWeights::default(),
            site: SiteHistory::default(),
            groups: BTreeMap::new(),
            batches: LiveBatches::default(),
            recalibration: Recalibration::default(),
            alike: SiteAlike::default(),
            tasks: BTreeMap::new(),
            waiting: BTreeSet::new(),
            due: BTreeSet::new(),
            late: BTreeMap::new(),
            n_records: 0,
            outdated_users: BTreeSet::new(),
            outdated_batches: BTreeSet::new(),
            default_runtime: DEFAULT_RUNTIME,
        }
    }
}

/// How far a job has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskStage {
    /// It waits.
    Waiting,
    /// It runs.
    Running,
}

/// A job that has not ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct LiveTask {
    job: BeliefJob,
    batch: BatchId,
    submitted: Instant,
    started: Option<Instant>,
    /// Whether its statement teaches the levels of groups.
    leads: bool,
    /// The belief at its submission, if no sibling had ended.
    first: Option<Distribution>,
    statements: BTreeMap<Occasion, Statement>,
}

/// The lessons of an ended task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct LateLessons {
    job: BeliefJob,
    batch: BatchId,
    ln_run: f64,
    lessons: Vec<Lesson>,
}

impl BeliefModel {
    /// Sets the run time in whose middle a job without a request is believed where no job has ended.
    pub fn set_default_runtime(&mut self, runtime: Span) {
        self.default_runtime = runtime;
    }

    /// Returns the belief about a job that might be submitted now.
    pub fn belief(&self, job: &BeliefJob, now: Instant) -> Belief {
        let batch = self.batches.find(job, now);
        let n_tasks = 1 + batch.map_or(0, |id| self.batches.n_tasks(id));
        let job = BeliefJob {
            n_tasks: job.n_tasks.max(n_tasks),
            ..*job
        };
        self.believe(&job, batch, now, Occasion::Submission)
    }

    /// Returns the belief of now about a job that has not ended: about its whole run time, whether it runs
    /// or not. None if the job is unknown.
    pub fn belief_about(&self, task: TaskId, now: Instant) -> Option<Belief> {
        let task = self.tasks.get(&task)?;
        let occasion = match task.submitted == now {
            true => Occasion::Submission,
            false => Occasion::Later,
        };
        Some(self.believe(&task.job, Some(task.batch), now, occasion))
    }

    fn believe(
        &self,
        job: &BeliefJob,
        batch: Option<BatchId>,
        now: Instant,
        occasion: Occasion,
    ) -> Belief {
        let query = Query::new(job, batch, now);
        let settings = (Teaches::Nothing, self.default_runtime);
        let stated = self.state(job, query, occasion, settings);
        let corrected = self.recalibration.correct(&stated.raw, stated.bucket);
        let class = GroupKey::smallest(job);
        let size = job
            .n_tasks
            .max(batch.map_or(1, |id| self.batches.n_tasks(id)));
        let alike = self.groups.get(&class).map(|group| &group.alike);
        Belief {
            distribution: corrected.distribution(),
            basis: stated.basis,
            kinship: Kinship {
                // A job that would open a batch is alone in it.
                batch: batch.map_or(u64::MAX, |id| id.0),
                class: class.number(),
                correlations: self.alike.weights(size, alike).map(|weight| weight as f32),
            },
        }
    }

    /// Returns an id for a job of a record: no job of a service has one so high.
    pub(crate) fn record_id(&mut self) -> TaskId {
        self.n_records += 1;
        TaskId::from(u64::MAX - self.n_records)
    }

    /// Returns how far a job has come; None if the model does not know it.
    pub fn stage(&self, id: TaskId) -> Option<TaskStage> {
        let started = self.tasks.get(&id)?.started;
        Some(started.map_or(TaskStage::Waiting, |_| TaskStage::Running))
    }

    /// Adds a job that is submitted now. A job that the model knows stays as it is.
    pub fn submit(&mut self, id: TaskId, job: BeliefJob, now: Instant) {
        self.advance(now);
        if self.tasks.contains_key(&id) {
            return;
        }
        let batch = self.batches.join(&job, now);
        let live = self.batches.get_mut(batch).expect("just joined");
        let leads = !std::mem::replace(&mut live.has_leader, true);
        let is_first = live.n_ended == 0;
        let mut task = LiveTask {
            job,
            batch,
            submitted: now,
            started: None,
            leads,
            first: None,
            statements: BTreeMap::new(),
        };
        let first = self.keep_statement(&mut task, Occasion::Submission, now);
        task.first = first.filter(|_| is_first);
        self.waiting.insert((job.user, batch, id));
        self.tasks.insert(id, task);
        if alike::changes_at(self.batches.n_tasks(batch)) {
            self.outdated_batches.insert((job.user, batch));
        }
    }

    /// States what is believed of a task, and keeps the statement if anything is learned from it.
    fn keep_statement(
        &mut self,
        task: &mut LiveTask,
        occasion: Occasion,
        now: Instant,
    ) -> Option<Distribution> {
        let teaches = match task.leads {
            true => Teaches::Groups,
            false => Teaches::Siblings,
        };
        let query = Query::new(&task.job, Some(task.batch), now);
        let stated = self.state(&task.job, query, occasion, (teaches, self.default_runtime));
        let corrected = self.recalibration.correct(&stated.raw, stated.bucket);
        if task.leads || stated.bucket >= N_COUNTS {
            let batch = self.batches.get_mut(task.batch)?;
            let statement = Statement {
                bucket: stated.bucket,
                quantiles: stated.raw.quantiles(),
                weight: batch.statement_weight(stated.bucket),
                lessons: stated.lessons,
                n_judged: 0,
            };
            task.statements.insert(occasion, statement);
        }
        Some(corrected.distribution())
    }

    /// Records that a job starts now. A job that runs goes on.
    pub fn start(&mut self, id: TaskId, now: Instant) {
        self.advance(now);
        let waits = |task: &LiveTask| task.started.is_none();
        if !self.tasks.get(&id).is_some_and(waits) {
            return;
        }
        let Some(mut task) = self.tasks.remove(&id) else {
            return;
        };
        self.waiting.remove(&(task.job.user, task.batch, id));
        if !task.leads && now > task.submitted {
            self.keep_statement(&mut task, Occasion::Later, now);
        }
        task.started = Some(now);
        let ln_request = task.job.ln_request();
        for key in GroupKey::of(&task.job).into_iter().flatten() {
            self.groups
                .entry(key)
                .or_default()
                .slot(task.batch, ln_request);
        }
        if let Some(batch) = self.batches.get_mut(task.batch) {
            batch.start(id, now);
            // A task that has only started says no more than that siblings run, which counts up to a few.
            if batch.n_ended == 0 && batch.n_running() <= siblings::MANY_RUNNING {
                self.outdated_batches.insert((task.job.user, task.batch));
            }
        }
        for (&occasion, statement) in &task.statements {
            let next = statement.next_quantile().map(|run| now + run);
            self.due
                .extend(next.map(|at| (at, Due::Quantile(id, occasion))));
        }
        self.tasks.insert(id, task);
    }

    /// Learns that a job ended by itself now after running for `runtime`. A job that never ran is removed.
    pub fn end(&mut self, id: TaskId, runtime: Span, now: Instant) {
        self.advance(now);
        let (Some(ln_run), Some(task)) = (ln_secs(runtime), self.take(id)) else {
            self.remove(id);
            return;
        };
        let job = task.job;
        let Some(batch) = self.batches.get_mut(task.batch) else {
            return;
        };
        let rank = batch.end(ln_run);
        if let Some(first) = &task.first {
            batch.misses.add(first.probability_within(runtime).as_f64());
        }
        for key in GroupKey::of(&job).into_iter().flatten() {
            let group = self.groups.entry(key).or_default();
            group.slot(task.batch, job.ln_request()).push(ln_run);
            group.forget_oldest(key);
        }
        self.site.learn(job.user, rank, job.ln_request(), ln_run);
        self.outdated_users.insert(job.user);
        let started = task.started.unwrap_or(now);
        for (occasion, statement) in task.statements {
            self.judge_end(&statement, ln_run);
            let late = LateLessons {
                job,
                batch: task.batch,
                ln_run,
                lessons: statement.lessons.clone(),
            };
            // A site that learned from short jobs first would believe that all are short.
            let at = started + statement.median();
            if at > now {
                self.batches.hold(task.batch);
                self.late.insert((id, occasion), late);
                self.due.insert((at, Due::Lesson(id, occasion)));
            } else {
                self.teach(&late);
            }
        }
        self.batches.release(task.batch);
    }

    /// Counts the intervals of a statement that a run time passed, and the one in which it ended.
    fn judge_end(&mut self, statement: &Statement, ln_run: f64) {
        let ended_in = statement.quantiles.partition_point(|bound| *bound < ln_run);
        for interval in statement.n_judged..LEVELS.len().min(ended_in + 1) {
            let ended = interval == ended_in;
            let Statement { bucket, weight, .. } = *statement;
            self.recalibration.judge(bucket, interval, ended, weight);
        }
    }

    /// Removes a job that did not end by itself: it was cancelled, rejected, killed or lost. It leaves no
    /// trace in beliefs.
    pub fn remove(&mut self, id: TaskId) {
        let Some(task) = self.take(id) else {
            return;
        };
        let batch = self.batches.get_mut(task.batch).expect("the batch is open");
        if task.leads {
            batch.has_leader = false;
        }
        if batch.n_ended == 0 && batch.n_running() == 0 {
            for key in GroupKey::of(&task.job).into_iter().flatten() {
                if let Some(group) = self.groups.get_mut(&key) {
                    group.forget_unended(task.batch);
                    if group.is_empty() {
                        self.groups.remove(&key);
                    }
                }
            }
        }
        self.outdated_batches.insert((task.job.user, task.batch));
        self.batches.release(task.batch);
    }

    /// Takes a job out of all that refers to it.
    fn take(&mut self, id: TaskId) -> Option<LiveTask> {
        let task = self.tasks.remove(&id)?;
        self.waiting.remove(&(task.job.user, task.batch, id));
        if let Some(started) = task.started {
            if let Some(batch) = self.batches.get_mut(task.batch) {
                batch.stop(id, started);
            }
            for (&occasion, statement) in &task.statements {
                if let Some(run) = statement.next_quantile() {
                    self.due
                        .remove(&(started + run, Due::Quantile(id, occasion)));
                }
            }
        }
        Some(task)
    }

    /// Learns from the time that has passed by now. Each method that changes the model does so first.
    pub fn advance(&mut self, now: Instant) {
        while let Some(&(at, due)) = self.due.first()
            && at <= now
        {
            self.due.pop_first();
            match due {
                Due::Quantile(id, occasion) => self.pass_quantile(id, occasion),
                Due::Lesson(id, occasion) => {
                    if let Some(late) = self.late.remove(&(id, occasion)) {
                        self.teach(&late);
                        self.batches.release(late.batch);
                    }
                }
            }
        }
        while let Some((class, misses)) = self.batches.pop_closed(now) {
            let class = self.groups.get_mut(&class);
            let mut none = AlikeCounts::default();
            let counts = class.map_or(&mut none, |group| &mut group.alike);
            self.alike.learn(&misses, counts);
        }
    }

    fn pass_quantile(&mut self, id: TaskId, occasion: Occasion) {
        let Some(task) = self.tasks.get_mut(&id) else {
            return;
        };
        let (batch, started) = ((task.job.user, task.batch), task.started);
        let Some(statement) = task.statements.get_mut(&occasion) else {
            return;
        };
        let (bucket, interval) = (statement.bucket, statement.n_judged);
        statement.n_judged += 1;
        let next = statement.next_quantile().zip(started);
        let next = next.map(|(run, started)| (started + run, Due::Quantile(id, occasion)));
        self.recalibration
            .judge(bucket, interval, false, statement.weight);
        self.due.extend(next);
        self.outdated_batches.insert(batch);
    }

    /// Teaches weights and multipliers what each component would have explained.
    fn teach(&mut self, late: &LateLessons) {
        for lesson in &late.lessons {
            let weight = match lesson.cell {
                Cell::Site { .. } | Cell::Group { .. } => 1.0,
                Cell::Siblings(bucket) => self.teach_siblings(late, lesson, bucket),
            };
            let explained = lesson.explained(late.ln_run);
            self.weights.learn(lesson.cell, &explained, weight);
            if let Some((key, scales)) = lesson.group
                && let Some(group) = self.groups.get_mut(&key)
            {
                let gains = lesson.gains(late.ln_run);
                group.multipliers[usize::from(scales)].learn(gains, GROUP_STEP, GROUP_STEP);
            }
        }
    }

    /// Teaches a batch and its class how alike siblings are, and returns the weight of the lesson.
    fn teach_siblings(&mut self, late: &LateLessons, lesson: &Lesson, bucket: u8) -> f64 {
        let Some(batch) = self.batches.get_mut(late.batch) else {
            return 0.0;
        };
        let weight = batch.lesson_weight(bucket);
        if siblings::has_ended(bucket) {
            let gains = || lesson.gains(late.ln_run);
            batch.multipliers.learn(gains(), BATCH_STEP, GROUP_STEP);
            let class = self
                .groups
                .entry(GroupKey::smallest(&late.job))
                .or_default();
            class
                .siblings
                .learn(gains(), GROUP_STEP * weight, GROUP_STEP * weight);
        }
        weight
    }

    /// Returns the waiting jobs about which more is known than at the last call, with what is believed of
    /// each now. Jobs that look alike in one batch have one belief.
    pub fn take_revised(&mut self, now: Instant) -> Vec<(TaskId, Belief)> {
        self.advance(now);
        let users = std::mem::take(&mut self.outdated_users);
        let batches = std::mem::take(&mut self.outdated_batches);
        let mut outdated = BTreeSet::new();
        for user in users {
            outdated.extend(self.waiting_between((user, BatchId(0)), (user, BatchId(u64::MAX))));
        }
        for batch in batches {
            outdated.extend(self.waiting_between(batch, batch));
        }
        let mut known: BTreeMap<(BatchId, BeliefJob), Belief> = BTreeMap::new();
        let beliefs = outdated.into_iter().filter_map(|id| {
            let task = self.tasks.get(&id)?;
            let belief = known
                .entry((task.batch, task.job))
                .or_insert_with(|| self.believe(&task.job, Some(task.batch), now, Occasion::Later));
            Some((id, *belief))
        });
        beliefs.collect()
    }

    fn waiting_between(
        &self,
        (user, first): (UserId, BatchId),
        (_, last): (UserId, BatchId),
    ) -> impl Iterator<Item = TaskId> {
        let ids = [(0, 0), (u64::MAX, u32::MAX)].map(|(job, task)| TaskId { job, task });
        let range = (user, first, ids[0])..=(user, last, ids[1]);
        self.waiting.range(range).map(|&(_, _, id)| id)
    }

    /// Returns the next instant at which a belief about a waiting job changes though nothing happens.
    pub fn next_revision(&self) -> Option<Instant> {
        let is_waited_for = |id: &TaskId| {
            self.tasks.get(id).is_some_and(|task| {
                let batch = (task.job.user, task.batch);
                self.waiting_between(batch, batch).next().is_some()
            })
        };
        let mut due = self.due.iter();
        due.find_map(|(at, due)| match due {
            Due::Quantile(id, _) => is_waited_for(id).then_some(*at),
            Due::Lesson(..) => None,
        })
    }
}
