//! A batch system with EASY backfilling: the jobs of others and the pilots.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::vec::IntoIter;

use tollgate_beside::{QueueObservation, QueueSight, SeenJob, SeenJobKey, SeenPhase};
use tollgate_gate::{Effect, Gate, GateInput, InputAck, OnEviction, Simulation, WorkerId};
use tollgate_model::{HostTerms, Instant, JobId, JobSpec, Market, Sla, Span, UserId};
use tollgate_policies::builtin_registry;
use tollgate_provisioning::PilotShape;

use super::config::{OtherJob, QueueConfig};

/// The user of the pilots; the others are one user, because EASY does not ask.
pub(super) const OWN: UserId = UserId(0);
const OTHERS: UserId = UserId(1);

/// A change of a pilot, by its number at the site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PilotChange {
    /// The pilot runs from now on.
    Started(u32),
    /// The pilot has reached its time limit, or was ended.
    Ended(u32),
}

/// The queue of a site.
#[derive(Debug)]
pub(super) struct BatchQueue {
    simulation: Simulation,
    arrivals: Peekable<IntoIter<OtherJob>>,
    run_times: BTreeMap<JobId, Span>,
    /// The pilots that wait or run, by job and by number.
    pilots: BTreeMap<JobId, u32>,
    jobs: BTreeMap<u32, JobId>,
    /// The jobs that wait or run, as the batch system shows them.
    shown: BTreeMap<JobId, SeenJob>,
    /// Those that have changed since they were last looked at.
    changed: BTreeMap<JobId, SeenJob>,
}

impl BatchQueue {
    /// Creates the queue before the first job.
    pub(super) fn new(config: &QueueConfig) -> Self {
        let policy = builtin_registry()
            .named("easy")
            .expect("a registered policy");
        let mut gate = Gate::new(policy.build(Market::None), Market::None);
        gate.omit_reservations();
        let mut simulation = Simulation::new(gate);
        let nodes = GateInput::WorkerUp {
            worker: WorkerId(0),
            incarnation: 1,
            nodes: config.procs,
            memory: None,
            terms: HostTerms::default(),
            in_use: None,
        };
        let up = simulation.handle(Instant::ZERO, nodes);
        debug_assert!(up.is_ok(), "a new worker: {up:?}");
        Self {
            simulation,
            arrivals: config.others.clone().into_iter().peekable(),
            run_times: BTreeMap::new(),
            pilots: BTreeMap::new(),
            jobs: BTreeMap::new(),
            shown: BTreeMap::new(),
            changed: BTreeMap::new(),
        }
    }

    /// Returns what has changed since the last call, as a user of the batch system sees it.
    pub(super) fn observe(&mut self, now: Instant) -> QueueObservation {
        QueueObservation {
            at: now,
            sight: QueueSight::AllJobs,
            jobs: std::mem::take(&mut self.changed).into_values().collect(),
            gone: Vec::new(),
            absent: Vec::new(),
        }
    }

    /// Returns the name of a pilot's job. None if the queue does not have it.
    pub(super) fn key(&self, pilot: u32) -> Option<SeenJobKey> {
        let shown = self.shown.get(self.jobs.get(&pilot)?)?;
        Some(shown.key.clone())
    }

    /// Returns the instant of the next arrival or end.
    pub(super) fn next_event(&mut self) -> Option<Instant> {
        let arrival = self.arrivals.peek().map(|job| job.submit);
        arrival
            .into_iter()
            .chain(self.simulation.next_event())
            .min()
    }

    /// Lets jobs end and arrive, and starts what can start.
    pub(super) fn advance(&mut self, now: Instant, changes: &mut Vec<PilotChange>) {
        loop {
            let run_times = |job: JobId| self.run_times[&job];
            if self.simulation.complete_next(now, &run_times).is_none() {
                break;
            }
            self.apply_effects(now, changes);
        }
        while let Some(job) = self.arrivals.next_if(|job| job.submit <= now) {
            self.enter(now, (job.procs, job.limit, job.runtime), OTHERS);
        }
        self.settle(now, changes);
    }

    /// Submits a pilot.
    pub(super) fn submit(&mut self, now: Instant, pilot: u32, shape: PilotShape) {
        let PilotShape { cores, time } = shape;
        if let Some(job) = self.enter(now, (cores, time, time), OWN) {
            self.pilots.insert(job, pilot);
            self.jobs.insert(pilot, job);
        }
    }

    /// Cancels a pilot that waits, or ends one that runs.
    pub(super) fn remove(&mut self, now: Instant, pilot: u32) {
        let Some(&job) = self.jobs.get(&pilot) else {
            return;
        };
        let view = self.simulation.gate().view(now);
        let slot = view.job(job);
        let input = match slot.start {
            Some(_) => GateInput::Ended {
                job,
                attempt: slot.attempt,
            },
            None => GateInput::Cancel { job },
        };
        self.input(now, input);
    }

    /// Starts what can start, after all submissions of an instant.
    pub(super) fn settle(&mut self, now: Instant, changes: &mut Vec<PilotChange>) {
        self.apply_effects(now, changes);
        self.simulation.run_pass(now);
        self.apply_effects(now, changes);
    }

