//! What the policy `plan` promises, and that it keeps it, in a simulated cluster.

use std::cell::Cell;

use proptest::prelude::*;
use tollgate_gate::{
    AdmissionDecision, Effect, Gate, GateInput, InputAck, JobEnding, Notice, OnEviction, RunTimes,
    Simulation, WorkerId,
};
use tollgate_model::belief::N_CORRELATIONS;
use tollgate_model::distribution::N_LEVELS;
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
    slots: Vec<(usize, Cell<Option<Span>>)>,
    /// By submission: the run time, and the number of its jobs that have started.
    submissions: Vec<(Span, Cell<u32>)>,
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

    fn spec(&self, job: Job) -> JobSpec {
        JobSpec {
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
        let gate = self.simulation.gate();
        let runs = gate.possible_runs(self.now, subject, None);
        let mut starts: Vec<Instant> = runs.expect("futures").iter().map(|run| run.start).collect();
        starts.sort_unstable();
        starts
    }

    fn submit_with(&mut self, job: Job, forecast: Option<Distribution>) -> bool {
        let input = GateInput::Submitted {
            spec: self.spec(job),
            on_eviction: OnEviction::Fail,
            forecast: forecast.map(Into::into),
        };
        self.submit_input(job, input)
    }

    fn submit_input(&mut self, job: Job, input: GateInput) -> bool {
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

    fn submit_array_with(&mut self, job: Job, count: u32, forecast: Option<Distribution>) -> usize {
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
    fn note_split(&mut self, group: JobId, job: JobId) {
        let (submission, _) = self.slots[group.index()];
        self.set_submission(job, submission);
        let promised = self.promised.iter_mut().find(|id| **id == group);
        if let Some(promised) = promised {
            *promised = job;
        }
    }

    fn learn_run_time(&mut self, id: JobId, job: Job) {
        self.submissions
            .push((Span::from_secs(job.run_s), Cell::new(0)));
        self.set_submission(id, self.submissions.len() - 1);
    }

    /// Slots are recycled, and a job's run time is looked up by its slot.
    fn set_submission(&mut self, id: JobId, submission: usize) {
        let least = self.slots.len().max(id.index() + 1);
        self.slots.resize(least, (usize::MAX, Cell::new(None)));
        self.slots[id.index()] = (submission, Cell::new(None));
    }

    fn next_effect(&mut self) -> Option<Effect> {
        let run_times = SlotRunTimes {
            slots: &self.slots,
            submissions: &self.submissions,
            longer: self.longer,
        };
        self.simulation.next_effect(self.now, &run_times)
    }

    fn complete_next(&mut self) -> Option<JobId> {
        let run_times = SlotRunTimes {
            slots: &self.slots,
            submissions: &self.submissions,
            longer: self.longer,
        };
        self.simulation.complete_next(self.now, &run_times)
    }

    fn take_effects(&mut self) {
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
struct SlotRunTimes<'a> {
    slots: &'a [(usize, Cell<Option<Span>>)],
    submissions: &'a [(Span, Cell<u32>)],
    longer: Span,
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

#[test]
fn of_twenty_equal_jobs_those_are_promised_that_fit() {
    let mut cluster = Cluster::new("plan:otherwise=wait", 2);
    let promised = (0..20)
        .filter(|_| cluster.submit(job(1, 3600, 7200)))
        .count();
    assert_eq!(promised, 4);
    cluster.run();
    assert_eq!(cluster.ended.len(), 4);
    assert!(
        cluster
            .ended
            .iter()
            .all(|(_, end)| *end <= Instant::from_secs(7200))
    );
    assert!(
        cluster
            .rejected
            .iter()
            .all(|(_, reason)| *reason == Reason::NoRoom)
    );
    assert_eq!(cluster.rejected.len(), 16);
}

/// The deviation of twenty equal delays is zero, and so is their risk by the paper's definition.
#[test]
fn mended_risk_test_sees_jobs_that_are_all_late_together() {
    for (policy, promised, kept) in [("libra-risk", 20, 0), ("libra-risk:admission=delay", 4, 4)] {
        let mut cluster = Cluster::new(policy, 2);
        let found = (0..20)
            .filter(|_| cluster.submit(job(1, 3600, 7200)))
            .count();
        assert_eq!(found, promised, "{policy}");
        cluster.run();
        let due = Instant::from_secs(7200);
        let in_time = cluster.ended.iter().filter(|(_, end)| *end <= due);
        assert_eq!(in_time.count(), kept, "{policy}");
    }
}

#[test]
fn five_hundred_tasks_due_tomorrow_are_promised_on_two_processors() {
    let mut cluster = Cluster::new("plan", 2);
    let day = 29 * 3600;
    assert_eq!(cluster.submit_array(job(1, 240, day), 500), 500);
    // A short job that is due in an hour goes first.
    assert!(cluster.submit(job(1, 600, 3600)));
    let short = cluster.last;
    cluster.run();
    assert_eq!(cluster.ended.len(), 501);
    assert!(cluster.end_s(short) <= 3600);
    assert!(
        cluster
            .ended
            .iter()
            .all(|(_, end)| *end <= Instant::from_secs(day))
    );
}

#[test]
fn an_array_is_promised_as_a_whole_or_not() {
    let mut cluster = Cluster::new("plan", 2);
    assert_eq!(cluster.submit_array(job(1, 3600, 7200), 5), 0);
    assert_eq!(cluster.submit_array(job(1, 3600, 7200), 4), 4);
}

#[test]
fn tasks_of_a_waiting_array_are_promised_as_they_fit() {
    let mut cluster = Cluster::new("plan:otherwise=wait", 2);
    // Each asks for 40 minutes, and ends after 10 seconds.
    let task = Job {
        run_s: 10,
        ..job(1, 2400, 3600)
    };
    assert_eq!(cluster.submit_array(task, 5), 0);
    cluster.run();
    assert_eq!((cluster.promised.len(), cluster.ended.len()), (5, 5));
    assert_eq!(cluster.now, Instant::from_secs(30));
}

#[test]
fn a_job_as_wide_as_the_machine_is_promised_among_narrow_ones() {
    let mut cluster = Cluster::new("plan", 64);
    assert_eq!(cluster.submit_array(job(1, 600, 36_000), 400), 400);
    assert!(cluster.submit(job(64, 600, 18_000)));
    let wide = cluster.last;
    cluster.run();
    assert_eq!(cluster.ended.len(), 401);
    assert!(cluster.end_s(wide) <= 18_000);
}

#[test]
fn a_waiting_job_is_promised_when_others_end_early() {
    let mut cluster = Cluster::new("plan:otherwise=wait", 1);
    // It asks for 1,000 s and ends after 10.
    assert!(cluster.submit(Job {
        run_s: 10,
        ..job(1, 1000, 2000)
    }));
    cluster.pass();
    assert!(!cluster.submit(job(1, 500, 600)));
    cluster.run();
    assert_eq!(cluster.promised.len(), 2);
    assert!(cluster.rejected.is_empty());
    assert_eq!(cluster.end_s(JobId(1)), 510);
}

#[test]
fn a_waiting_job_hears_when_no_room_could_help_any_more() {
    let mut cluster = Cluster::new("plan:otherwise=wait", 1);
    assert!(cluster.submit(job(1, 1000, 2000)));
    cluster.pass();
    assert!(!cluster.submit(job(1, 500, 600)));
    // Its plan needs about 435 s (the 5/6 quantile of 500 s), so the decision is due at about 165 s.
    cluster.run_until(Instant::from_secs(150));
    assert!(cluster.rejected.is_empty());
    cluster.run_until(Instant::from_secs(180));
    assert_eq!(cluster.rejected, [(JobId(1), Reason::NoRoom)]);
}

#[test]
fn without_a_waitlist_a_job_is_rejected_at_once() {
    let mut cluster = Cluster::new("plan:otherwise=reject", 1);
    assert!(cluster.submit(job(1, 1000, 2000)));
    cluster.pass();
    assert!(!cluster.submit(job(1, 500, 600)));
    assert_eq!(cluster.rejected, [(JobId(1), Reason::NoRoom)]);
}

#[test]
fn an_impossible_deadline_is_rejected_at_once() {
    let mut cluster = Cluster::new("plan:otherwise=reject", 4);
    assert!(!cluster.submit(job(1, 1000, 100)));
    assert_eq!(cluster.rejected, [(JobId(0), Reason::DeadlineUnreachable)]);
}

#[test]
fn a_job_without_a_deadline_delays_no_promise() {
    let loose = Job {
        deadline_s: None,
        ..job(1, 5000, 0)
    };
    let mut cluster = Cluster::new("plan", 2);
    // The wide job can wait for no longer than about 900 s.
    assert!(cluster.submit(job(1, 1000, 2000)));
    assert!(cluster.submit(job(2, 1000, 2000)));
    cluster.submit(loose);
    cluster.run();
    assert_eq!(cluster.promised[..2], [JobId(0), JobId(1)]);
    assert!(cluster.end_s(JobId(1)) <= 2000);
    assert_eq!(cluster.end_s(JobId(2)), 2000 + 5000);
}

#[test]
fn one_pass_gives_every_idle_node_a_job_without_a_deadline() {
    let loose = Job {
        deadline_s: None,
        ..job(1, 1000, 0)
    };
    let mut cluster = Cluster::new("plan", 40);
    for _ in 0..40 {
        cluster.submit(loose);
    }
    cluster.pass();
    assert_eq!(cluster.started.len(), 40);
}

#[test]
fn a_job_without_a_deadline_gets_a_place_after_its_patience() {
    let loose = Job {
        deadline_s: None,
        ..job(2, 3600, 0)
    };
    let run = |policy: &str| {
        let mut cluster = Cluster::new(policy, 2);
        cluster.submit(job(1, 3000, 6000));
        cluster.pass();
        cluster.submit(loose);
        // Narrow jobs with deadlines keep coming, and one processor is always busy.
        for hour in 1..100 {
            cluster.run_until(Instant::from_secs(hour * 1800));
            cluster.now = Instant::from_secs(hour * 1800);
            cluster.submit(job(1, 3000, 6000));
        }
        cluster.run();
        cluster.end_s(JobId(1))
    };
    let (short, long) = (run("plan:patience=2h"), run("plan:patience=1000h"));
    assert!(short < 6 * 3600, "{short}");
    // A day is the longest that any waits for a place.
    assert!((24 * 3600..27 * 3600).contains(&long), "{long}");
}

#[test]
fn evicted_job_without_a_deadline_gets_one_place_after_its_patience() {
    let mut cluster = Cluster::new("plan:patience=2h", 1);
    let loose = Job {
        deadline_s: None,
        ..job(1, 100, 0)
    };
    let input = GateInput::Submitted {
        spec: cluster.spec(loose),
        on_eviction: OnEviction::Requeue,
        forecast: None,
    };
    cluster.submit_input(loose, input);
    cluster.pass();
    assert_eq!(cluster.started.len(), 1);
    let host = WorkerId(0);
    let lost = GateInput::WorkerLost {
        worker: host,
        incarnation: 1,
    };
    cluster.simulation.handle(cluster.now, lost).unwrap();
    cluster.pass();
    // Its host comes back after its patience is over: it gets a place among the promises, and starts by it.
    cluster.now = Instant::from_secs(3 * 3600);
    let up = GateInput::WorkerUp {
        worker: host,
        incarnation: 2,
        nodes: 1,
        memory: None,
        terms: HostTerms::default(),
    };
    cluster.simulation.handle(cluster.now, up).unwrap();
    cluster.run();
    assert_eq!((cluster.started.len(), cluster.ended.len()), (2, 1));
    assert_eq!(cluster.promised.len(), 1, "its price was named once");
}

#[test]
fn tasks_of_a_batch_are_as_long_together_as_their_correlation_says() {
    // How often both of two tasks end within the median of one, if they are independent or alike.
    for (correlation, expected) in [(0, 0.25), (N_CORRELATIONS - 1, 0.5)] {
        let mut cluster = Cluster::new("plan:scenarios=512", 2);
        let kinship = Kinship {
            batch: 1,
            class: 1,
            correlations: std::array::from_fn(|at| f32::from(u8::from(at == correlation))),
        };
        let input = GateInput::SubmittedArray {
            spec: cluster.spec(job(1, 3600, 36_000)),
            count: 2,
            on_eviction: OnEviction::Fail,
            forecast: Some(RuntimeBelief {
                distribution: Distribution::of_request(Span::from_secs(3600)),
                kinship: Some(kinship),
            }),
        };
        cluster.simulation.handle(cluster.now, input).unwrap();
        cluster.take_effects();
        let gate = cluster.simulation.gate();
        let ends = |subject| {
            let runs = gate.possible_runs(cluster.now, subject, None).unwrap();
            runs.into_iter()
                .map(|run| run.finish)
                .collect::<Vec<Instant>>()
        };
        let mut one = ends(OutlookSubject::InGroup(JobId(0), 0));
        one.sort_unstable();
        let median = one[one.len() / 2 - 1];
        let both = ends(OutlookSubject::Existing(&[JobId(0)]));
        let within = both.iter().filter(|&&end| end <= median).count() as f64;
        let part = within / both.len() as f64;
        assert!((part - expected).abs() < 0.05, "{correlation}: {part}");
    }
}

/// A forecast with every quantile at this many seconds.
fn surely(secs: i64) -> Distribution {
    Distribution::new([Span::from_secs(secs); N_LEVELS])
}

proptest! {
    /// With exact knowledge of run times every promise is kept, and jobs that were not promised change
    /// nothing: without them the same jobs end at the same times.
    #[test]
    fn promises_on_exact_knowledge_are_kept(
        nodes in 1u32..6,
        jobs in prop::collection::vec((0i64..400, 1u32..6, 1i64..300, 1i64..1500), 1..40),
    ) {
        let mut jobs = jobs;
        jobs.sort_unstable();
        let play = |keep: &dyn Fn(usize) -> bool| {
            let mut cluster = Cluster::new("plan:otherwise=reject", nodes);
            let mut ends = Vec::new();
            let mut promised = vec![false; jobs.len()];
            let mut slots = vec![None; jobs.len()];
            let mut seen = 0;
            let mut note = |cluster: &Cluster, slots: &[Option<JobId>]| {
                for &(slot, end) in &cluster.ended[seen..] {
                    let of = slots.iter().rposition(|known| *known == Some(slot)).unwrap();
                    ends.push((of, end));
                }
                seen = cluster.ended.len();
            };
            for (at, &(submit_s, procs, run_s, deadline_s)) in jobs.iter().enumerate() {
                let submit = Instant::from_secs(submit_s);
                if submit > cluster.now {
                    cluster.run_until(submit);
                    note(&cluster, &slots);
                    cluster.now = submit;
                }
                if !keep(at) {
                    continue;
                }
                let spec = cluster.spec(job(procs, run_s, deadline_s));
                let input = GateInput::Submitted {
                    spec,
                    on_eviction: OnEviction::Fail,
                    forecast: Some(surely(run_s).into()),
                };
                let before = cluster.promised.len();
                let Ok(InputAck::Job(id)) = cluster.simulation.handle(cluster.now, input) else {
                    panic!("well-formed");
                };
                slots[at] = Some(id);
                cluster.learn_run_time(id, job(procs, run_s, deadline_s));
                cluster.take_effects();
                promised[at] = cluster.promised.len() > before;
                cluster.pass();
            }
            cluster.run();
            note(&cluster, &slots);
            ends.sort_unstable();
            (promised, ends)
        };
        let (promised, ends) = play(&|_| true);
        prop_assert_eq!(ends.len(), promised.iter().filter(|&&one| one).count());
        for &(at, end) in &ends {
            let (submit_s, _, _, deadline_s) = jobs[at];
            prop_assert!(
                end <= Instant::from_secs(submit_s + deadline_s),
                "job {} ends at {}", at, end
            );
        }
        let (_, alone) = play(&|at| promised[at]);
        prop_assert_eq!(ends, alone);
    }

    /// With exact knowledge of run times no job without a promise breaks one, and each of them runs.
    #[test]
    fn jobs_without_a_promise_break_none_on_exact_knowledge(
        nodes in 1u32..6,
        jobs in prop::collection::vec((0i64..400, 1u32..6, 1i64..300, 1i64..1500, 0u32..4, 0u8..4), 1..40),
    ) {
        let mut jobs = jobs;
        jobs.sort_unstable();
        let mut cluster = Cluster::new("plan", nodes);
        let mut ended = 0;
        let mut promised: Vec<(JobId, Instant)> = Vec::new();
        let mut check = |cluster: &Cluster, promised: &mut Vec<(JobId, Instant)>| {
            for &(slot, end) in &cluster.ended[ended..] {
                if let Some(at) = promised.iter().position(|(known, _)| *known == slot) {
                    let (_, due) = promised.swap_remove(at);
                    prop_assert!(end <= due, "{:?} ends at {}, due {}", slot, end, due);
                }
            }
            ended = cluster.ended.len();
            Ok(())
        };
        for &(submit_s, procs, run_s, deadline_s, user, kind) in &jobs {
            let submit = Instant::from_secs(submit_s);
            if submit > cluster.now {
                cluster.run_until(submit);
                check(&cluster, &mut promised)?;
                cluster.now = submit;
            }
            let asked = Job {
                procs: procs.min(nodes),
                deadline_s: (kind > 0).then_some(deadline_s),
                user,
                ..job(procs, run_s, deadline_s)
            };
            let before = cluster.promised.len();
            if cluster.submit_surely(asked) && kind > 0 {
                let due = submit + Span::from_secs(deadline_s);
                promised.extend(cluster.promised[before..].iter().map(|&slot| (slot, due)));
            }
            cluster.pass();
        }
        cluster.run();
        check(&cluster, &mut promised)?;
        prop_assert_eq!(cluster.ended.len(), jobs.len());
    }

    /// A quote and the submission after it agree, and a quote of an array is monotone enough to be
    /// searched: what is promised is promised again.
    #[test]
    fn quotes_hold(nodes in 1u32..6, count in 1u32..20, run_s in 1i64..500, deadline_s in 1i64..4000) {
        let mut cluster = Cluster::new("plan", nodes);
        cluster.submit_array(job(1, 300, 3000), 4);
        let spec = cluster.spec(job(1, run_s, deadline_s));
        let quoted = cluster.simulation.gate().quote_array(cluster.now, &spec, None, count);
        let promised = cluster.submit_array(job(1, run_s, deadline_s), count);
        let is_promised = matches!(quoted, Some(AdmissionDecision::Promise { .. }));
        prop_assert_eq!(promised, if is_promised { count as usize } else { 0 });
    }
}
