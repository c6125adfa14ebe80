//! The jobs that are not over.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tollgate_forecast::{ClassId, Forecast};
use tollgate_model::{Distribution, Instant, JobId, JobSpec, Span};

use super::command::{AttemptKey, Submission};
use super::expected;

/// What the service knows of a job that is not over, beside what the gate knows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Live {
    /// Where the gate keeps it.
    pub slot: JobId,
    /// Whose it is.
    pub user: u32,
    /// What was decided on, in the user's credits.
    pub spec: JobSpec,
    /// What was forecast of it at its submission.
    pub forecast: Forecast,
    /// Jobs that behave alike.
    class: ClassId,
    /// What its user said it takes.
    request: Option<Span>,
    /// Which try is under way, or was last; 0 before the first.
    pub attempt: u32,
    /// What the gate calls that try.
    pub(super) gate_attempt: u32,
    /// When that try was started, if it is under way.
    pub started: Option<Instant>,
    /// If it is a quote that nobody has taken up yet: when it lapses. Nothing of it runs, though the
    /// gate may have nodes for it.
    pub held: Option<Instant>,
}

impl Live {
    pub(super) fn new(
        submission: &Submission,
        asked: tollgate_forecast::Job,
        forecast: Forecast,
        spec: JobSpec,
    ) -> Self {
        Self {
            slot: JobId(u32::MAX),
            user: submission.user,
            spec,
            forecast,
            class: asked.class,
            request: asked.request,
            attempt: 0,
            gate_attempt: 0,
            started: None,
            held: None,
        }
    }

    /// Whether the gate has given it nodes.
    pub fn has_nodes(&self) -> bool {
        self.started.is_some()
    }

    /// Whether an attempt at it is under way.
    pub fn runs(&self) -> bool {
        self.has_nodes() && self.held.is_none()
    }

    /// How long it takes, with probabilities, given how long it has run.
    pub fn distribution(&self, now: Instant) -> Distribution {
        let (whole, _) = expected::distribution(&self.forecast, self.spec.estimate);
        match self.started {
            Some(started) if self.runs() => whole.given_survived(now.since(started)),
            Some(_) | None => whole,
        }
    }

    pub(super) fn asked(&self) -> tollgate_forecast::Job {
        tollgate_forecast::Job {
            class: self.class,
            procs: self.spec.procs,
            request: self.request,
            context: tollgate_forecast::Context::default(),
        }
    }

    pub(super) fn attempt_key(&self, job: u64) -> AttemptKey {
        AttemptKey {
            job,
            task: 0,
            attempt: self.attempt,
        }
    }

    /// Whether that is the try that is under way.
    pub(super) fn is_at(&self, key: AttemptKey) -> bool {
        self.runs() && self.attempt == key.attempt && key.task == 0
    }

    pub(super) fn start(&mut self, gate_attempt: u32, now: Instant) {
        self.attempt += 1;
        self.gate_attempt = gate_attempt;
        self.started = Some(now);
    }

    pub(super) fn stop(&mut self) {
        self.started = None;
    }
}

/// All of them, by number and by slot.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Jobs {
    live: BTreeMap<u64, Live>,
    /// The number of the job in each slot of the gate.
    slots: BTreeMap<JobId, u64>,
    /// Quotes that are held, by when they lapse.
    holds: BTreeSet<(Instant, u64)>,
    /// The number that was given last.
    last: u64,
}

impl Jobs {
    /// A number that no job ever had.
    pub(super) fn next_number(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    pub(super) fn insert(&mut self, job: u64, slot: JobId, live: Live) {
        self.slots.insert(slot, job);
        self.holds.extend(live.held.map(|lapses| (lapses, job)));
        self.live.insert(job, Live { slot, ..live });
    }

    /// A quote is a job from now on. None if it was no quote.
    pub(super) fn claim(&mut self, job: u64) -> Option<&mut Live> {
        let live = self.live.get_mut(&job)?;
        let lapses = live.held.take()?;
        self.holds.remove(&(lapses, job));
        Some(live)
    }

    /// The quote that lapses next, and when.
    pub(super) fn next_lapse(&self) -> Option<(Instant, u64)> {
        self.holds.first().copied()
    }

    /// How many quotes a user holds.
    pub(super) fn holds_of(&self, user: u32) -> usize {
        let held = self.holds.iter().filter_map(|(_, job)| self.live.get(job));
        held.filter(|live| live.user == user).count()
    }

    pub(super) fn remove(&mut self, slot: JobId) -> Option<u64> {
        let job = self.slots.remove(&slot)?;
        let lapses = self.live.remove(&job).and_then(|live| live.held);
        if let Some(lapses) = lapses {
            self.holds.remove(&(lapses, job));
        }
        Some(job)
    }

    pub(super) fn get(&self, job: u64) -> Option<&Live> {
        self.live.get(&job)
    }

    pub(super) fn at(&self, slot: JobId) -> Option<(u64, &Live)> {
        let job = *self.slots.get(&slot)?;
        Some((job, self.live.get(&job)?))
    }

    pub(super) fn at_mut(&mut self, slot: JobId) -> Option<(u64, &mut Live)> {
        let job = *self.slots.get(&slot)?;
        Some((job, self.live.get_mut(&job)?))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &Live)> {
        self.live.iter().map(|(&job, live)| (job, live))
    }
}
