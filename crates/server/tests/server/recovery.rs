//! Recovery after a crash: the state recovered from the store equals the previous state bit for
//! bit, and decides alike from then on.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use tollgate_gate::{OnEviction, WorkerId};
use tollgate_model::{
    AttemptEvent, AttemptId, AttemptOutcome, AttemptReport, AttemptStatus, Credits,
    CreditsPerSecond, Instant, Market, Otherwise, Probability, Span,
};
use tollgate_policies::{BUILTIN_POLICIES, builtin_registry};
use tollgate_service::{
    AdmissionRules, ArraySpec, Core, DependencyCondition, EngineAction, JobDependency, RetryPolicy,
    ServiceCommand, Submission, SubmissionOptions, TaskRanges,
};
use tollgate_store::{CommandBatch, JobProgram, Store};

/// A step of the test. Numbers select among the jobs of that moment.
#[derive(Clone, Debug)]
enum RecoveryStep {
    Wait(i64),
    Batch(Vec<RecoveryAction>),
    /// Queries the comparison with the shadow policy.
    Look,
    Snapshot,
    Crash,
}

#[derive(Clone, Debug)]
enum RecoveryAction {
    Submit {
        user: u32,
        procs: u32,
        estimate_s: Option<i64>,
        deadline_s: Option<i64>,
        budget: Option<i64>,
        requeue: bool,
        hold_s: Option<i64>,
        plan: OptionSample,
    },
    Claim(u64),
    End(usize, i64),
    Lose(usize),
    Cancel(u64),
    Hold(u64),
    Release(u64),
    Requeue(u64),
    Restart,
    Tick,
}

/// The instant of the first command.
const START_S: i64 = 1_000;

/// Number of tasks, maximum at a time, dependency, begin in seconds after the first command, and whether the
/// job is held. Then what becomes of it if it is not promised, whether it is promised in part, and whether it
/// is tried again.
type OptionSample = (
    Option<u32>,
    Option<u32>,
    Option<u64>,
    Option<i64>,
    bool,
    Otherwise,
    bool,
    bool,
);

fn planned() -> impl Strategy<Value = OptionSample> {
    (
        prop::option::weighted(0.3, 1u32..30),
        prop::option::weighted(0.3, 1u32..4),
        prop::option::weighted(0.2, 0u64..20),
        prop::option::weighted(0.1, 0i64..200),
        prop::bool::weighted(0.1),
        prop::sample::select(vec![Otherwise::Wait, Otherwise::Run, Otherwise::Reject]),
        any::<bool>(),
        prop::bool::weighted(0.2),
    )
}

fn plan(
    (tasks, max, after, begin_s, held, otherwise, partial, retries): OptionSample,
) -> SubmissionOptions {
    let need = DependencyCondition::Success;
    SubmissionOptions {
        auto_memory: None,
        unpredictable: Default::default(),
        give_up: None,
        array: tasks.map(|last| ArraySpec {
            tasks: TaskRanges::new(0, last),
            max_at_once: max,
        }),
        dependencies: after
            .map(|job| JobDependency {
                job,
                condition: need,
            })
            .into_iter()
            .collect(),
        begin: begin_s.map(|begin_s| Instant::from_secs(START_S + begin_s)),
        held,
        submitted: None,
        otherwise,
        drop_late: false,
        partial: partial && tasks.is_some(),
        time_limit: None,
        one_host: false,
        host: None,
        resources: Default::default(),
        retries: retries.then(|| "2".parse().unwrap()),
        early: Default::default(),
    }
}

fn action() -> impl Strategy<Value = RecoveryAction> {
    let submit = (
        0u32..3,
        1u32..4,
        prop::option::of(1i64..40),
        prop::option::weighted(0.8, 1i64..200),
        prop::option::of(0i64..5),
        any::<bool>(),
        prop::option::weighted(0.2, 1i64..30),
        planned(),
    );
    prop_oneof![
        6 => submit.prop_map(|(user, procs, estimate_s, deadline_s, budget, requeue, hold_s, plan)| {
            RecoveryAction::Submit { user, procs, estimate_s, deadline_s, budget, requeue, hold_s, plan }
        }),
        2 => (0u64..20).prop_map(RecoveryAction::Claim),
        4 => (any::<usize>(), 1i64..60).prop_map(|(job, secs)| RecoveryAction::End(job, secs)),
        1 => any::<usize>().prop_map(RecoveryAction::Lose),
        1 => (0u64..20).prop_map(RecoveryAction::Cancel),
        1 => (0u64..20).prop_map(RecoveryAction::Hold),
        1 => (0u64..20).prop_map(RecoveryAction::Release),
        1 => (0u64..20).prop_map(RecoveryAction::Requeue),
        1 => Just(RecoveryAction::Restart),
        1 => Just(RecoveryAction::Tick),
    ]
}

