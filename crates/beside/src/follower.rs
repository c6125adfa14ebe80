//! Learns from observations, states, and answers.
//!
//! | module | contents |
//! |---|---|
//! | `bounds` | the bounds of statements, corrected and judged |

mod bounds;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tollgate_forecast::wait::{
    JobWidth, LaterStatement, WaitForecaster, WaitJob, WaitQuantity, WaitRefit,
};
use tollgate_model::{Instant, Span};

use crate::calibration::{Calibration, KeptTally, StatedQuantity};
use crate::events::{self, FollowedEvent, FollowedEventKind};
use crate::first_guess::LastWaits;
use crate::job::{SeenJob, SeenJobKey, SeenPhase};
use crate::names::Names;
use crate::observation::{QueueObservation, QueueSight};
use crate::offsets::GroupOffsets;
use crate::open::{FollowedJob, StatementPlace};
use crate::run_times::EndedRunTimes;
use crate::statement::JobStatement;

/// Number of waits below which an answer is a guess.
pub const MIN_OUTCOMES: u64 = 300;
/// The time for which a job that is over is remembered, so that a second report of it changes nothing.
const REMEMBERED: Span = Span::from_secs(3 * 86_400);

/// Number of outcomes above which forests are fitted once in the first observation, at its end.
///
/// That observation has the whole history. Twelve fits of each forest took three quarters of the time of a first answer,
/// and its leaves learn each outcome without them.
const FITTED_IN_HISTORY: u64 = 2_500;

/// A follower of a queue: learns from observations and states every job.
///
/// Observations come in order of time. A job is stated at the instant of its submission from the events before it, even
/// if the observation with it came later. The later course of a job never enters its own statement.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueFollower {
    pub(crate) forecaster: WaitForecaster,
    pub(crate) users: Names,
    pub(crate) queues: Names,
    pub(crate) jobs: BTreeMap<SeenJobKey, FollowedJob>,
    /// The job of each number that the forecaster follows.
    keys: BTreeMap<u64, SeenJobKey>,
    /// The submission and the end of the jobs that are over.
    over: BTreeMap<SeenJobKey, (Instant, Instant)>,
    n_numbers: u64,
    /// The instant of the last observation. None before the first one.
    pub(crate) at: Option<Instant>,
    pub(crate) hides_others: bool,
    pub(crate) calibration: Calibration,
    pub(crate) last_waits: LastWaits,
    /// The last times from entering the queue to the end.
    last_ends: LastWaits,
    pub(crate) run_times: EndedRunTimes,
    offsets: GroupOffsets,
    /// The next bound of each open statement, by the instant from which it is broken.
    next_bounds: BTreeSet<(Instant, u64, StatementPlace)>,
}

impl QueueFollower {
    /// Learns from an observation. Returns the statements that were made meanwhile, in order of time.
    pub fn observe(&mut self, observation: &QueueObservation) -> Vec<JobStatement> {
        let now = observation.at;
        self.hides_others = observation.sight == QueueSight::OwnJobs;
        self.vacate(&observation.absent);
        let mut events = Vec::new();
        for job in &observation.jobs {
            self.note(job, now, &mut events);
        }
        events::sort(&mut events);
        let mut made = Vec::new();
        let mut put_off = BTreeMap::new();
        for event in &events {
            self.advance(event.at, &mut made);
            self.refit(event.at, &mut put_off);
            self.apply(event, &mut made);
        }
        for key in &observation.gone {
            self.lose(key, now);
        }
        self.advance(now, &mut made);
        self.refit(now, &mut put_off);
        for refit in put_off.into_values() {
            self.forecaster.install(refit.run());
        }
        self.forget(now);
        self.at = Some(now);
        made
    }

    /// Returns the instant of the last observation. None before the first one.
    pub fn at(&self) -> Option<Instant> {
        self.at
    }

    /// Returns whether the batch system hides the jobs of other users.
    pub fn hides_others(&self) -> bool {
        self.hides_others
    }

    /// Returns the number of waits that were learned.
    pub fn n_waits(&self) -> u64 {
        self.forecaster.n_waits()
    }

    /// Returns whether the end of a job is known already.
    pub fn knows_end(&self, job: &SeenJob) -> bool {
        let known = self.over.get(&job.key);
        known.is_some_and(|(submitted, ended)| {
            *submitted == job.submitted || job.ended.is_some_and(|again| again <= *ended)
        })
    }

