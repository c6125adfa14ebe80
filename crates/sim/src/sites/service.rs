//! The service of the user: the gate with `plan`, on the pilots that run and those that are expected.

use std::collections::BTreeMap;

use tollgate_gate::{
    Effect, Gate, GateInput, InputAck, JobEnding, Notice, OnEviction, Simulation, WorkerId,
    quotable,
};
use tollgate_model::{
    HostNameIndex, HostTerms, Instant, JobId, JobSpec, Market, NodeRange, Sla, Span, UserId,
};
use tollgate_policies::builtin_registry;
use tollgate_policy::{ExpectedHost, ExpectedHosts, JobPhase, OutlookSubject, StartForecast};
use tollgate_provisioning::{PendingWork, PilotArrival, TaskGroup};

use super::outcome::TaskRecord;
use super::tasks::PilotTask;

/// A pilot by its site and its number there.
pub(super) type PilotKey = (usize, u32);

/// The maximum number of sites.
const MAX_SITES: u32 = 1 << 8;

/// Returns the name of a pilot's host.
fn host_name((site, number): PilotKey) -> HostNameIndex {
    HostNameIndex(
        number
            .wrapping_mul(MAX_SITES)
            .wrapping_add(site as u32 % MAX_SITES),
    )
}

/// The service with its tasks and the pilots that joined it.
#[derive(Debug)]
pub(super) struct UserService {
    simulation: Simulation,
    /// The place of each unfinished task in `records`, and its run time.
    tasks: BTreeMap<JobId, (usize, Span)>,
    /// The tasks in order of submission.
    records: Vec<TaskRecord>,
    joined: BTreeMap<PilotKey, JoinedPilot>,
    /// Workers that have left. A pilot that joins takes the nodes of one of them.
    free: Vec<WorkerId>,
    n_workers: u32,
    incarnation: u32,
    n_done: usize,
}

/// A pilot that has joined.
#[derive(Clone, Copy, Debug)]
struct JoinedPilot {
    worker: WorkerId,
    incarnation: u32,
    nodes: NodeRange,
}

impl UserService {
    /// Creates a service that knows pilots with `cores` cores, and has none.
    pub(super) fn new(cores: u32) -> Self {
        let policy = builtin_registry()
            .named("plan")
            .expect("a registered policy");
        let mut gate = Gate::new(policy.build(Market::None), Market::None);
        gate.omit_reservations();
        let mut service = Self {
            simulation: Simulation::new(gate),
            tasks: BTreeMap::new(),
            records: Vec::new(),
            joined: BTreeMap::new(),
            free: Vec::new(),
            n_workers: 0,
            incarnation: 0,
            n_done: 0,
        };
        // A worker that is away and may come back: so no task is rejected before the first pilot has joined, or because the
        // pilots of the moment are short.
        let away = (usize::MAX, 0);
        service.join(Instant::ZERO, away, (cores, None));
        service.leave(Instant::ZERO, away);
        service.free.clear();
        service
    }

    /// Returns the instant of the next event.
    pub(super) fn next_event(&self) -> Option<Instant> {
        self.simulation.next_event()
    }

    /// Adds a pilot in which tasks run until `closes`. None if that is not known.
    pub(super) fn join(
        &mut self,
        now: Instant,
        pilot: PilotKey,
        (cores, closes): (u32, Option<Instant>),
    ) {
        let worker = self.free.pop().unwrap_or_else(|| {
            self.n_workers += 1;
            WorkerId(self.n_workers - 1)
        });
        self.incarnation += 1;
        let incarnation = self.incarnation;
        let up = GateInput::WorkerUp {
            worker,
            incarnation,
            nodes: cores,
            memory: None,
            terms: HostTerms {
                closes,
                name: Some(host_name(pilot)),
                ..HostTerms::default()
            },
            in_use: None,
        };
        if let Some(InputAck::Nodes(nodes)) = self.input(now, up) {
            let joined = JoinedPilot {
                worker,
                incarnation,
                nodes,
            };
            self.joined.insert(pilot, joined);
        }
    }

    /// Takes on which pilots of a site are expected. Nothing of it counts after `valid_until`.
    pub(super) fn expect(
        &mut self,
        now: Instant,
        (site, pilots): (usize, Vec<(Option<u32>, PilotArrival)>),
        valid_until: Instant,
    ) {
        let hosts = pilots.into_iter().map(|(number, pilot)| ExpectedHost {
            name: number.map(|number| host_name((site, number))),
            nodes: pilot.cores,
            memory: None,
            starts: StartForecast::new(now, pilot.starts),
            stays: pilot.stays,
        });
        let expected = ExpectedHosts {
            valid_until,
            preempted_per_h: 0.0,
            hosts: hosts.collect(),
        };
        let name = site.to_string();
        self.simulation.expect_hosts(now, &name, (expected, &[]));
        self.input(now, GateInput::Tick);
    }

    /// Removes a pilot; tasks that run there are queued again.
    pub(super) fn leave(&mut self, now: Instant, pilot: PilotKey) {
        if let Some(joined) = self.joined.remove(&pilot) {
            let JoinedPilot {
                worker,
                incarnation,
                ..
            } = joined;
            self.input(
                now,
                GateInput::WorkerLost {
                    worker,
                    incarnation,
                },
            );
            self.free.push(worker);
        }
    }

    /// Ends the tasks that are due.
    pub(super) fn complete(&mut self, now: Instant) {
        loop {
            let run_times = |job: JobId| self.tasks[&job].1;
            if self.simulation.complete_next(now, &run_times).is_none() {
                break;
            }
            self.apply_effects(now);
        }
        if self.simulation.gate().is_alarm_due(now) {
            self.input(now, GateInput::Tick);
        }
    }