fn step() -> impl Strategy<Value = RecoveryStep> {
    prop_oneof![
        4 => (0i64..20_000_000).prop_map(RecoveryStep::Wait),
        6 => prop::collection::vec(action(), 1..5).prop_map(RecoveryStep::Batch),
        1 => Just(RecoveryStep::Look),
        1 => Just(RecoveryStep::Snapshot),
        1 => Just(RecoveryStep::Crash),
    ]
}

fn rules(policy: &str, market: Market) -> AdmissionRules {
    AdmissionRules {
        unpredictable: Default::default(),
        choose: None,
        evictions: RetryPolicy::forever(),
        policy: builtin_registry().named(policy).unwrap(),
        registry: builtin_registry(),
        market,
        price: 3600.0,
        default_estimate: Span::from_secs(10),
        level: Probability::new(0.9).unwrap(),
        confidence: 0,
        max_resident: 2,
        shadow: None,
        start_delay: Span::ZERO,
    }
}

struct RecoveryService {
    core: Core,
    store: Store,
    now: Instant,
    epoch: u32,
}

impl RecoveryService {
    fn new(data_dir: &std::path::Path, rules: &AdmissionRules) -> Self {
        let mut store = Store::open(&data_dir.join("tollgate.db")).unwrap();
        let core = store.recover(rules).unwrap();
        let mut service = Self {
            core,
            store,
            now: Instant::from_secs(START_S),
            epoch: 0,
        };
        service.commit(vec![RecoveryAction::Restart]);
        service
    }

    fn running(&self) -> Vec<AttemptId> {
        let attempt = |order| match order {
            EngineAction::Start { attempt, .. } => Some(attempt),
            EngineAction::SetShare { .. }
            | EngineAction::Kill { .. }
            | EngineAction::Withdraw { .. }
            | EngineAction::Continued { .. } => None,
        };
        self.core
            .running_actions()
            .into_iter()
            .filter_map(attempt)
            .collect()
    }

    fn commands(&mut self, action: RecoveryAction) -> Vec<ServiceCommand> {
        let running = self.running();
        let pick = |n: usize| (!running.is_empty()).then(|| running[n % running.len()]);
        let report = |attempt, event| ServiceCommand::Report(AttemptReport { attempt, event });
        match action {
            RecoveryAction::Submit {
                user,
                procs,
                estimate_s,
                deadline_s,
                budget,
                requeue,
                hold_s,
                plan: planned,
            } => vec![ServiceCommand::Submit(Box::new(Submission {
                user,
                name: format!("class {}", user % 2),
                executable: None,
                account: None,
                queue: None,
                procs,
                memory: Some(u64::from(procs) * 40),
                estimate: estimate_s.map(Span::from_secs),
                deadline: deadline_s.map(Span::from_secs),
                budget: budget.map(|budget| Credits::from_f64(budget as f64 * 10.0)),
                penalty: CreditsPerSecond::from_f64(0.5),
                confidence: None,
                at_least: None,
                retry: if requeue {
                    OnEviction::Requeue
                } else {
                    OnEviction::Fail
                },
                reserve_for: hold_s
                    .map(Span::from_secs)
                    .filter(|_| plan(planned) == SubmissionOptions::default()),
                options: plan(planned),
            }))],
            RecoveryAction::End(n, secs) => pick(n)
                .map(|attempt| {
                    let ended = AttemptOutcome {
                        status: AttemptStatus::Exited(if secs % 4 == 0 { 3 } else { 0 }),
                        killed: None,
                        at: self.now,
                        wall: Span::from_secs(secs),
                        cpu: Span::ZERO,
                        suspended: Span::ZERO,
                        peak_memory: None,
                    };
                    report(attempt, AttemptEvent::Ended(ended))
                })
                .into_iter()
                .collect(),
            RecoveryAction::Lose(n) => pick(n)
                .map(|attempt| report(attempt, AttemptEvent::Lost { at: self.now }))
                .into_iter()
                .collect(),
            RecoveryAction::Claim(job) => vec![ServiceCommand::Claim { job }],
            RecoveryAction::Cancel(job) => vec![ServiceCommand::Cancel { job, tasks: None }],
            RecoveryAction::Hold(job) => vec![ServiceCommand::Hold { job, tasks: None }],
            RecoveryAction::Release(job) => vec![ServiceCommand::Release { job, tasks: None }],
            RecoveryAction::Requeue(job) => vec![ServiceCommand::Requeue { job, tasks: None }],
            RecoveryAction::Restart => {
                let worker = WorkerId(0);
                let gone = ServiceCommand::WorkerLost {
                    worker,
                    incarnation: self.epoch,
                };
                self.epoch += 1;
                let up = ServiceCommand::WorkerUp {
                    worker,
                    incarnation: self.epoch,
                    nodes: 3,
                    memory: Some(100),
                    offer: Default::default(),
                };
                vec![gone, up]
            }
            RecoveryAction::Tick => vec![ServiceCommand::Tick],
        }
    }