    fn enter(
        &mut self,
        now: Instant,
        (procs, limit, runtime): (u32, Span, Span),
        user: UserId,
    ) -> Option<JobId> {
        let spec = JobSpec {
            submit: now,
            estimate: limit,
            procs,
            memory: 0,
            needs: Default::default(),
            restarts: 0,
            user,
            sla: Sla::default(),
        };
        let submitted = GateInput::Submitted {
            spec,
            on_eviction: OnEviction::Fail,
            forecast: None,
        };
        match self.input(now, submitted) {
            Some(InputAck::Job(job)) => {
                self.run_times.insert(job, runtime);
                let seen = shown(job, user, (procs, limit), now);
                self.changed.insert(job, seen.clone());
                self.shown.insert(job, seen);
                Some(job)
            }
            Some(InputAck::Done | InputAck::Nodes(_)) | None => None,
        }
    }

    fn input(&mut self, now: Instant, input: GateInput) -> Option<InputAck> {
        let answer = self.simulation.handle(now, input);
        debug_assert!(answer.is_ok(), "the world reports what is true: {answer:?}");
        answer.ok()
    }

    fn apply_effects(&mut self, now: Instant, changes: &mut Vec<PilotChange>) {
        loop {
            let run_times = |job: JobId| self.run_times[&job];
            let Some(effect) = self.simulation.next_effect(now, &run_times) else {
                return;
            };
            match effect {
                Effect::Start { job, .. } => {
                    if let Some(seen) = self.shown.get_mut(&job) {
                        (seen.phase, seen.started) = (SeenPhase::Runs, Some(now));
                        self.changed.insert(job, seen.clone());
                    }
                    let pilot = self.pilots.get(&job);
                    changes.extend(pilot.map(|pilot| PilotChange::Started(*pilot)));
                }
                Effect::Closed { job, .. } => {
                    if let Some(seen) = self.shown.remove(&job) {
                        let (phase, ended) = (SeenPhase::Over, Some(now));
                        self.changed.insert(
                            job,
                            SeenJob {
                                phase,
                                ended,
                                ..seen
                            },
                        );
                    }
                    if let Some(pilot) = self.pilots.remove(&job) {
                        self.jobs.remove(&pilot);
                        changes.push(PilotChange::Ended(pilot));
                    }
                }
                Effect::Notify { .. }
                | Effect::SharesChanged { .. }
                | Effect::GroupParted { .. }
                | Effect::Split { .. }
                | Effect::Kill { .. }
                | Effect::Book { .. } => {}
            }
        }
    }
}

/// Returns a job that has just been submitted, as the batch system shows it.
fn shown(job: JobId, user: UserId, (procs, limit): (u32, Span), now: Instant) -> SeenJob {
    SeenJob {
        key: SeenJobKey(job.0.to_string()),
        user: user.0.to_string(),
        queue: String::new(),
        procs,
        limit: Some(limit),
        submitted: now,
        eligible: None,
        started: None,
        ended: None,
        phase: SeenPhase::Waits,
        reason: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn shape(cores: u32, secs: i64) -> PilotShape {
        PilotShape {
            cores,
            time: Span::from_secs(secs),
        }
    }

    fn at(secs: i64) -> Instant {
        Instant::from_secs(secs)
    }

    fn other(submit: i64, procs: u32, runtime: i64) -> OtherJob {
        OtherJob {
            submit: at(submit),
            procs,
            runtime: Span::from_secs(runtime),
            limit: Span::from_secs(2 * runtime),
        }
    }

    /// Runs the queue to the end; returns the changes of pilots with their instants.
    fn changes(queue: &mut BatchQueue, until: i64) -> Vec<(i64, PilotChange)> {
        let mut found = Vec::new();
        while let Some(now) = queue.next_event().filter(|now| *now <= at(until)) {
            let mut changes = Vec::new();
            queue.advance(now, &mut changes);
            let secs = now.since(Instant::ZERO).as_secs_f64() as i64;
            found.extend(changes.into_iter().map(|change| (secs, change)));
        }
        found
    }

    #[test]
    fn pilots_are_backfilled_among_the_jobs_of_others() {
        let config = QueueConfig {
            procs: 4,
            others: vec![other(0, 3, 50), other(0, 4, 10)],
        };
        let mut queue = BatchQueue::new(&config);
        let mut now = Vec::new();
        queue.advance(at(0), &mut now);
        // A short pilot ends before the wide job could start, a long one would delay it.
        queue.submit(at(0), 1, shape(1, 200));
        queue.submit(at(0), 2, shape(1, 40));
        queue.settle(at(0), &mut now);
        assert_eq!(now, [PilotChange::Started(2)]);
        assert_eq!(
            changes(&mut queue, 1000),
            [
                (40, PilotChange::Ended(2)),
                (60, PilotChange::Started(1)),
                (260, PilotChange::Ended(1)),
            ]
        );
    }

    #[test]
    fn pilots_leave_the_queue_and_free_their_cores() {
        let config = QueueConfig {
            procs: 2,
            others: vec![other(10, 2, 5)],
        };
        let mut queue = BatchQueue::new(&config);
        let mut now = Vec::new();
        queue.submit(at(0), 1, shape(2, 100));
        queue.submit(at(0), 2, shape(2, 100));
        queue.settle(at(0), &mut now);
        queue.remove(at(1), 2);
        queue.settle(at(1), &mut now);
        assert_eq!(now, [PilotChange::Started(1), PilotChange::Ended(2)]);
        assert_eq!(changes(&mut queue, 15), []);
        now.clear();
        queue.remove(at(20), 1);
        queue.settle(at(20), &mut now);
        assert_eq!(now, [PilotChange::Ended(1)]);
        // The job of the other user has run from 20 to 25.
        assert_eq!(queue.next_event(), Some(at(25)));
    }
}
