//! A simulated cluster under `plan`, and its jobs.

use std::cell::Cell;
use tollgate_gate::{
    Effect, Gate, GateInput, InputAck, JobEnding, Notice, OnEviction, RunTimes, Simulation,
    WorkerId,
};
use tollgate_model::distribution::N_LEVELS;
use tollgate_model::outcome::RunInterval;
use tollgate_model::{
    Distribution, HostNameIndex, HostTerms, Instant, JobId, JobSpec, Kinship, Market, NodeRange,
    PlacementNeeds, Reason, RuntimeBelief, Sla, Span, UserId,
};
use tollgate_policies::builtin_registry;
use tollgate_policy::{HeldDevices, OutlookSubject};

/// A cluster under `plan`, with the true run times of its jobs.
pub(crate) struct Cluster {
    pub(crate) simulation: Simulation,
    pub(crate) now: Instant,
    /// By slot: the submission, and the run time once it is known.
    pub(crate) slots: Vec<(usize, Cell<Option<Span>>)>,
    /// By submission: the run time, and the number of its jobs that have started.
    pub(crate) submissions: Vec<(Span, Cell<u32>)>,
    /// By how much each job of an array runs longer than the one that started before; five in turn.
    pub(crate) longer: Span,
    /// Whether the policy knows of the jobs of an array that they are tasks of one batch.
    pub(crate) arrays_are_batches: bool,
    pub(crate) promised: Vec<JobId>,
    pub(crate) rejected: Vec<(JobId, Reason)>,
    /// (job, nodes, devices) of each start.
    pub(crate) started: Vec<(JobId, Vec<NodeRange>, Vec<u32>)>,
    /// (submission, start) of each start.
    pub(crate) starts: Vec<(usize, Instant)>,
    /// (end, deadline, nodes) of each job that finished.
    pub(crate) finished: Vec<FinishedJob>,
    /// (job, end).
    pub(crate) ended: Vec<(JobId, Instant)>,
    /// The job that was submitted last.
    pub(crate) last: JobId,
}

/// A job that has finished.
pub(crate) struct FinishedJob {
    pub(crate) end: Instant,
    /// The deadline, if it was promised.
    pub(crate) due: Option<Instant>,
    /// The name of the host for which it asked.
    pub(crate) host: Option<HostNameIndex>,
    /// The nodes on which it ran.
    pub(crate) nodes: Vec<NodeRange>,
}

/// A job that is submitted now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub(crate) procs: u32,
    pub(crate) run_s: i64,
    pub(crate) estimate_s: i64,
    pub(crate) deadline_s: Option<i64>,
    pub(crate) needs: PlacementNeeds,
    pub(crate) user: u32,
}

impl Cluster {
    pub(crate) fn new(policy: &str, nodes: u32) -> Self {
        Self::with_hosts(policy, &[(nodes, HostTerms::default())])
    }

    /// Creates a cluster of hosts, each with its nodes and terms.
    pub(crate) fn with_hosts(policy: &str, hosts: &[(u32, HostTerms)]) -> Self {
        let policy = builtin_registry().parse_list(policy).unwrap().remove(0);
        let mut gate = Gate::new(policy.build(Market::None), Market::None);
        gate.enable_checks();
        let mut simulation = Simulation::new(gate);
        for (worker, &(nodes, terms)) in (0..).map(WorkerId).zip(hosts) {
            let up = GateInput::WorkerUp {
                worker,
                incarnation: 1,
                nodes,
                memory: None,
                terms,
                in_use: None,
            };
            simulation.handle(Instant::ZERO, up).unwrap();
        }
        Self {
            simulation,
            now: Instant::ZERO,
            slots: Vec::new(),
            submissions: Vec::new(),
            longer: Span::ZERO,
            arrays_are_batches: false,
            starts: Vec::new(),
            promised: Vec::new(),
            rejected: Vec::new(),
            started: Vec::new(),
            finished: Vec::new(),
            ended: Vec::new(),
            last: JobId(u32::MAX),
        }
    }

    pub(crate) fn spec(&self, job: Job) -> JobSpec {
        JobSpec {
            restarts: 0,
            submit: self.now,
            estimate: Span::from_secs(job.estimate_s),
            procs: job.procs,
            memory: 0,
            needs: job.needs,
            user: UserId(job.user),
            sla: Sla {
                deadline: job.deadline_s.map(Span::from_secs),
                ..Sla::default()
            },
        }
    }

    /// Submits a job and returns whether it was promised at once.
    pub(crate) fn submit(&mut self, job: Job) -> bool {
        self.submit_with(job, None)
    }