    fn commit(&mut self, actions: Vec<RecoveryAction>) {
        let commands: Vec<ServiceCommand> = actions
            .into_iter()
            .flat_map(|action| self.commands(action))
            .collect();
        let step = self.core.step(self.now, &commands);
        let program = JobProgram {
            auto_memory: None,
            unpredictable: Default::default(),
            give_up: None,
            argv: vec!["true".to_owned()],
            script: None,
            env: Vec::new(),
            dir: "/".to_owned(),
            output: None,
            umask: 0o022,
            memory: None,
            time_limit: None,
            signal: None,
            error: None,
            input: None,
            comment: None,
            submit_line: None,
            submit_host: None,
            notify: Vec::new(),
            append: false,
            retries: None,
            repeat: None,
            begin: None,
            claim_key: None,
        };
        self.store
            .commit(&CommandBatch {
                host_uses: &[],
                at: self.now,
                commands: &commands,
                changes: &step.changes,
                programs: &(0..100).map(|job| (job, &program)).collect(),
                hosts: &BTreeMap::new(),
                answers: &[],
            })
            .unwrap();
        self.core.check_invariants().unwrap();
    }

    /// Returns the state as bytes.
    fn bytes(&mut self) -> Vec<u8> {
        postcard::to_stdvec(&self.core.save()).unwrap()
    }
}

proptest! {
    #![proptest_config(Config { cases: 48, rng_seed: RngSeed::Fixed(5), ..Config::default() })]
    #[test]
    fn recovered_state_equals_the_state_before_the_crash(
        steps in prop::collection::vec(step(), 1..40),
        policy in 0..BUILTIN_POLICIES.len(),
        shadow in prop::option::of(0..BUILTIN_POLICIES.len()),
    ) {
        let named = &BUILTIN_POLICIES[policy];
        let market = named.markets[0];
        let shadow = shadow.map(|shadow| builtin_registry().named(BUILTIN_POLICIES[shadow].name).unwrap());
        let rules = AdmissionRules {
            shadow: shadow.filter(|shadow| shadow.runs_in(market)),
            ..rules(named.name, market)
        };
        let data_dir = tempfile::tempdir().unwrap();
        let mut service = RecoveryService::new(data_dir.path(), &rules);
        for step in steps {
            match step {
                RecoveryStep::Wait(micros) => service.now += Span::from_micros(micros),
                RecoveryStep::Batch(doings) => service.commit(doings),
                RecoveryStep::Look => drop(service.core.comparison(service.now)),
                RecoveryStep::Snapshot => service.store.save(&mut service.core).unwrap(),
                RecoveryStep::Crash => service.core = service.store.recover(&rules).unwrap(),
            }
            let recovered = service.store.recover(&rules).unwrap();
            prop_assert_eq!(format!("{:?}", recovered.running_actions()), format!("{:?}", service.core.running_actions()));
        }
        // A query advances the shadow to the present; the next step does the same in the recovered
        // state.
        service.commit(vec![RecoveryAction::Tick]);
        let mut recovered = service.store.recover(&rules).unwrap();
        prop_assert_eq!(postcard::to_stdvec(&recovered.save()).unwrap(), service.bytes());
        // Opening the store again verifies the checksums of all tables.
        Store::open(&data_dir.path().join("tollgate.db")).unwrap();
    }
}
