//! A site as the keeper of pilots sees it: its pilots, and how long they waited.

use std::collections::BTreeMap;

use tollgate_beside::QueueFollower;
use tollgate_model::{Instant, Span};
use tollgate_provisioning::{
    PendingPilot, PilotArrival, PilotHazard, PilotIdleness, PilotQuestions, PilotShape, PilotWait,
    PilotWaits, QueueOutlook, RunningPilot, SeenWaits, ShapeSupply, SiteDemand, SiteSupply,
};

use super::batch_queue::{BatchQueue, OWN, PilotChange};
use super::config::{QueueConfig, SitesConfig};
use super::service::UserService;

/// The part of its time that a pilot may be without any task, as of a site by default.
const IDLE_PART: f64 = 0.1;

/// A site.
#[derive(Debug)]
pub(super) struct PilotSite {
    pub(super) queue: BatchQueue,
    place: usize,
    /// The pilots that wait or run, by number.
    pilots: BTreeMap<u32, SitePilot>,
    n_submitted: u32,
    /// The waits of pilots that wait no more, the latest last.
    past: Vec<PilotWait>,
    surplus_since: Option<Instant>,
    /// The jobs of all users. None if the batch system hides them.
    watched: Option<WatchedQueue>,
}

/// The knowledge of the queue, from the jobs of all users.
#[derive(Debug, Default)]
struct WatchedQueue {
    follower: QueueFollower,
    seen: SeenWaits,
    outlook: Option<QueueOutlook>,
}

/// A pilot that waits or runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct SitePilot {
    submitted: Instant,
    shape: PilotShape,
    /// None while it waits.
    pub(super) started: Option<Instant>,
    /// The instant since which it runs no task. None while it waits, or has one.
    pub(super) idle_since: Option<Instant>,
    /// The time that its cores had tasks, summed over them, up to an instant, and the number that have tasks since.
    busy: Span,
    noted_at: Instant,
    busy_cores: u32,
}

impl SitePilot {
    pub(super) const fn shape(&self) -> PilotShape {
        self.shape
    }

    /// Notes the number of cores with tasks.
    fn note_busy(&mut self, now: Instant, busy_cores: u32) {
        let since = now.since(self.noted_at).as_micros();
        let more = since.saturating_mul(i64::from(self.busy_cores));
        self.busy += Span::from_micros(more);
        (self.noted_at, self.busy_cores) = (now, busy_cores);
    }

    /// Returns for how long it has run nothing. None if it has a task.
    fn idleness(&self, now: Instant) -> Option<PilotIdleness> {
        let cores = i64::from(self.shape.cores);
        Some(PilotIdleness {
            idle: now.since(self.idle_since?),
            busy: Span::from_micros(self.busy.as_micros() / cores),
        })
    }
}

impl PilotSite {
    pub(super) fn new(place: usize, queue: &QueueConfig, hides_jobs: bool) -> Self {
        Self {
            queue: BatchQueue::new(queue),
            place,
            pilots: BTreeMap::new(),
            n_submitted: 0,
            past: Vec::new(),
            surplus_since: None,
            watched: (!hides_jobs).then(WatchedQueue::default),
        }
    }

    /// Looks at the jobs of all users.
    pub(super) fn look(&mut self, now: Instant, shape: PilotShape) {
        let observation = self.queue.observe(now);
        let waiting = self
            .pilots
            .iter()
            .filter(|(_, pilot)| pilot.started.is_none());
        let pending =
            waiting.filter_map(|(number, pilot)| Some((self.queue.key(*number)?, pilot.shape)));
        let questions = PilotQuestions {
            user: OWN.0.to_string(),
            queue: String::new(),
            shapes: vec![shape],
            pending: pending.collect(),
        };
        if let Some(watched) = &mut self.watched {
            watched.follower.observe(&observation);
            watched.seen.observe(&observation);
            let learned = (&watched.follower, &watched.seen);
            watched.outlook = Some(QueueOutlook::new(learned.0, learned.1, &questions, now));
        }
    }

    pub(super) const fn n_submitted(&self) -> u32 {
        self.n_submitted
    }

    /// Returns the pilots that run.
    pub(super) fn running(&self) -> impl Iterator<Item = (u32, &SitePilot)> {
        let pilots = self.pilots.iter().map(|(number, pilot)| (*number, pilot));
        pilots.filter(|(_, pilot)| pilot.started.is_some())
    }

    /// Returns the number of pilots that wait.
    pub(super) fn n_pending(&self) -> u32 {
        let waiting = self.pilots.values().filter(|pilot| pilot.started.is_none());
        waiting.count() as u32
    }