    /// Returns the followed jobs that a view of the whole queue lacks.
    pub fn missing(&self, view: &[SeenJob]) -> Vec<SeenJobKey> {
        let seen: BTreeSet<&SeenJobKey> = view.iter().map(|job| &job.key).collect();
        let missing = self.jobs.keys().filter(|key| !seen.contains(key));
        missing.cloned().collect()
    }

    /// Returns the submission of a job that waits or runs. None if no such job is known.
    pub fn submission(&self, key: &SeenJobKey) -> Option<Instant> {
        self.jobs.get(key).map(|job| job.submitted)
    }

    /// Returns the number of jobs that wait.
    pub fn n_waiting(&self) -> usize {
        self.forecaster.waiting().count()
    }

    /// Returns the number of jobs that wait beyond the highest bound that was stated about them.
    pub fn n_overdue(&self) -> usize {
        let Some(at) = self.at else { return 0 };
        self.jobs.values().filter(|job| job.is_overdue(at)).count()
    }

    /// Returns whether so few waits are known that every answer is a guess.
    pub fn is_guessing(&self) -> bool {
        self.n_waits() < MIN_OUTCOMES
    }

    /// Returns the outcomes of statements.
    pub fn calibration(&self) -> &Calibration {
        &self.calibration
    }

    /// Returns the tallies of the statements of forests about a quantity since an instant, by queue and width.
    pub fn kept_by_group(
        &self,
        quantity: StatedQuantity,
        since: Instant,
    ) -> Vec<(String, JobWidth, KeptTally)> {
        let groups = self.calibration.by_group(quantity, since);
        let group = |((queue, width), tally): ((Option<u32>, JobWidth), KeptTally)| {
            (self.queues.name(queue).to_owned(), width, tally)
        };
        groups.into_iter().map(group).collect()
    }

    /// Returns the queues that were seen.
    pub fn queues(&self) -> &[String] {
        self.queues.all()
    }

    /// Enters a job that is new, and collects its new events.
    fn note(&mut self, job: &SeenJob, now: Instant, events: &mut Vec<FollowedEvent>) {
        if self.knows_end(job) {
            return;
        }
        let again = self.jobs.get(&job.key);
        if again.is_some_and(|known| known.submitted < job.submitted) {
            // The batch system has queued the job again, under the same name.
            self.lose(&job.key, job.submitted);
        }
        let again = self.jobs.get(&job.key);
        let is_back = again.is_some_and(|known| known.started.is_some())
            && matches!(job.phase, SeenPhase::Held | SeenPhase::Waits);
        if is_back {
            // It ran, and waits again: its wait counts from now, as after a hold.
            self.lose(&job.key, now);
            self.over.remove(&job.key);
        }
        if job.phase == SeenPhase::Held {
            self.hold(&job.key, now);
        }
        let facts = WaitJob {
            user: self.users.number(&job.user),
            queue: self.queues.number(&job.queue),
            procs: job.procs.max(1),
            request: job.limit,
        };
        let followed = self.jobs.entry(job.key.clone());
        let followed = followed.or_insert_with(|| FollowedJob {
            number: None,
            facts,
            submitted: job.submitted,
            queued: None,
            started: None,
            is_held: false,
            held_at: is_back.then_some(now),
            reason: String::new(),
            starts: Vec::new(),
            ends: Vec::new(),
        });
        events.extend(events::new_events(job, Some(followed), now));
        if followed.number.is_none() {
            followed.facts = facts;
        }
        followed.is_held = job.phase == SeenPhase::Held;
        followed.reason.clone_from(&job.reason);
    }

    /// Takes a job that is held out of the queue. Its statements count as neither kept nor broken, and its wait counts anew
    /// from its release.
    fn hold(&mut self, key: &SeenJobKey, now: Instant) {
        let waiting = self.jobs.get_mut(key).filter(|job| job.started.is_none());
        let Some(job) = waiting else {
            return;
        };
        job.held_at = Some(now);
        job.queued = None;
        job.starts.clear();
        job.ends.clear();
        if let Some(number) = job.number.take() {
            self.keys.remove(&number);
            self.forecaster.cancel(number);
        }
    }

    /// Lets time pass until just before the events of `now`.
    fn advance(&mut self, now: Instant, made: &mut Vec<JobStatement>) {
        for later in self.forecaster.advance(now) {
            self.break_bounds(later.statement.at);
            self.note_later(&later, made);
        }
        self.break_bounds(now);
    }

