//! The jobs that are not over.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use tollgate_forecast::ClassId;
use tollgate_model::{Distribution, Instant, JobId, JobSpec, Span};

use super::array::ActiveArray;
use super::command::{Submission, TaskAttemptKey, TaskKey};
use super::dependency::DeferredJob;
use super::runtime_forecast::RuntimeForecast;

/// What the service knows of a task that is before the gate, beside what the gate knows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ActiveTask {
    /// Where the gate keeps it.
    pub slot: JobId,
    /// Whose it is.
    pub user: u32,
    /// When it was handed in.
    pub submitted: Instant,
    /// What was decided on, and when, in the user's credits.
    pub spec: JobSpec,
    /// What was forecast of it at its submission.
    pub forecast: RuntimeForecast,
    /// Jobs that behave alike.
    class: ClassId,
    /// What its user said it takes.
    user_estimate: Option<Span>,
    /// Which try is under way, or was last; 0 before the first.
    pub attempt: u32,
    /// What the gate calls that try.
    pub(super) gate_attempt: u32,
    /// When that try was started, if it is under way.
    pub started: Option<Instant>,
    /// If it is a quote that nobody has taken up yet: when it lapses. Nothing of it runs, though the
    /// gate may have nodes for it.
    pub reserved_until: Option<Instant>,
    /// How its last try ended, as a shell says it.
    pub(super) exit_code: Option<u8>,
    /// Whether its user holds it back.
    pub(super) held: bool,
}

impl ActiveTask {
    pub(super) fn new(
        submission: &Submission,
        asked: tollgate_forecast::ForecastJob,
        forecast: RuntimeForecast,
        spec: JobSpec,
    ) -> Self {
        Self {
            slot: JobId(u32::MAX),
            user: submission.user,
            submitted: submission.options.submitted.unwrap_or(spec.submit),
            spec,
            forecast,
            class: asked.class,
            user_estimate: asked.request,
            attempt: 0,
            gate_attempt: 0,
            started: None,
            reserved_until: None,
            exit_code: None,
            held: false,
        }
    }

    /// Whether the gate has given it nodes.
    pub fn has_nodes(&self) -> bool {
        self.started.is_some()
    }

    /// Whether an attempt at it is under way.
    pub fn is_running(&self) -> bool {
        self.has_nodes() && self.reserved_until.is_none()
    }

    /// How long it takes, with probabilities, given how long it has run.
    pub fn distribution(&self, now: Instant) -> Distribution {
        let (whole, _) = self.forecast.distribution(self.spec.estimate);
        match self.started {
            Some(started) if self.is_running() => whole.given_survived(now.since(started)),
            Some(_) | None => whole,
        }
    }

    pub(super) fn forecast_features(&self) -> tollgate_forecast::ForecastJob {
        tollgate_forecast::ForecastJob {
            class: self.class,
            procs: self.spec.procs,
            request: self.user_estimate,
            context: tollgate_forecast::JobAttributes::default(),
        }
    }

    pub(super) fn attempt_key(&self, task: TaskKey) -> TaskAttemptKey {
        TaskAttemptKey {
            job: task.job,
            task: task.task,
            attempt: self.attempt,
        }
    }

    /// Whether that is the try that is under way.
    pub(super) fn is_current_attempt(&self, key: TaskAttemptKey) -> bool {
        self.is_running() && self.attempt == key.attempt
    }

    /// Whether its last try ended with exit code 0.
    pub(super) fn succeeded(&self) -> bool {
        self.exit_code == Some(0)
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

/// All of them, by name and by slot.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct JobTable {
    active: BTreeMap<TaskKey, ActiveTask>,
    /// The task in each slot of the gate.
    slots: BTreeMap<JobId, TaskKey>,
    /// Quotes that are held, by when they lapse.
    reservations: BTreeSet<(Instant, u64)>,
    /// The number that was given last.
    last_number: u64,
    /// Arrays with tasks that are not over.
    pub(super) arrays: BTreeMap<u64, ActiveArray>,
    /// Jobs that the gate was not asked about yet.
    pub(super) deferred: BTreeMap<u64, DeferredJob>,
    /// Which jobs each job is waited for by: pairs of the earlier and the later.
    pub(super) dependents: BTreeSet<(u64, u64)>,
}

impl JobTable {
    /// A number that no job ever had.
    pub(super) fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    pub(super) fn insert(&mut self, task: TaskKey, slot: JobId, live: ActiveTask) {
        self.slots.insert(slot, task);
        self.reservations
            .extend(live.reserved_until.map(|lapses| (lapses, task.job)));
        self.active.insert(task, ActiveTask { slot, ..live });
        if let Some(array) = self.arrays.get_mut(&task.job) {
            array.before_gate += 1;
        }
    }

