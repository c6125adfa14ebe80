//! The answer about one job.

use std::collections::BTreeMap;

use serde::Serialize;
use tollgate_forecast::wait::{FEATURES, JobWidth, N_WAIT_LEVELS, WaitJob, WaitStatement};
use tollgate_model::{Instant, Span};

use crate::calibration::{StatedQuantity, TallyScope};
use crate::follower::QueueFollower;
use crate::job::SeenJobKey;
use crate::open::{FollowedJob, key_order};
use crate::statement::{StatedBounds, instants};

/// The features of an explanation that are named.
const NAMED_FEATURES: usize = 3;
/// The origin of bounds of a job that has waited for longer than all jobs before it.
pub const AS_NEW: &str = "as-new";
/// The origin of bounds of a job that runs: the run times of jobs like it that ran for longer.
pub const FROM_RUN_TIMES: &str = "run-times";
/// The index of .9 among the levels.
const LEVEL_90: usize = 3;

/// A job that is asked about and is not submitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestedJob {
    /// The user.
    pub user: String,
    /// The queue. Empty if the batch system has none.
    pub queue: String,
    /// Number of processors, at least 1.
    pub procs: u32,
    /// The time limit. None if the job has none.
    pub limit: Option<Span>,
}

/// The answer about a job: when it starts and ends, and why then.
#[derive(Clone, Debug, PartialEq)]
pub struct JobAnswer {
    /// The name of the job. None for a job that is not submitted.
    pub key: Option<SeenJobKey>,
    /// The requested job.
    pub job: RequestedJob,
    /// The instant of the answer.
    pub at: Instant,
    /// The instant from which the job has waited. None for a held job and for one that is not submitted.
    pub queued: Option<Instant>,
    /// The start of a job that runs.
    pub started: Option<Instant>,
    /// Whether the job is held, or depends on another one.
    pub is_held: bool,
    /// The reason why the job waits, in the words of the batch system. Empty without one.
    pub reason: String,
    /// The start and the end of the job, by level. None if too little is known.
    pub stated: Option<StatedLevels>,
    /// Whether the job waits for longer than the first statement about it gave at 0.9.
    pub is_late: bool,
    /// The queue around the job.
    pub around: QueueAround,
    /// How many statements about the start of such jobs were kept.
    pub kept_starts: KeptStatements,
    /// How many statements about the end of such jobs were kept.
    pub kept_ends: KeptStatements,
}

/// Instants by level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StatedLevels {
    /// The origin of the bounds: `forest`, `class` or `site`, [`AS_NEW`] or [`FROM_RUN_TIMES`].
    pub basis: &'static str,
    /// Number of run times from which the bounds come. None for other bounds.
    pub n_alike: Option<usize>,
    /// The instants by which the job starts, by level. None for a job that runs.
    pub starts_by: Option<StatedBounds>,
    /// The instants by which the job ends, by level. None if too little is known.
    pub ends_by: Option<StatedBounds>,
    /// The probability that the job starts within a minute. None for a job that runs.
    pub at_once: Option<f64>,
}

/// The queue around a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct QueueAround {
    /// Number of jobs that wait.
    pub waiting: usize,
    /// Number of jobs of the same queue that have waited longer.
    pub before: usize,
    /// Number of processors in use.
    pub procs_in_use: u64,
    /// The largest number of processors in use in the last 60 days.
    pub capacity: u64,
}

/// How many of the last statements about jobs like one were kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct KeptStatements {
    /// The statements that are counted.
    pub scope: TallyScope,
    /// Number of statements.
    pub of: u64,
    /// Number of kept bounds, by level.
    pub kept: [u64; N_WAIT_LEVELS],
}

impl QueueFollower {
    /// Answers about a job of the queue. None if no job has the name, or the job is over.
    pub fn answer(&self, key: &SeenJobKey, now: Instant) -> Option<JobAnswer> {
        self.answers(std::slice::from_ref(key), now).pop()
    }

    /// Answers about jobs of the queue, in the order of their names. Jobs that are not in the queue are left out.
    pub fn answers(&self, keys: &[SeenJobKey], now: Instant) -> Vec<JobAnswer> {
        let mut around = AnswersAround::new(self, now);
        let answers = keys.iter().filter_map(|key| {
            let followed = self.jobs.get(key)?;
            Some(self.answer_followed(key, followed, &mut around))
        });
        answers.collect()
    }

