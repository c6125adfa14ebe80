//! The model: what happens to jobs, and what it teaches.
//!
//! | module | contents |
//! |---|---|
//! | `lessons` | how well statements held, and what that teaches |
//! | `revision` | beliefs about waiting jobs that have become outdated |

mod lessons;
mod revision;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tollgate_model::{Distribution, Instant, Kinship, Probability, Span, TaskId, UserId};

use super::alike::SiteCorrelations;
use super::batch::{BatchId, LiveBatches};
use super::chain::{ChainStatement, Query, UpdatedLevels};
use super::doubt::{ClassChange, Doubt};
use super::group::{Group, GroupKey};
use super::mixture::Lesson;
use super::recalibration::{self, FIRST_SIBLINGS, Recalibration};
use super::request_rate::{RequestRates, WithinRequest};
use super::site::SiteHistory;
use super::statement::{BeliefTimer, BeliefTimerAt, Statement, StatementTime};
use super::weights::LearnedWeights;
use super::{Belief, BeliefJob, alike, doubt, siblings};
use crate::record::ln_secs;

/// The run time in whose middle a job without a request is believed where no job has ended.
const DEFAULT_RUNTIME: Span = Span::from_secs(3600);

/// The experience with run times, and the jobs that have not ended. Memory is constant per user and class,
/// and per unfinished job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BeliefModel {
    pub(crate) weights: LearnedWeights,
    pub(crate) site: SiteHistory,
    #[serde(with = "crate::map_entries")]
    pub(crate) groups: BTreeMap<GroupKey, Group>,
    pub(crate) batches: LiveBatches,
    recalibration: Recalibration,
    request_rates: RequestRates,
    alike: SiteCorrelations,
    #[serde(with = "crate::map_entries")]
    tasks: BTreeMap<TaskId, LiveTask>,
    waiting: BTreeSet<(UserId, BatchId, TaskId)>,
    due: BTreeSet<BeliefTimerAt>,
    /// The statements of ended tasks that teach later.
    #[serde(with = "crate::map_entries")]
    late: BTreeMap<(TaskId, StatementTime), EndedTaskLessons>,
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
            request_rates: RequestRates::default(),
            alike: SiteCorrelations::default(),
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

/// The jobs with which a job counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobKin {
    /// The number of its batch: of jobs that count as one witness.
    pub batch: u64,
    /// The number of its class: of jobs of one user that ask for the same and run one program, if it is known.
    pub class: u64,
}

/// When the statements about an ended job teach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LessonTime {
    /// Once the job would have run for the stated median.
    AtMedian,
    /// At the end of the job.
    AtOnce,
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
    /// The belief at its submission.
    stated: Option<Distribution>,
    /// Whether no sibling had ended then.
    is_first: bool,
    /// The stated probability to stay within its request, at the submission.
    within_request: Option<WithinRequest>,
    statements: BTreeMap<StatementTime, Statement>,
}

