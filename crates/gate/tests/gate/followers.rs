//! Tests of jobs that start in the place of another one without a pass.

use tollgate_gate::{Effect, Gate, GateInput, InputAck, InputError, OnEviction, WorkerId};
use tollgate_model::{Instant, JobId, JobSpec, Market, NodeId, NodeRange, Sla, Span, UserId};
use tollgate_policies::builtin_registry;
use tollgate_policy::JobPhase;

const NOW: Instant = Instant::ZERO;
const NODE: NodeRange = NodeRange { first: 0, len: 1 };

/// A gate with one node that takes three tasks at most, and its effects.
struct GateFixture(Gate, Vec<Effect>);

impl GateFixture {
    fn new(policy: &str) -> Self {
        let choice = builtin_registry().named(policy).expect("a policy");
        let mut gate = Gate::new(choice.build(Market::None), Market::None);
        gate.set_task_limit(Some(3));
        gate.enable_checks();
        let mut site = Self(gate, Vec::new());
        site.input(GateInput::WorkerUp {
            worker: WorkerId(0),
            incarnation: 1,
            nodes: 1,
            memory: None,
            terms: Default::default(),
            in_use: None,
        });
        site
    }

    fn input(&mut self, input: GateInput) -> InputAck {
        let Self(gate, effects) = self;
        gate.handle(NOW, input, effects).expect("no stale input")
    }

    fn pass(&mut self) {
        let Self(gate, effects) = self;
        gate.run_pass(NOW, effects);
        gate.check(NOW).expect("a possible state");
    }

    fn submit(&mut self, deadline: Option<Span>) -> JobId {
        let answer = self.input(GateInput::Submitted {
            spec: JobSpec {
                restarts: 0,
                submit: NOW,
                estimate: Span::from_secs(10),
                procs: 1,
                memory: 0,
                needs: Default::default(),
                user: UserId(0),
                sla: Sla {
                    deadline,
                    ..Sla::default()
                },
            },
            on_eviction: OnEviction::Fail,
            forecast: None,
        });
        let InputAck::Job(job) = answer else {
            panic!("a job gets a slot: {answer:?}");
        };
        self.pass();
        job
    }

    /// Submits jobs until one waits, and holds that one. Returns a job that runs, and the held one.
    fn running_and_held(&mut self) -> (JobId, JobId) {
        let first = self.submit(None);
        loop {
            let job = self.submit(None);
            if self.phase(job) == JobPhase::Queued {
                self.input(GateInput::Hold { job });
                return (first, job);
            }
        }
    }

    fn end(&mut self, job: JobId) {
        let attempt = self.0.view(NOW).job(job).attempt;
        self.input(GateInput::Ended { job, attempt });
    }

    fn start_follower(&mut self, job: JobId) -> Result<(), InputError> {
        let Self(gate, effects) = self;
        gate.start_follower(NOW, job, &[NODE], effects)
    }

    fn phase(&self, job: JobId) -> JobPhase {
        self.0.view(NOW).job(job).phase
    }
}

#[test]
fn follower_starts_in_the_place_of_the_job_before_it_and_nowhere_else() {
    for policy in ["easy", "plan", "fcfs", "libra", "libra-risk", "tail-risk"] {
        let mut site = GateFixture::new(policy);
        let (first, held) = site.running_and_held();
        // Where nodes are shared, a promise takes the last place.
        site.submit(Some(Span::from_secs(1_000)));
        let full = site.start_follower(held);
        assert_eq!(full, Err(InputError::NotHeld), "{policy}");
        assert_eq!(site.phase(held), JobPhase::Held, "{policy}");

        site.end(first);
        site.1.clear();
        assert_eq!(site.start_follower(held), Ok(()), "{policy}");
        let started = Effect::Start {
            job: held,
            attempt: 1,
        };
        assert!(site.1.contains(&started), "{policy}: {:?}", site.1);
        site.pass();
        assert_eq!(site.phase(held), JobPhase::Running, "{policy}");
        let again = site.start_follower(held);
        assert_eq!(again, Err(InputError::NotHeld), "{policy}");
    }
}

#[test]
fn follower_on_a_shared_node_has_the_share_of_the_job_before_it() {
    for policy in ["libra", "libra-risk", "tail-risk"] {
        let mut site = GateFixture::new(policy);
        let (first, held) = site.running_and_held();
        let rates = |site: &GateFixture| {
            let tasks = site.0.view(NOW).node(NodeId(0)).tasks().to_vec();
            tasks.iter().map(|task| task.rate).collect::<Vec<_>>()
        };
        let before = rates(&site);
        assert!(before.len() == 2 && before[0] > 0.0, "{policy}: {before:?}");
        site.end(first);
        site.start_follower(held).expect("there is a place");
        assert_eq!(rates(&site), before, "{policy}");
    }
}

#[test]
fn follower_keeps_the_place_on_a_full_node_but_gets_no_other_follower() {
    for policy in ["libra", "libra-risk", "tail-risk"] {
        let mut site = GateFixture::new(policy);
        let (first, held) = site.running_and_held();
        assert!(site.0.view(NOW).may_be_followed(first), "{policy}");
        // A promise takes the last place.
        let promised = site.submit(Some(Span::from_secs(1_000)));
        assert_eq!(site.phase(promised), JobPhase::Running, "{policy}");
        assert!(!site.0.view(NOW).may_be_followed(first), "{policy}");
        site.end(first);
        assert_eq!(site.start_follower(held), Ok(()), "{policy}");
        site.pass();
        assert_eq!(site.0.view(NOW).node(NodeId(0)).tasks().len(), 3);
    }
}

#[test]
fn withdrawn_follower_waits_again_though_evictions_fail() {
    for policy in ["easy", "plan", "fcfs", "libra", "libra-risk", "tail-risk"] {
        let mut site = GateFixture::new(policy);
        let (first, held) = site.running_and_held();
        site.end(first);
        site.start_follower(held).expect("there is a place");
        let attempt = site.0.view(NOW).job(held).attempt;
        site.input(GateInput::Withdrawn { job: held, attempt });
        assert_eq!(site.phase(held), JobPhase::Queued, "{policy}");
        site.pass();
        assert_eq!(site.phase(held), JobPhase::Running, "{policy}");
    }
}