    fn answer_followed(
        &self,
        key: &SeenJobKey,
        followed: &FollowedJob,
        around: &mut AnswersAround<'_>,
    ) -> JobAnswer {
        let now = around.now;
        let stated = match (followed.started, followed.number) {
            (Some(started), _) => self.running(followed, started, now),
            (None, Some(number)) => {
                let stated = self.forecaster.restate(now, number);
                let nth = followed.starts.last().map_or(0, |last| last.nth);
                let as_new = || {
                    let stated = self.forecaster.quote(now, &followed.facts)?;
                    Some(StatedLevels {
                        basis: AS_NEW,
                        ..self.levels(&stated, &followed.facts, 0)
                    })
                };
                stated
                    .map(|stated| self.levels(&stated, &followed.facts, nth))
                    .or_else(as_new)
            }
            (None, None) => None,
        };
        let first = followed.starts.first().filter(|first| first.nth == 0);
        let waits = followed.number.filter(|_| followed.started.is_none());
        JobAnswer {
            key: Some(key.clone()),
            job: self.requested(&followed.facts),
            queued: followed.queued,
            started: followed.started,
            is_held: followed.is_held,
            reason: followed.reason.clone(),
            stated,
            is_late: first.is_some_and(|first| first.due[LEVEL_90] < now),
            ..around.of(&followed.facts, waits)
        }
    }

    /// Answers about a job as if it was submitted now.
    pub fn quote(&self, job: &RequestedJob, now: Instant) -> JobAnswer {
        let facts = self.facts(job);
        let stated = self.forecaster.quote(now, &facts);
        JobAnswer {
            job: job.clone(),
            stated: stated.map(|stated| self.levels(&stated, &facts, 0)),
            ..AnswersAround::new(self, now).of(&facts, None)
        }
    }

    /// Returns the jobs of the queue that are not over, by number of their names. Those of one user if one is named.
    pub fn open_jobs(&self, user: Option<&str>) -> Vec<SeenJobKey> {
        let of_user =
            |job: &FollowedJob| user.is_none_or(|user| self.users.name(job.facts.user) == user);
        let open = self.jobs.iter().filter(|(_, job)| of_user(job));
        let mut keys: Vec<SeenJobKey> = open.map(|(key, _)| key.clone()).collect();
        keys.sort_by(|a, b| key_order(a).cmp(&key_order(b)));
        keys
    }

