//! The pilots that are expected at a site, as promises count on them.

use tollgate_beside::SeenJobKey;
use tollgate_model::{Instant, Span};
use tollgate_provisioning::{PilotArrival, PilotHazard, PilotQuestions, PilotShape, SiteSupply};

use super::SiteControl;
use super::follow::{JOINING, PilotWorkers, worker_name};
use crate::error::SiteError;
use crate::outlook::{SiteOutlook, queue_key};
use crate::pilot::{PilotPhase, PilotRecord};
use crate::queue::QueueWatch;

/// The least time within which a pilot that starts is counted on to join.
const LEAST_JOINING: Span = Span::from_secs(5);

impl SiteControl {
    /// Returns the pilots that are expected at the site: those that wait, or run and have not joined the service. With
    /// `delay`, others would be submitted within that time if work needed them.
    pub fn expected_pilots(
        &self,
        worker_of: &PilotWorkers<'_>,
        delay: Option<Span>,
    ) -> Vec<PilotArrival> {
        let now = (self.clock)();
        let pilots = self.state.pilots.iter().filter(|pilot| pilot.counts());
        let submitted = pilots.filter_map(|pilot| self.submitted_pilot(pilot, now, worker_of));
        let mut expected: Vec<PilotArrival> = submitted.collect();
        let is_limited = self.state.pilots.iter().any(|pilot| self.is_limited(pilot));
        if let Some(delay) = delay
            && self.record().failures == 0
            && !is_limited
        {
            let supply = SiteSupply {
                joining: self.joining(),
                ..self.supply(worker_of)
            };
            let waits = |at: usize| self.waits_of_new(at);
            let potential = supply.potential_pilots((now, delay), self.room(), waits, &expected);
            expected.extend(potential);
        }
        expected
    }

    /// Returns a pilot that has not joined the service and may still do so.
    fn submitted_pilot(
        &self,
        pilot: &PilotRecord,
        now: Instant,
        worker_of: &PilotWorkers<'_>,
    ) -> Option<PilotArrival> {
        let worker = worker_name(&self.settings.name, pilot);
        if pilot.has_joined || worker_of(&worker).is_some() {
            return None;
        }
        let shape = pilot.shape(&self.settings);
        if pilot.is_pending() {
            if self.is_limited(pilot) {
                return None;
            }
            let (waits, age) = self.state.waits_of_pending(pilot, &self.settings, now);
            return PilotArrival::of_pending(worker, shape, (&waits, age), self.joining());
        }
        let ran = now.since(pilot.started_here()?).max(Span::ZERO);
        let rest = PilotShape {
            time: shape.time - ran,
            ..shape
        };
        (ran < JOINING).then(|| PilotArrival::of_started(worker, rest, self.joining()))?
    }

    /// Returns whether a pilot waits until others of its user have ended. When that is, the waits of other jobs do not say.
    fn is_limited(&self, pilot: &PilotRecord) -> bool {
        let is_limit = self.settings.engine.is_limit_of_user(&pilot.reason);
        pilot.is_pending() && is_limit
    }

    /// Asks the watch of the queue about the pilots of the site, and takes on what it has found. It looks often while pilots are
    /// awaited, or work waits.
    ///
    /// # Errors
    /// An error if a file of the site cannot be used.
    pub fn consult(&mut self, watch: &QueueWatch, has_work: bool) -> Result<(), SiteError> {
        let pilots = self.state.pilots.iter().filter(|pilot| pilot.is_pending());
        let pending = pilots.filter_map(|pilot| {
            let key = queue_key(self.settings.engine, pilot.id?);
            Some((key, pilot.shape(&self.settings)))
        });
        let pending: Vec<(SeenJobKey, PilotShape)> = pending.collect();
        let is_urgent = has_work || !pending.is_empty();
        let found = watch.query(
            PilotQuestions {
                user: String::new(),
                queue: self.settings.arguments()?.queue.unwrap_or_default(),
                shapes: self
                    .settings
                    .kinds()
                    .iter()
                    .map(|form| form.shape)
                    .collect(),
                pending,
            },
            is_urgent,
        );
        for note in found.notes {
            self.journal.log(note)?;
        }
        self.state.outlook = found.outlook.map(|(outlook, age)| SiteOutlook {
            at: (self.clock)() - age,
            outlook,
        });
        self.journal.save(&mut self.state)
    }

    /// Returns the names of the workers of the pilots that run and have joined.
    pub fn joined_workers(&self) -> impl Iterator<Item = String> {
        let pilots = self.state.pilots.iter();
        let joined = pilots.filter(|pilot| pilot.phase == PilotPhase::Runs && pilot.has_joined);
        joined.map(|pilot| worker_name(&self.settings.name, pilot))
    }

    /// Returns how often the engine ends pilots before their time.
    pub fn hazard(&self) -> PilotHazard {
        self.state.preemptions((self.clock)())
    }

    /// Returns the time from its start within which a pilot is counted on to join.
    fn joining(&self) -> Span {
        self.state.joining().max(LEAST_JOINING)
    }
}
