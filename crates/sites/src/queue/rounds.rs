//! One look at the queue, and what it teaches.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_beside::{
    JobStatement, QueueChanges, QueueFollower, QueueObservation, QueueSight, SeenJob, SeenJobKey,
};
use tollgate_model::{Instant, Span};

use super::error::QueueError;
use super::live_queue::{LiveQueue, QueueLook};

/// The shortest time between two questions about the records, and the time after which a job without one is given up.
const RECORDS_EVERY: Span = Span::from_secs(300);
/// A time without observations after which the records are asked, whatever is missing.
const GAP: Span = Span::from_secs(240);
/// How far back before the last observation records are asked for: an accounting daemon may be late.
const OVERLAP: Span = Span::from_secs(3_600);

/// Looks at a queue again and again.
pub struct QueueRounds {
    follower: QueueFollower,
    changes: QueueChanges,
    records_at: Option<Instant>,
    /// The jobs that the records lack, with the instant of the first question about them.
    suspects: BTreeMap<SeenJobKey, Instant>,
}

/// The outcome of one look.
#[derive(Clone, Debug)]
pub struct QueueRound {
    /// The jobs that have changed.
    pub observation: QueueObservation,
    /// The statements about jobs that were made from the observation.
    pub statements: Vec<JobStatement>,
    /// The time that the engine needed to list its queue.
    pub took: std::time::Duration,
}

/// The jobs that a look at the queue lacks.
#[derive(Default)]
struct LeftJobs {
    /// The records of those that have ended.
    ended: Vec<SeenJob>,
    /// Those of which nothing is known any more.
    gone: Vec<SeenJobKey>,
    /// Those that are not in the queue: some of them have records, or are given up.
    absent: Vec<SeenJobKey>,
}

impl QueueRounds {
    /// Starts from what is known.
    pub fn new(follower: QueueFollower) -> Self {
        Self {
            follower,
            changes: QueueChanges::default(),
            records_at: None,
            suspects: BTreeMap::new(),
        }
    }

    /// Returns what was learned.
    pub fn follower(&self) -> &QueueFollower {
        &self.follower
    }

    /// Returns what was learned, after the last look.
    pub fn into_follower(self) -> QueueFollower {
        self.follower
    }

    /// Looks at the queue, and at the records if jobs have left the queue unseen. The first look of a new follower learns
    /// from the records of the last weeks. Notes for a user go to `note`.
    ///
    /// # Errors
    /// If the engine does not answer. Nothing was learned then, and the next look makes up for it.
    pub fn look(
        &mut self,
        live: &LiveQueue,
        note: &mut dyn FnMut(&str),
    ) -> Result<QueueRound, QueueError> {
        let mut view = live.view(&self.follower)?;
        // A clock that was set back does not let time run backwards.
        view.at = self.follower.at().map_or(view.at, |last| last.max(view.at));
        let LeftJobs {
            mut ended,
            gone,
            mut absent,
        } = self.left(live, &view, note)?;
        let found: BTreeSet<&SeenJobKey> = ended.iter().map(|job| &job.key).collect();
        absent.retain(|key| !found.contains(key) && !gone.contains(key));
        if view.sight == QueueSight::OwnJobs {
            // The accounting may show more than the queue does. A queue without the others was never seen to be served.
            ended.retain(|job| job.user == live.user());
        }
        let mut jobs: BTreeMap<SeenJobKey, SeenJob> = BTreeMap::new();
        jobs.extend(ended.into_iter().map(|job| (job.key.clone(), job)));
        // The queue knows its own jobs better than the records do.
        let changed = self.changes.take(view.jobs);
        jobs.extend(changed.into_iter().map(|job| (job.key.clone(), job)));
        let observation = QueueObservation {
            at: view.at,
            sight: view.sight,
            jobs: jobs.into_values().collect(),
            gone,
            absent,
        };
        let statements = self.follower.observe(&observation);
        Ok(QueueRound {
            observation,
            statements,
            took: view.took,
        })
    }

    /// Returns the records of jobs that have ended unseen, and the jobs of which nothing is known any more.
    fn left(
        &mut self,
        live: &LiveQueue,
        view: &QueueLook,
        note: &mut dyn FnMut(&str),
    ) -> Result<LeftJobs, QueueError> {
        let Some(last) = self.follower.at() else {
            self.records_at = Some(view.at);
            return Ok(LeftJobs {
                ended: live.history(note)?,
                ..LeftJobs::default()
            });
        };
        let missing = self.follower.missing(&view.jobs);
        let is_gap = view.at.since(last) >= GAP;
        let settings = live.settings();
        // Where the queue lists jobs after their end, only few are missing, and their records can wait.
        let is_time = !settings.lists_ended
            || self
                .records_at
                .is_none_or(|last| view.at.since(last) >= RECORDS_EVERY);
        if !settings.keeps_records {
            return Ok(LeftJobs {
                gone: missing,
                ..LeftJobs::default()
            });
        }
        if !is_gap && (missing.is_empty() || !is_time) {
            return Ok(LeftJobs {
                absent: missing,
                ..LeftJobs::default()
            });
        }
        let absent = missing.clone();
        // Records have whole seconds, and those of the present second count, too. One that comes a look later would meet
        // the jobs that have its processors now, so that more seem to be in use than there are.
        let until = view.at + Span::from_secs(1);
        let mut ended = live.records(last - OVERLAP, until)?.unwrap_or_default();
        ended.retain(|job| job.ended.is_none_or(|ended| ended <= view.at));
        self.records_at = Some(view.at);
        let known: BTreeSet<&SeenJobKey> = ended.iter().map(|job| &job.key).collect();
        let unknown = missing.into_iter().filter(|key| !known.contains(key));
        // An accounting daemon may be late: a job is given up some minutes after the first question.
        let suspects: BTreeMap<SeenJobKey, Instant> = unknown
            .map(|key| {
                let first = self.suspects.get(&key).copied().unwrap_or(view.at);
                (key, first)
            })
            .collect();
        let (gone, suspects): (Vec<_>, Vec<_>) = suspects
            .into_iter()
            .partition(|(_, first)| is_gap || view.at.since(*first) >= RECORDS_EVERY);
        self.suspects = suspects.into_iter().collect();
        let gone = gone.into_iter().map(|(key, _)| key).collect();
        let open: BTreeSet<SeenJobKey> = view.jobs.iter().map(|job| job.key.clone()).collect();
        let is_new = |job: &SeenJob| !open.contains(&job.key) && !self.follower.knows_end(job);
        let ended = ended.into_iter().filter(is_new);
        Ok(LeftJobs {
            ended: ended.collect(),
            gone,
            absent,
        })
    }
}