    /// Submits a task.
    pub(super) fn submit(&mut self, now: Instant, task: &PilotTask) {
        let spec = JobSpec {
            submit: now,
            estimate: task.estimate,
            procs: 1,
            memory: 0,
            needs: Default::default(),
            restarts: u8::MAX,
            user: UserId(0),
            sla: Sla {
                deadline: task.deadline,
                ..Sla::default()
            },
        };
        let submitted = GateInput::Submitted {
            spec,
            on_eviction: OnEviction::Requeue,
            forecast: Some(task.belief.into()),
        };
        let answer = self.simulation.handle(now, submitted);
        debug_assert!(answer.is_ok(), "a task is well-formed: {answer:?}");
        if let Ok(InputAck::Job(job)) = answer {
            self.tasks.insert(job, (self.records.len(), task.runtime));
            self.records.push(TaskRecord::new(now, spec.due()));
        }
        self.apply_effects(now);
    }

    /// Runs a scheduling pass.
    pub(super) fn pass(&mut self, now: Instant) {
        self.simulation.run_pass(now);
        self.apply_effects(now);
    }

    /// Returns the number of idle cores of a pilot. None if it has not joined.
    pub(super) fn idle_cores(&self, now: Instant, pilot: PilotKey) -> Option<u32> {
        let joined = self.joined.get(&pilot)?;
        let view = self.simulation.gate().view(now);
        Some(view.idle_nodes(joined.nodes).count() as u32)
    }

    /// Returns the work as the keeper of pilots sees it.
    pub(super) fn pending_work(&self, now: Instant) -> PendingWork {
        let view = self.simulation.gate().view(now);
        let mut work = PendingWork::default();
        for (id, job) in view.jobs() {
            let past = job.start.map_or(Span::ZERO, |start| now.since(start));
            let group = TaskGroup {
                cores: job.spec.procs,
                run_time: (job.spec.estimate - past).max(Span::ZERO),
                tasks: 1,
                at_once: 1,
                deadline: job.spec.due(),
                is_promised: self.is_promised(id),
            };
            match job.phase {
                JobPhase::Queued => work.waiting.push(group),
                JobPhase::Running => work.running.push(group),
                JobPhase::Vacant | JobPhase::Held | JobPhase::Closed => {}
            }
        }
        work
    }

    /// Returns whether a task has a promise that rests on pilots that have joined.
    fn is_promised(&self, job: JobId) -> bool {
        let task = self.tasks.get(&job);
        let record = task.and_then(|(place, _)| self.records.get(*place));
        record.is_some_and(|record| record.promised.is_some() && !record.on_expected)
    }

    /// Returns whether a task with a deadline waits and no pilot has joined.
    pub(super) fn is_without_cores(&self, now: Instant) -> bool {
        let view = self.simulation.gate().view(now);
        let waits = || {
            let mut jobs = view.jobs();
            jobs.any(|(_, job)| job.phase == JobPhase::Queued && job.spec.sla.deadline.is_some())
        };
        self.joined.is_empty() && waits()
    }

    /// Returns the number of tasks that are over.
    pub(super) const fn n_done(&self) -> usize {
        self.n_done
    }

    /// Returns what became of the tasks, in order of submission.
    pub(super) fn into_records(self) -> Vec<TaskRecord> {
        self.records
    }

    fn input(&mut self, now: Instant, input: GateInput) -> Option<InputAck> {
        let answer = self.simulation.handle(now, input);
        debug_assert!(answer.is_ok(), "the world reports what is true: {answer:?}");
        self.apply_effects(now);
        answer.ok()
    }

    fn apply_effects(&mut self, now: Instant) {
        loop {
            let run_times = |job: JobId| self.tasks[&job].1;
            let Some(effect) = self.simulation.next_effect(now, &run_times) else {
                return;
            };
            match effect {
                Effect::Notify {
                    job,
                    notice: Notice::Accepted { .. } | Notice::Promised { .. },
                } => self.note_promise(now, job),
                Effect::Notify {
                    job,
                    notice: Notice::Rejected(_),
                } => self.close(job),
                Effect::Closed { job, ending } => {
                    if ending == JobEnding::Finished {
                        let view = self.simulation.gate().view(now);
                        let start = view.job(job).start;
                        let place = self.tasks[&job].0;
                        let record = &mut self.records[place];
                        record.finished = Some(now);
                        record.ran = start.map_or(Span::ZERO, |start| now.since(start));
                    }
                    self.close(job);
                }
                Effect::Notify {
                    notice: Notice::Queued | Notice::Unpromised { .. },
                    ..
                }
                | Effect::Start { .. }
                | Effect::SharesChanged { .. }
                | Effect::GroupParted { .. }
                | Effect::Split { .. }
                | Effect::Kill { .. }
                | Effect::Book { .. } => {}
            }
        }
    }

    fn close(&mut self, job: JobId) {
        self.n_done += usize::from(self.tasks.remove(&job).is_some());
    }

    /// Notes a promise with the probability that a client would read.
    fn note_promise(&mut self, now: Instant, job: JobId) {
        let gate = self.simulation.gate();
        let Some(due) = gate.view(now).job(job).spec.due() else {
            return;
        };
        let runs = gate.possible_runs(now, OutlookSubject::Existing(&[job]), None);
        let stated = runs.map(|runs| quotable(runs.ended_at(None).probability_by(due)));
        let admission = gate.view(now).job(job).accepted;
        let place = self.tasks[&job].0;
        let record = &mut self.records[place];
        if record.promised.is_none() {
            record.promised = Some(now);
            record.on_expected = admission.is_some_and(|admission| admission.on_expected);
            record.stated = stated.map_or(0.0, |stated| stated.as_f64());
        }
    }
}
