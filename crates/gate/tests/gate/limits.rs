//! Tests of the limits of a node: with any number of jobs, no node holds more tasks or memory than
//! its limits. A job without a deadline waits; a job with a deadline is rejected when no place is
//! free, and gets the last place of a node for which others wait.

use tollgate_gate::{Effect, Gate, GateInput, InputAck, Notice, OnEviction, WorkerId};
use tollgate_model::{Credits, Instant, JobId, JobSpec, Market, NodeId, Reason, Sla, Span, UserId};
use tollgate_policies::builtin_registry;
use tollgate_policy::JobPhase;

const TIME_SHARED: [&str; 3] = ["libra", "libra-risk", "tail-risk"];

struct GateFixture {
    gate: Gate,
    now: Instant,
    effects: Vec<Effect>,
}

impl GateFixture {
    fn new(policy: &str, nodes: u32, memory: Option<u64>) -> Self {
        let choice = builtin_registry().named(policy).expect("a policy");
        let mut gate = Gate::new(choice.build(Market::None), Market::None);
        gate.set_task_limit(Some(4));
        let mut site = Self {
            gate,
            now: Instant::ZERO,
            effects: Vec::new(),
        };
        site.input(GateInput::WorkerUp {
            worker: WorkerId(0),
            incarnation: 1,
            nodes,
            memory,
            terms: Default::default(),
            in_use: None,
        });
        site
    }

    fn input(&mut self, input: GateInput) -> InputAck {
        let answer = self.gate.handle(self.now, input, &mut self.effects);
        self.gate.run_pass(self.now, &mut self.effects);
        answer.expect("no stale input")
    }

    /// Submits a job and returns the gate's notice to it.
    fn submit(&mut self, procs: u32, memory: u64, deadline_s: Option<i64>) -> (JobId, Notice) {
        let sla = Sla {
            deadline: deadline_s.map(Span::from_secs),
            ..Sla::default()
        };
        self.submit_with_sla(procs, memory, sla)
    }

    fn submit_for(&mut self, budget: Option<Credits>) -> (JobId, Notice) {
        let sla = Sla {
            budget,
            ..Sla::default()
        };
        self.submit_with_sla(1, 0, sla)
    }

    fn submit_with_sla(&mut self, procs: u32, memory: u64, sla: Sla) -> (JobId, Notice) {
        self.effects.clear();
        let answer = self.input(GateInput::Submitted {
            spec: JobSpec {
                restarts: 0,
                submit: self.now,
                estimate: Span::from_secs(10),
                procs,
                memory,
                needs: Default::default(),
                user: UserId(0),
                sla,
            },
            on_eviction: OnEviction::Fail,
            forecast: None,
        });
        let InputAck::Job(job) = answer else {
            panic!("a job gets a slot: {answer:?}");
        };
        let notice = self.notice_for(job).expect("a job gets a notice");
        (job, notice)
    }

    /// Returns the first notice to a job among the latest effects.
    fn notice_for(&self, job: JobId) -> Option<Notice> {
        self.effects.iter().find_map(|&effect| {
            if let Effect::Notify {
                job: notified,
                notice,
            } = effect
                && notified == job
            {
                return Some(notice);
            }
            None
        })
    }

    fn end(&mut self, job: JobId) {
        let attempt = self.gate.view(self.now).job(job).attempt;
        self.input(GateInput::Ended { job, attempt });
    }

    fn running(&self) -> Vec<JobId> {
        let view = self.gate.view(self.now);
        let running = view
            .jobs()
            .filter(|(_, job)| job.phase == JobPhase::Running);
        let mut running: Vec<_> = running.map(|(id, job)| (job.sequence, id)).collect();
        running.sort_unstable();
        running.into_iter().map(|(_, id)| id).collect()
    }

    fn tasks(&self) -> Vec<usize> {
        let view = self.gate.view(self.now);
        let nodes = (0..view.n_nodes()).map(NodeId);
        nodes.map(|node| view.node(node).tasks().len()).collect()
    }
}

#[test]
fn jobs_without_deadline_queue_when_nodes_are_full() {
    for policy in TIME_SHARED {
        let mut site = GateFixture::new(policy, 2, None);
        let mut jobs = Vec::new();
        for n in 0..1_000 {
            let (job, notice) = site.submit(1, 0, None);
            assert_eq!(
                notice == Notice::Queued,
                n >= 6,
                "{policy}: {notice:?} to job {n}"
            );
            jobs.push(job);
        }
        assert_eq!(
            site.tasks(),
            [3, 3],
            "{policy}: the last place is left free"
        );
        for (n, &job) in jobs.iter().enumerate() {
            assert_eq!(site.running().first(), Some(&job), "{policy}: job {n}");
            site.end(job);
        }
        assert_eq!(site.gate.view(site.now).jobs().count(), 0);
    }
}