    /// Fits the forests that are due. In the first observation large ones are put off to its end.
    fn refit(&mut self, now: Instant, put_off: &mut BTreeMap<WaitQuantity, WaitRefit>) {
        while let Some(refit) = self.forecaster.refit_due(now) {
            if self.at.is_none() && refit.n_outcomes() > FITTED_IN_HISTORY {
                put_off.insert(refit.quantity(), refit);
            } else {
                self.forecaster.install(refit.run());
            }
        }
    }

    fn note_later(&mut self, later: &LaterStatement, made: &mut Vec<JobStatement>) {
        if let Some(key) = self.keys.get(&later.job).cloned() {
            self.open(&key, later.nth, &later.statement, made);
        }
    }

    fn apply(&mut self, event: &FollowedEvent, made: &mut Vec<JobStatement>) {
        match event.kind {
            FollowedEventKind::Started => self.keep_bounds(&event.key, false),
            FollowedEventKind::Ended => self.keep_bounds(&event.key, true),
            FollowedEventKind::Queued | FollowedEventKind::Cancelled => {}
        }
        let Some(job) = self.jobs.get_mut(&event.key) else {
            return;
        };
        match event.kind {
            FollowedEventKind::Queued => {
                let number = self.n_numbers;
                self.n_numbers += 1;
                job.number = Some(number);
                job.queued = Some(event.at);
                let facts = job.facts;
                self.keys.insert(number, event.key.clone());
                let stated = self.forecaster.submit(event.at, number, facts);
                if let Some(stated) = stated {
                    self.open(&event.key, 0, &stated, made);
                }
            }
            FollowedEventKind::Started => {
                job.started = Some(event.at);
                let outcomes = job.judge_starts(event.at);
                let waited = job.queued.map(|queued| event.at.since(queued));
                let number = job.number;
                outcomes
                    .into_iter()
                    .for_each(|outcome| self.calibration.add(outcome));
                if let Some(number) = number {
                    self.forecaster.start(event.at, number);
                }
                if let Some(waited) = waited {
                    self.last_waits.learn(waited);
                }
            }
            FollowedEventKind::Ended => {
                let outcomes = job.judge_ends(event.at);
                if let Some(started) = job.started {
                    self.run_times.learn(&job.facts, event.at.since(started));
                }
                if let Some(queued) = job.queued {
                    self.last_ends.learn(event.at.since(queued));
                }
                outcomes
                    .into_iter()
                    .for_each(|outcome| self.calibration.add(outcome));
                if let Some(number) = job.number {
                    self.forecaster.end(event.at, number);
                }
                self.close(&event.key, event.at);
            }
            FollowedEventKind::Cancelled => {
                if let Some(number) = job.number {
                    self.forecaster.cancel(number);
                }
                if !job.starts.is_empty() {
                    self.calibration.add_cancelled();
                }
                self.close(&event.key, event.at);
            }
        }
    }

    /// Frees the processors of jobs that have left the queue. They left it after the last observation: jobs that have started
    /// since may have their processors, and both at once would be more than there are.
    fn vacate(&mut self, absent: &[SeenJobKey]) {
        let Some(last) = self.at else { return };
        let numbers = absent.iter().filter_map(|key| self.jobs.get(key)?.number);
        for number in numbers.collect::<Vec<u64>>() {
            self.forecaster.vacate(last, number);
        }
    }

    /// Closes a job that is no longer in the queue, and of which nothing more is known.
    fn lose(&mut self, key: &SeenJobKey, now: Instant) {
        let Some(job) = self.jobs.get(key) else {
            return;
        };
        if let Some(number) = job.number {
            match job.started {
                // The end lies between two observations; its statements are not judged by it.
                Some(_) => self.forecaster.end(now, number),
                None => self.forecaster.cancel(number),
            }
        }
        self.close(key, now);
    }

    fn close(&mut self, key: &SeenJobKey, at: Instant) {
        if let Some(job) = self.jobs.remove(key) {
            if let Some(number) = job.number {
                self.keys.remove(&number);
            }
            self.over.insert(key.clone(), (job.submitted, at));
        }
    }

    fn forget(&mut self, now: Instant) {
        self.over
            .retain(|_, (_, ended)| now.since(*ended) <= REMEMBERED);
    }
}