/// The lessons of an ended task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct EndedTaskLessons {
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
        self.believe(&job, batch, now, StatementTime::Submission)
    }

    /// Returns the belief of now about a job that has not ended: about its whole run time, whether it runs
    /// or not. None if the job is unknown.
    pub fn belief_about(&self, task: TaskId, now: Instant) -> Option<Belief> {
        let task = self.tasks.get(&task)?;
        let observed_at = match task.submitted == now {
            true => StatementTime::Submission,
            false => StatementTime::Later,
        };
        Some(self.believe(&task.job, Some(task.batch), now, observed_at))
    }

    fn believe(
        &self,
        job: &BeliefJob,
        batch: Option<BatchId>,
        now: Instant,
        observed_at: StatementTime,
    ) -> Belief {
        let query = Query::new(job, batch, now);
        let settings = (UpdatedLevels::Nothing, self.default_runtime);
        let stated = self.state(job, query, observed_at, settings);
        let class = GroupKey::smallest(job);
        let size = job
            .n_tasks
            .max(batch.map_or(1, |id| self.batches.n_tasks(id)));
        let alike = self.groups.get(&class).map(|group| &group.alike);
        let distribution = self.correct(job, &stated);
        let within_request = self.within_request(job, &distribution);
        Belief {
            distribution,
            within_request: within_request.map(WithinRequest::probability),
            basis: stated.basis,
            kinship: Kinship {
                // A job that would open a batch is alone in it.
                batch: batch.map_or(u64::MAX, |id| id.0),
                class: class.number(),
                correlations: self.alike.weights(size, alike).map(|weight| weight as f32),
            },
        }
    }

    /// Returns a statement about a job, corrected by the experience of the site with such statements, then of its groups.
    fn correct(&self, job: &BeliefJob, stated: &ChainStatement) -> Distribution {
        let mut hazards = self.recalibration.hazards(stated.bucket);
        let groups =
            GroupKey::recalibrated(job, stated.bucket).filter_map(|key| self.groups.get(&key));
        groups.for_each(|group| group.recalibration.apply(&mut hazards));
        recalibration::correct(&stated.raw, &hazards)
    }

    fn within_request(&self, job: &BeliefJob, run: &Distribution) -> Option<WithinRequest> {
        let request = job.request.filter(|request| *request > Span::ZERO)?;
        let by_distribution = run.probability_within(request);
        Some(self.request_rates.state(job.user, by_distribution))
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

    /// Returns the jobs with which a job counts that has not ended; None if the model does not know it.
    pub fn kin(&self, id: TaskId) -> Option<JobKin> {
        let task = self.tasks.get(&id)?;
        Some(JobKin {
            batch: task.batch.0,
            class: GroupKey::smallest(&task.job).number(),
        })
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
            stated: None,
            is_first,
            within_request: None,
            statements: BTreeMap::new(),
        };
        task.stated = self.keep_statement(&mut task, StatementTime::Submission, now);
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
        observed_at: StatementTime,
        now: Instant,
    ) -> Option<Distribution> {
        let teaches = match task.leads {
            true => UpdatedLevels::Groups,
            false => UpdatedLevels::Siblings,
        };
        let query = Query::new(&task.job, Some(task.batch), now);
        let stated = self.state(
            &task.job,
            query,
            observed_at,
            (teaches, self.default_runtime),
        );
        let corrected = self.correct(&task.job, &stated);
        if observed_at == StatementTime::Submission {
            task.within_request = self.within_request(&task.job, &corrected);
        }
        if task.leads || stated.bucket >= FIRST_SIBLINGS {
            let batch = self.batches.get_mut(task.batch)?;
            let statement = Statement {
                bucket: stated.bucket,
                quantiles: stated.raw.quantiles(),
                weight: batch.statement_weight(stated.bucket),
                lessons: stated.lessons,
                n_judged: 0,
            };
            task.statements.insert(observed_at, statement);
        }
        Some(corrected)
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
            self.keep_statement(&mut task, StatementTime::Later, now);
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
            if let Some(stated) = task.stated.filter(|_| task.leads) {
                batch.start_leader(doubt::longest(&stated), now);
            }
            // A task that has only started says no more than that siblings run, which counts up to a few.
            if batch.n_ended == 0 && batch.n_running() <= siblings::MANY_RUNNING {
                self.outdated_batches.insert((task.job.user, task.batch));
            }
        }
        for (&observed_at, statement) in &task.statements {
            let next = statement.next_quantile().map(|run| now + run);
            self.due
                .extend(next.map(|at| (at, BeliefTimer::Quantile(id, observed_at))));
        }
        self.tasks.insert(id, task);
    }

    /// Learns that a job ended by itself now after running for `runtime`. A job that never ran is removed.
    /// Returns the change of its class that it shows, if any.
    pub fn end(&mut self, id: TaskId, runtime: Span, now: Instant) -> Option<ClassChange> {
        // A site that learned from short jobs first would believe that all are short.
        self.end_teaching(id, (runtime, LessonTime::AtMedian), now)
    }

    /// Learns an amount that does not take time, such as the memory of a job, from a job that ended now.
    pub(crate) fn learn_amount(&mut self, job: BeliefJob, amount: Span, now: Instant) {
        let id = self.begin(job, now);
        self.end_teaching(id, (amount, LessonTime::AtOnce), now);
    }

    /// Learns from a job that ended now that such jobs need more than an amount.
    pub(crate) fn learn_amount_beyond(&mut self, job: BeliefJob, amount: Span, now: Instant) {
        let id = self.begin(job, now);
        match self.is_long(id, amount) {
            true => {
                self.end_teaching(id, (amount, LessonTime::AtOnce), now);
            }
            false => self.remove(id),
        }
    }

    /// Adds a job that starts and ends now.
    fn begin(&mut self, job: BeliefJob, now: Instant) -> TaskId {
        let id = self.record_id();
        self.submit(id, job, now);
        self.start(id, now);
        id
    }

    fn end_teaching(
        &mut self,
        id: TaskId,
        (runtime, lessons): (Span, LessonTime),
        now: Instant,
    ) -> Option<ClassChange> {
        self.advance(now);
        let (Some(ln_run), Some(task)) = (ln_secs(runtime), self.take(id)) else {
            self.remove(id);
            return None;
        };
        let job = task.job;
        let batch = self.batches.get_mut(task.batch)?;
        let rank = batch.end(ln_run);
        if let Some(first) = task.stated.filter(|_| task.is_first) {
            batch.misses.add(first.probability_within(runtime).as_f64());
        }
        for key in GroupKey::of(&job).into_iter().flatten() {
            let group = self.groups.entry(key).or_default();
            group.learn(key, (task.batch, job.ln_request()), ln_run, now);
        }
        let stated = task.stated.filter(|_| task.leads);
        let change = stated.and_then(|stated| self.follow_course(&job, (runtime, &stated), now));
        self.site.learn(job.user, rank, job.ln_request(), ln_run);
        self.outdated_users.insert(job.user);
        if let Some((stated, request)) = task.within_request.zip(job.request) {
            self.request_rates
                .learn(job.user, &stated, runtime <= request);
        }
        let started = task.started.unwrap_or(now);
        for (observed_at, statement) in task.statements {
            self.judge_end(&job, &statement, ln_run);
            let late = EndedTaskLessons {
                job,
                batch: task.batch,
                ln_run,
                lessons: statement.lessons.clone(),
            };
            let at = started + statement.median();
            if lessons == LessonTime::AtMedian && at > now {
                self.batches.hold(task.batch);
                self.late.insert((id, observed_at), late);
                self.due.insert((at, BeliefTimer::Lesson(id, observed_at)));
            } else {
                self.teach(&late);
            }
        }
        self.batches.release(task.batch);
        change
    }

    /// Follows the course of the groups of a job that ended, and returns what it says of the smallest one if that is news.
    fn follow_course(
        &mut self,
        job: &BeliefJob,
        (runtime, stated): (Span, &Distribution),
        now: Instant,
    ) -> Option<ClassChange> {
        let class = GroupKey::smallest(job);
        let doubt = |model: &Self| Doubt::of(model.groups.get(&class)?, None, &model.batches, now);
        let before = doubt(self).unwrap_or_default();
        let class_course = self.groups.get(&class).map(|group| group.course);
        let suspected = class_course.and_then(|course| course.suspected());
        for key in GroupKey::of(job).into_iter().flatten() {
            let group = self.groups.entry(key).or_default();
            group.course.follow(stated, runtime);
        }
        let after = doubt(self).unwrap_or_default();
        let is_news = before.is_change() != after.is_change();
        is_news.then(|| ClassChange {
            job: *job,
            runtime,
            // Beliefs adapt to the first batch that is outside them, so only those from before show the change.
            believed: suspected.unwrap_or_else(|| doubt::bounds(stated)),
            doubt: after,
        })
    }

    /// Learns that a job was ended now after running for `runtime`, and needs more. A time beyond the quantile .9 of the
    /// belief at its submission is learned as if it were the run time. A shorter time teaches nothing: as a run time it would
    /// shorten beliefs, although the job takes longer.
    /// Returns the change of its class that it shows, if any.
    pub fn end_at_least(&mut self, id: TaskId, runtime: Span, now: Instant) -> Option<ClassChange> {
        match self.is_long(id, runtime) {
            true => self.end(id, runtime, now),
            false => {
                self.remove(id);
                None
            }
        }
    }

    /// Returns whether a run time is beyond the quantile .9 of the belief about a job at its submission.
    fn is_long(&self, id: TaskId, runtime: Span) -> bool {
        let level = Probability::new(0.9).expect("a probability");
        let stated = self.tasks.get(&id).and_then(|task| task.stated);
        stated.is_some_and(|stated| runtime > stated.quantile(level))
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
                if task.leads {
                    batch.stop_leader();
                }
            }
            for (&observed_at, statement) in &task.statements {
                if let Some(run) = statement.next_quantile() {
                    self.due
                        .remove(&(started + run, BeliefTimer::Quantile(id, observed_at)));
                }
            }
        }
        Some(task)
    }
}