#[test]
fn deadline_job_gets_the_last_slot_or_is_rejected() {
    for policy in TIME_SHARED {
        let mut site = GateFixture::new(policy, 1, None);
        for _ in 0..5 {
            site.submit(1, 0, None);
        }
        assert_eq!(site.tasks(), [3], "{policy}");
        let (promised, notice) = site.submit(1, 0, Some(1_000));
        assert!(
            matches!(notice, Notice::Accepted { .. }),
            "{policy}: {notice:?}"
        );
        let (_, notice) = site.submit(1, 0, Some(1_000));
        assert_eq!(notice, Notice::Rejected(Reason::NodeFull), "{policy}");
        site.end(promised);
        let (_, notice) = site.submit(1, 0, Some(1_000));
        assert!(
            matches!(notice, Notice::Accepted { .. }),
            "{policy}: {notice:?}"
        );
    }
}

#[test]
fn queued_wide_job_is_not_overtaken() {
    let mut site = GateFixture::new("libra-risk", 2, None);
    let narrow: Vec<JobId> = (0..6).map(|_| site.submit(1, 0, None).0).collect();
    let (wide, notice) = site.submit(2, 0, None);
    assert_eq!(notice, Notice::Queued);
    let (last, notice) = site.submit(1, 0, None);
    assert_eq!(notice, Notice::Queued);
    site.end(narrow[0]);
    assert!(
        !site.running().contains(&last),
        "it would overtake the wide one"
    );
    for &job in &narrow[1..] {
        site.end(job);
    }
    assert_eq!(site.running(), [wide, last]);
}

#[test]
fn node_memory_is_never_overcommitted() {
    for policy in TIME_SHARED {
        let mut site = GateFixture::new(policy, 1, Some(100));
        let (first, notice) = site.submit(1, 60, Some(1_000));
        assert!(
            matches!(notice, Notice::Accepted { .. }),
            "{policy}: {notice:?}"
        );
        let (_, notice) = site.submit(1, 41, Some(1_000));
        assert_eq!(notice, Notice::Rejected(Reason::NodeFull), "{policy}");
        let (whenever, notice) = site.submit(1, 41, None);
        assert_eq!(notice, Notice::Queued, "{policy}");
        let (_, notice) = site.submit(1, 40, Some(1_000));
        assert!(
            matches!(notice, Notice::Accepted { .. }),
            "{policy}: {notice:?}"
        );
        site.end(first);
        assert!(site.running().contains(&whenever), "{policy}");
    }
}

#[test]
fn job_larger_than_every_node_is_rejected_by_every_policy() {
    for policy in [
        "libra",
        "tail-risk",
        "fcfs",
        "easy",
        "conservative",
        "edf-bf",
    ] {
        let mut site = GateFixture::new(policy, 2, Some(100));
        let (_, notice) = site.submit(1, 101, None);
        assert_eq!(notice, Notice::Rejected(Reason::NoMemory), "{policy}");
        let (_, notice) = site.submit(1, 100, None);
        assert_ne!(notice, Notice::Rejected(Reason::NoMemory), "{policy}");
    }
}

#[test]
fn queued_job_that_can_never_pay_is_rejected() {
    let choice = builtin_registry().named("libra-dollar").expect("a policy");
    let mut site = GateFixture::new("libra", 1, None);
    site.gate = Gate::new(choice.build(Market::Commodity), Market::Commodity);
    site.gate.set_task_limit(Some(4));
    site.input(GateInput::WorkerUp {
        worker: WorkerId(0),
        incarnation: 1,
        nodes: 1,
        memory: None,
        terms: Default::default(),
        in_use: None,
    });
    let first = site.submit(1, 0, None).0;
    for _ in 0..2 {
        site.submit(1, 0, None);
    }
    // Ten seconds of an idle node cost 13 credits.
    let budget = Some(Credits::from_f64(12.0));
    let (poor, notice) = site.submit_for(budget);
    assert_eq!(notice, Notice::Queued);
    site.effects.clear();
    site.end(first);
    let notice = site.notice_for(poor);
    assert_eq!(notice, Some(Notice::Rejected(Reason::PriceOverBudget)));
}