    /// Returns the times for which the pilots that wait have waited, the longest first.
    pub(super) fn ages(&self, now: Instant) -> impl Iterator<Item = Span> {
        let waiting = self.pilots.values().filter(|pilot| pilot.started.is_none());
        waiting.map(move |pilot| now.since(pilot.submitted))
    }

    /// Submits a pilot.
    pub(super) fn submit(&mut self, now: Instant, shape: PilotShape) {
        self.n_submitted += 1;
        let number = self.n_submitted;
        let pilot = SitePilot {
            submitted: now,
            shape,
            started: None,
            idle_since: None,
            busy: Span::ZERO,
            noted_at: now,
            busy_cores: 0,
        };
        self.pilots.insert(number, pilot);
        self.queue.submit(now, number, shape);
    }

    /// Cancels the pilot that has waited least. Returns false if none waits.
    pub(super) fn cancel_newest(&mut self, now: Instant) -> bool {
        let mut pilots = self.pilots.iter().rev();
        let newest = pilots.find(|(_, pilot)| pilot.started.is_none());
        let newest = newest.map(|(number, _)| *number);
        if let Some(number) = newest {
            self.cancel(now, number);
        }
        newest.is_some()
    }

    fn cancel(&mut self, now: Instant, number: u32) {
        self.queue.remove(now, number);
        self.note_end(now, number);
    }

    /// Notes that a pilot started. Returns how long it waited.
    pub(super) fn note_start(&mut self, now: Instant, number: u32) -> Span {
        let Some(pilot) = self.pilots.get_mut(&number) else {
            return Span::ZERO;
        };
        pilot.started = Some(now);
        pilot.idle_since = Some(now);
        let waited = now.since(pilot.submitted);
        self.past.push(PilotWait {
            waited,
            has_started: true,
        });
        waited
    }

    /// Removes a pilot that ended or was cancelled.
    pub(super) fn note_end(&mut self, now: Instant, number: u32) -> Option<SitePilot> {
        let pilot = self.pilots.remove(&number)?;
        if pilot.started.is_none() {
            self.past.push(PilotWait {
                waited: now.since(pilot.submitted),
                has_started: false,
            });
        }
        Some(pilot)
    }

    /// Notes which pilots run no task.
    pub(super) fn note_idle(&mut self, now: Instant, service: &UserService) {
        for (number, pilot) in &mut self.pilots {
            let idle = service.idle_cores(now, (self.place, *number));
            let busy = idle.map_or(0, |idle| pilot.shape.cores - idle);
            let is_idle = idle == Some(pilot.shape.cores);
            pilot.idle_since = pilot.idle_since.or(Some(now)).filter(|_| is_idle);
            pilot.note_busy(now, busy);
        }
    }

    /// Returns what the site has and may have.
    pub(super) fn supply(
        &self,
        now: Instant,
        config: &SitesConfig,
        service: &UserService,
    ) -> SiteSupply {
        let waits = self.waits(now, config.shape);
        let lead = waits.lead(Span::ZERO, config.shape.time);
        let pilots = || self.pilots.iter();
        let waiting = pilots().filter(|(_, pilot)| pilot.started.is_none());
        let mut pending: Vec<PendingPilot> = waiting
            .map(|(number, pilot)| {
                let (waits, age) = self.waits_of(now, *number, pilot);
                PendingPilot {
                    number: *number,
                    shape: pilot.shape,
                    starts_in: waits.expected_rest(age).unwrap_or(Span::ZERO),
                }
            })
            .collect();
        pending.sort_by_key(|pilot| (pilot.starts_in, pilot.number));
        let running = pilots().filter_map(|(number, pilot)| {
            Some(RunningPilot {
                number: *number,
                cores: pilot.shape.cores,
                ends_at: pilot.started? + pilot.shape.time,
                idle_cores: service.idle_cores(now, (self.place, *number))?,
                idleness: pilot.idleness(now),
            })
        });
        SiteSupply {
            shapes: vec![ShapeSupply {
                shape: config.shape,
                expected_wait: waits.expected_rest(Span::ZERO),
            }],
            at_most: config.at_most,
            queue_at_most: None,
            base: 0,
            running: running.collect(),
            n_running: self.running().count() as u32,
            n_leaving: 0,
            lead,
            pending,
            hazard: PilotHazard::default(),
            idle_part: IDLE_PART,
            joining: Span::ZERO,
            is_paused: false,
        }
    }