    /// Submits a job whose run time is known exactly.
    pub(crate) fn submit_surely(&mut self, job: Job) -> bool {
        self.submit_with(job, Some(surely(job.run_s)))
    }

    /// Returns the median of the starts of a job, whose run time is known exactly, if it were submitted now.
    pub(crate) fn expected_start(&self, job: Job) -> Instant {
        let starts = self.possible_starts_of_new(job);
        starts[starts.len() / 2]
    }

    /// Returns the starts of a job, whose run time is known exactly, in all futures, sorted, if it were submitted now.
    pub(crate) fn possible_starts_of_new(&self, job: Job) -> Vec<Instant> {
        let (spec, forecast) = (self.spec(job), surely(job.run_s));
        self.possible_starts(OutlookSubject::New((&spec, Some(&forecast)), 1, None))
    }

    /// Returns the first starts of some jobs in all futures, sorted.
    pub(crate) fn possible_starts(&self, subject: OutlookSubject<'_>) -> Vec<Instant> {
        let runs = self.possible_runs(subject);
        let mut starts: Vec<Instant> = runs.iter().map(|run| run.start).collect();
        starts.sort_unstable();
        starts
    }

    /// Returns the first start and the last end of some jobs in each future.
    pub(crate) fn possible_runs(&self, subject: OutlookSubject<'_>) -> Vec<RunInterval> {
        let gate = self.simulation.gate();
        let runs = gate.possible_runs(self.now, subject, None);
        runs.expect("futures").runs
    }

    pub(crate) fn submit_with(&mut self, job: Job, forecast: Option<Distribution>) -> bool {
        let input = GateInput::Submitted {
            spec: self.spec(job),
            on_eviction: OnEviction::Fail,
            forecast: forecast.map(Into::into),
        };
        self.submit_input(job, input)
    }

    pub(crate) fn submit_input(&mut self, job: Job, input: GateInput) -> bool {
        let before = self.promised.len();
        let Ok(InputAck::Job(id)) = self.simulation.handle(self.now, input) else {
            panic!("well-formed");
        };
        self.last = id;
        self.simulation.note_request(self.now, &self.spec(job), 1);
        self.learn_run_time(id, job);
        self.take_effects();
        self.promised.len() > before
    }

    /// Submits jobs together and returns the number that were promised at once.
    pub(crate) fn submit_array(&mut self, job: Job, count: u32) -> usize {
        self.submit_array_with(job, count, None)
    }

    /// Submits jobs together whose run times are known exactly.
    pub(crate) fn submit_array_surely(&mut self, job: Job, count: u32) -> usize {
        self.submit_array_with(job, count, Some(surely(job.run_s)))
    }

    pub(crate) fn submit_array_with(
        &mut self,
        job: Job,
        count: u32,
        forecast: Option<Distribution>,
    ) -> usize {
        let spec = self.spec(job);
        let as_batch = || RuntimeBelief {
            distribution: forecast.unwrap_or_else(|| Distribution::of_request(spec.estimate)),
            kinship: Some(Kinship {
                batch: self.submissions.len() as u64,
                ..Kinship::default()
            }),
        };
        let input = GateInput::SubmittedArray {
            spec,
            count,
            on_eviction: OnEviction::Fail,
            forecast: match self.arrays_are_batches {
                true => Some(as_batch()),
                false => forecast.map(Into::into),
            },
        };
        let before = self.promised.len();
        let Ok(InputAck::Job(id)) = self.simulation.handle(self.now, input) else {
            panic!("well-formed");
        };
        self.last = id;
        self.learn_run_time(id, job);
        self.take_effects();
        self.promised.len() - before
    }

    /// Gives each job of the group that was submitted last a slot of its own.
    pub(crate) fn split_last(&mut self) {
        let group = self.last;
        for _ in 1..self.simulation.gate().view(self.now).job(group).count {
            let input = GateInput::Split {
                job: group,
                first: 1,
            };
            let Ok(InputAck::Job(job)) = self.simulation.handle(self.now, input) else {
                panic!("the group has more jobs");
            };
            self.note_split(group, job);
        }
    }

    /// Notes that the first job of a group has a slot of its own.
    pub(crate) fn note_split(&mut self, group: JobId, job: JobId) {
        let (submission, _) = self.slots[group.index()];
        self.set_submission(job, submission);
        let promised = self.promised.iter_mut().find(|id| **id == group);
        if let Some(promised) = promised {
            *promised = job;
        }
    }

    pub(crate) fn learn_run_time(&mut self, id: JobId, job: Job) {
        self.submissions
            .push((Span::from_secs(job.run_s), Cell::new(0)));
        self.set_submission(id, self.submissions.len() - 1);
    }