    /// A quote is a job from now on. None if it was no quote.
    pub(super) fn claim(&mut self, job: u64) -> Option<&mut ActiveTask> {
        let live = self.active.get_mut(&job.into())?;
        let lapses = live.reserved_until.take()?;
        self.reservations.remove(&(lapses, job));
        Some(live)
    }

    /// The quote that lapses next, and when.
    pub(super) fn next_expiry(&self) -> Option<(Instant, u64)> {
        self.reservations.first().copied()
    }

    /// How many quotes a user holds.
    pub(super) fn n_reservations(&self, user: u32) -> usize {
        let held = self.reservations.iter();
        let held = held.filter_map(|&(_, job)| self.active.get(&job.into()));
        held.filter(|live| live.user == user).count()
    }

    pub(super) fn remove(&mut self, slot: JobId) -> Option<(TaskKey, ActiveTask)> {
        let task = self.slots.remove(&slot)?;
        let live = self.active.remove(&task)?;
        if let Some(lapses) = live.reserved_until {
            self.reservations.remove(&(lapses, task.job));
        }
        if let Some(array) = self.arrays.get_mut(&task.job) {
            array.remove_from_gate(&live);
        }
        Some((task, live))
    }

    pub(super) fn get(&self, task: impl Into<TaskKey>) -> Option<&ActiveTask> {
        self.active.get(&task.into())
    }

    pub(super) fn get_mut(&mut self, task: TaskKey) -> Option<&mut ActiveTask> {
        self.active.get_mut(&task)
    }

    pub(super) fn by_slot(&self, slot: JobId) -> Option<(TaskKey, &ActiveTask)> {
        let task = *self.slots.get(&slot)?;
        Some((task, self.active.get(&task)?))
    }

    pub(super) fn by_slot_mut(&mut self, slot: JobId) -> Option<(TaskKey, &mut ActiveTask)> {
        let task = *self.slots.get(&slot)?;
        Some((task, self.active.get_mut(&task)?))
    }

    /// The task in a slot, and the array that it is of, if it is of one.
    pub(super) fn with_array(
        &mut self,
        slot: JobId,
    ) -> Option<(TaskKey, &mut ActiveTask, Option<&mut ActiveArray>)> {
        let task = *self.slots.get(&slot)?;
        let live = self.active.get_mut(&task)?;
        Some((task, live, self.arrays.get_mut(&task.job)))
    }

    /// Every task that is before the gate.
    pub(super) fn iter(&self) -> impl Iterator<Item = (TaskKey, &ActiveTask)> {
        self.active.iter().map(|(&task, live)| (task, live))
    }

    /// The tasks of a job that are before the gate.
    pub(super) fn tasks_of(&self, job: u64) -> impl Iterator<Item = (TaskKey, &ActiveTask)> {
        let all = TaskKey { job, task: 0 }..=TaskKey {
            job,
            task: u32::MAX,
        };
        self.active.range(all).map(|(&task, live)| (task, live))
    }

    /// Whose a job is that is not over.
    pub(super) fn user_of(&self, job: u64) -> Option<u32> {
        let waits = || Some(self.deferred.get(&job)?.submission.user);
        let array = || Some(self.arrays.get(&job)?.submission.user);
        let live = self.get(job).map(|live| live.user);
        live.or_else(array).or_else(waits)
    }

    /// Every job that is not over: its number, and whose it is.
    pub(super) fn numbers(&self) -> BTreeMap<u64, u32> {
        let live = self.active.iter().map(|(task, live)| (task.job, live.user));
        let arrays = self.arrays.iter();
        let arrays = arrays.map(|(&job, array)| (job, array.submission.user));
        let waiting = self.deferred.iter();
        let waiting = waiting.map(|(&job, waiting)| (job, waiting.submission.user));
        live.chain(arrays).chain(waiting).collect()
    }

    /// How many tasks are not over, whoever's.
    pub(super) fn n_tasks(&self) -> u64 {
        self.pending_tasks().map(|(_, tasks)| tasks).sum::<u64>() + self.active.len() as u64
    }

    /// How many tasks of each user are not over; a user may come up again and again.
    pub(super) fn tasks_of_users(&self) -> impl Iterator<Item = (u32, u64)> {
        let live = self.active.values().map(|live| (live.user, 1));
        live.chain(self.pending_tasks())
    }

    /// Tasks that the gate does not know.
    fn pending_tasks(&self) -> impl Iterator<Item = (u32, u64)> {
        let arrays = self.arrays.values();
        let arrays = arrays.map(|array| (array.submission.user, array.n_pending()));
        let waiting = self.deferred.values();
        arrays.chain(waiting.map(|waiting| (waiting.submission.user, waiting.n_tasks())))
    }
}