    /// Returns the pilots that are expected, those that wait with their numbers. With `delay`, others would be submitted
    /// within that time if tasks needed them.
    pub(super) fn expected(
        &self,
        now: Instant,
        (config, service): (&SitesConfig, &UserService),
        delay: Option<Span>,
    ) -> Vec<(Option<u32>, PilotArrival)> {
        let waits = self.waits(now, config.shape);
        let waiting = self
            .pilots
            .iter()
            .filter(|(_, pilot)| pilot.started.is_none());
        let waiting = waiting.filter_map(|(number, pilot)| {
            let (waits, age) = self.waits_of(now, *number, pilot);
            let (name, waited) = (number.to_string(), (&waits, age));
            let arrival = PilotArrival::of_pending(name, pilot.shape, waited, Span::ZERO)?;
            Some((Some(*number), arrival))
        });
        let mut expected: Vec<_> = waiting.collect();
        if let Some(delay) = delay {
            let before: Vec<PilotArrival> =
                expected.iter().map(|(_, pilot)| pilot.clone()).collect();
            let supply = self.supply(now, config, service);
            let arrivals =
                supply.potential_pilots((now, delay), u32::MAX, |_| waits.clone(), &before);
            let arrivals = arrivals.into_iter();
            expected.extend(arrivals.map(|arrival| (None, arrival)));
        }
        expected
    }

    /// Submits and cancels pilots as the keeper of sites does. Those that are too many keep their places for a while, unless
    /// there is no room for others that are needed.
    pub(super) fn follow(&mut self, now: Instant, config: &SitesConfig, demand: &SiteDemand) {
        let (Some(pending), waiting) = (demand.pending, self.n_pending()) else {
            return;
        };
        let needed = waiting.saturating_sub(demand.unneeded.len() as u32);
        let missing = pending.saturating_sub(needed);
        let n_pilots = self.pilots.len() as u32;
        let room = config.at_most.saturating_sub(n_pilots);
        let surplus = demand.unneeded.len() + needed.saturating_sub(pending) as usize;
        let is_full = missing > room && !demand.unneeded.is_empty();
        let since = self.surplus_since.filter(|_| surplus > 0);
        let since = since.or((surplus > 0).then_some(now));
        self.surplus_since = since;
        let hold = self.waits(now, config.shape).hold();
        if since.is_some_and(|since| is_full || now.since(since) >= hold) {
            for number in &demand.unneeded {
                self.cancel(now, *number);
            }
            while self.n_pending() > pending && self.cancel_newest(now) {}
            self.surplus_since = None;
        }
        let room = config.at_most.saturating_sub(self.pilots.len() as u32);
        for at in 0..missing.min(room) {
            let new = demand.new.get(at as usize).or(demand.new.last());
            self.submit(now, new.map_or(config.shape, |new| new.shape));
        }
    }

    /// Returns the waits of pilots that are submitted now.
    fn waits(&self, now: Instant, shape: PilotShape) -> PilotWaits {
        let watched = self.watched.as_ref();
        let outlook = watched.and_then(|watched| watched.outlook.as_ref()?.of_new(shape));
        outlook.cloned().unwrap_or_else(|| self.own_waits(now))
    }

    /// Returns the waits of pilots like one that waits, and the part of them that it has waited.
    fn waits_of(&self, now: Instant, number: u32, pilot: &SitePilot) -> (PilotWaits, Span) {
        let age = now.since(pilot.submitted);
        let key = self.queue.key(number);
        let watched = self.watched.as_ref().zip(key);
        let outlook = watched
            .as_ref()
            .and_then(|(watched, key)| watched.outlook.as_ref()?.of_pending(key));
        match outlook {
            Some((waits, age)) => (waits.clone(), age),
            None => (self.waits(now, pilot.shape), age),
        }
    }

    /// Returns the waits of the pilots of the site.
    fn own_waits(&self, now: Instant) -> PilotWaits {
        let waiting = self.ages(now).map(|waited| PilotWait {
            waited,
            has_started: false,
        });
        PilotWaits::new(waiting.chain(self.past.iter().rev().copied()))
    }

    /// Lets the batch system go on to this instant.
    pub(super) fn advance(&mut self, now: Instant) -> Vec<PilotChange> {
        let mut changes = Vec::new();
        self.queue.advance(now, &mut changes);
        changes
    }

    /// Lets the batch system start what was submitted.
    pub(super) fn settle(&mut self, now: Instant) -> Vec<PilotChange> {
        let mut changes = Vec::new();
        self.queue.settle(now, &mut changes);
        changes
    }
}