    /// Slots are recycled, and a job's run time is looked up by its slot.
    pub(crate) fn set_submission(&mut self, id: JobId, submission: usize) {
        let least = self.slots.len().max(id.index() + 1);
        self.slots.resize(least, (usize::MAX, Cell::new(None)));
        self.slots[id.index()] = (submission, Cell::new(None));
    }

    pub(crate) fn next_effect(&mut self) -> Option<Effect> {
        let run_times = SlotRunTimes {
            slots: &self.slots,
            submissions: &self.submissions,
            longer: self.longer,
        };
        self.simulation.next_effect(self.now, &run_times)
    }

    pub(crate) fn complete_next(&mut self) -> Option<JobId> {
        let run_times = SlotRunTimes {
            slots: &self.slots,
            submissions: &self.submissions,
            longer: self.longer,
        };
        self.simulation.complete_next(self.now, &run_times)
    }

    pub(crate) fn take_effects(&mut self) {
        while let Some(effect) = self.next_effect() {
            match effect {
                Effect::Notify {
                    job,
                    notice: Notice::Accepted { .. } | Notice::Promised { .. },
                } => {
                    let count = self.simulation.gate().view(self.now).job(job).count;
                    self.promised.extend((0..count).map(|_| job));
                }
                Effect::Split { group, job } => self.note_split(group, job),
                Effect::Notify {
                    job,
                    notice: Notice::Rejected(reason),
                } => self.rejected.push((job, reason)),
                Effect::Closed {
                    job,
                    ending: JobEnding::Finished,
                } => {
                    self.ended.push((job, self.now));
                    let slot = self.simulation.gate().view(self.now).job(job).clone();
                    self.finished.push(FinishedJob {
                        end: self.now,
                        due: slot.spec.due().filter(|_| slot.is_promised()),
                        host: slot.spec.needs.host,
                        nodes: slot.placement().to_vec(),
                    });
                }
                Effect::Start { job, .. } => {
                    let slot = self.simulation.gate().view(self.now).job(job).clone();
                    let devices = slot.devices().iter();
                    let devices = devices.flat_map(HeldDevices::numbers).collect();
                    self.started.push((job, slot.placement().to_vec(), devices));
                    self.starts.push((self.slots[job.index()].0, self.now));
                }
                Effect::Notify {
                    notice: Notice::Queued | Notice::Unpromised { .. },
                    ..
                }
                | Effect::SharesChanged { .. }
                | Effect::GroupParted { .. }
                | Effect::Kill { .. }
                | Effect::Book { .. }
                | Effect::Closed { .. } => {}
            }
        }
    }

    pub(crate) fn pass(&mut self) {
        self.simulation.run_pass(self.now);
        self.take_effects();
    }

    /// Runs until nothing happens any more.
    pub(crate) fn run(&mut self) {
        self.run_until(Instant::MAX);
    }

    pub(crate) fn run_until(&mut self, end: Instant) {
        self.pass();
        while let Some(next) = self.simulation.next_event().filter(|&next| next <= end) {
            self.now = next;
            while self.complete_next().is_some() {
                self.take_effects();
            }
            self.simulation.handle(next, GateInput::Tick).unwrap();
            self.take_effects();
            self.pass();
        }
        self.simulation.gate().check(self.now).unwrap();
    }

    pub(crate) fn end_s(&self, job: JobId) -> i64 {
        let (_, end) = self.ended.iter().find(|(id, _)| *id == job).unwrap();
        end.as_micros() / 1_000_000
    }
}

/// The true run times.
pub(crate) struct SlotRunTimes<'a> {
    pub(crate) slots: &'a [(usize, Cell<Option<Span>>)],
    pub(crate) submissions: &'a [(Span, Cell<u32>)],
    pub(crate) longer: Span,
}

impl RunTimes for SlotRunTimes<'_> {
    fn run_time(&self, job: JobId, _: Instant) -> Option<Span> {
        let (submission, known) = &self.slots[job.index()];
        let run_time = known.get().unwrap_or_else(|| {
            let (least, n_started) = &self.submissions[*submission];
            let nth = n_started.replace(n_started.get() + 1);
            *least + self.longer.times(nth % 5)
        });
        known.set(Some(run_time));
        Some(run_time)
    }
}

pub(crate) fn job(procs: u32, run_s: i64, deadline_s: i64) -> Job {
    Job {
        procs,
        run_s,
        estimate_s: run_s,
        deadline_s: Some(deadline_s),
        needs: PlacementNeeds::default(),
        user: 0,
    }
}

/// A forecast with every quantile at this many seconds.
pub(crate) fn surely(secs: i64) -> Distribution {
    Distribution::new([Span::from_secs(secs); N_LEVELS])
}