    /// Returns the features that move the forecast of a job most, each with its factor, if the job was submitted at the
    /// instant of its answer. Empty while answers are guesses. It takes tens of milliseconds.
    pub fn features(&self, answer: &JobAnswer) -> Vec<(&'static str, f64)> {
        let facts = self.facts(&answer.job);
        let explained = self.forecaster.explain(answer.at, &facts, 0);
        let mut features: Vec<(&'static str, f64)> = match explained {
            Some(explained) => FEATURES.into_iter().zip(explained.contributions).collect(),
            None => Vec::new(),
        };
        features.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        features.truncate(NAMED_FEATURES);
        let factor = |(feature, ln): (&'static str, f64)| (feature, ln.exp());
        features.into_iter().map(factor).collect()
    }

    pub(crate) fn requested(&self, facts: &WaitJob) -> RequestedJob {
        RequestedJob {
            user: self.users.name(facts.user).to_owned(),
            queue: self.queues.name(facts.queue).to_owned(),
            procs: facts.procs,
            limit: facts.request,
        }
    }

    pub(crate) fn facts(&self, job: &RequestedJob) -> WaitJob {
        WaitJob {
            user: self.users.find(&job.user),
            queue: self.queues.find(&job.queue),
            procs: job.procs.max(1),
            request: job.limit,
        }
    }

    pub(crate) fn levels(&self, stated: &WaitStatement, facts: &WaitJob, nth: u32) -> StatedLevels {
        let stated = self.repaired(stated, facts, nth);
        StatedLevels {
            basis: stated.wait.basis.key(),
            n_alike: None,
            starts_by: Some(instants(stated.at, &stated.wait)),
            ends_by: stated.end.as_ref().map(|end| instants(stated.at, end)),
            at_once: Some(stated.at_once.as_f64()),
        }
    }

    /// Returns when a job that runs ends: from the run times of jobs that ran for longer, or as it was stated last if those
    /// are too few. The limit is not exceeded.
    fn running(
        &self,
        followed: &FollowedJob,
        started: Instant,
        now: Instant,
    ) -> Option<StatedLevels> {
        let ends = |basis, n_alike, ends_by| StatedLevels {
            basis,
            n_alike,
            starts_by: None,
            ends_by: Some(ends_by),
            at_once: None,
        };
        let elapsed = now.since(started).max(Span::ZERO);
        if let Some(rest) = self.run_times.rest(&followed.facts, elapsed) {
            let ends_by = rest.runs.map(|run| (started + run).max(now));
            return Some(ends(FROM_RUN_TIMES, Some(rest.n_alike), ends_by));
        }
        let last = followed.ends.last()?;
        let latest = followed.facts.request.map(|limit| started + limit);
        let at_most = |due: Instant| latest.map_or(due, |latest| due.min(latest));
        let ends_by = last.due.map(|due| at_most(due).max(now));
        let basis = if last.is_forest { "forest" } else { "site" };
        Some(ends(basis, None, ends_by))
    }

    /// Returns how many statements about a quantity of jobs like one were kept.
    pub(crate) fn kept(&self, quantity: StatedQuantity, facts: &WaitJob) -> KeptStatements {
        let width = JobWidth::of_procs(facts.procs);
        let (scope, tally) =
            self.calibration
                .like(quantity, facts.queue, width, !self.is_guessing());
        KeptStatements {
            scope,
            of: tally.n,
            kept: tally.n_kept,
        }
    }
}

/// The parts of answers that many jobs share, each computed once.
struct AnswersAround<'a> {
    follower: &'a QueueFollower,
    now: Instant,
    n_waiting: usize,
    /// The numbers of the waiting jobs of each queue, ascending.
    waiting: BTreeMap<Option<u32>, Vec<u64>>,
    kept: BTreeMap<(StatedQuantity, Option<u32>, JobWidth), KeptStatements>,
}

impl<'a> AnswersAround<'a> {
    fn new(follower: &'a QueueFollower, now: Instant) -> Self {
        let mut waiting: BTreeMap<Option<u32>, Vec<u64>> = BTreeMap::new();
        for (number, job, _) in follower.forecaster.waiting() {
            waiting.entry(job.queue).or_default().push(number);
        }
        Self {
            follower,
            now,
            n_waiting: waiting.values().map(Vec::len).sum(),
            waiting,
            kept: BTreeMap::new(),
        }
    }

    /// Returns an answer about a job with these facts that says nothing about the job itself. `number` is that of a job that
    /// waits.
    fn of(&mut self, facts: &WaitJob, number: Option<u64>) -> JobAnswer {
        let of_queue = self
            .waiting
            .get(&facts.queue)
            .map_or(&[][..], Vec::as_slice);
        let before = number.map_or(of_queue.len(), |number| {
            of_queue.partition_point(|other| *other < number)
        });
        JobAnswer {
            key: None,
            job: RequestedJob {
                user: String::new(),
                queue: String::new(),
                procs: facts.procs,
                limit: facts.request,
            },
            at: self.now,
            queued: None,
            started: None,
            is_held: false,
            reason: String::new(),
            stated: None,
            is_late: false,
            around: QueueAround {
                waiting: self.n_waiting,
                before,
                procs_in_use: self.follower.forecaster.procs_in_use(),
                capacity: self.follower.forecaster.capacity(),
            },
            kept_starts: self.kept(StatedQuantity::StartAtSubmission, facts),
            kept_ends: self.kept(StatedQuantity::End, facts),
        }
    }

    fn kept(&mut self, quantity: StatedQuantity, facts: &WaitJob) -> KeptStatements {
        let group = (quantity, facts.queue, JobWidth::of_procs(facts.procs));
        let follower = self.follower;
        let kept = self.kept.entry(group);
        *kept.or_insert_with(|| follower.kept(quantity, facts))
    }
}
