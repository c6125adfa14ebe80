//! A service decides as a replay of its jobs does: the same beliefs at the same instants, and so the same
//! decisions.

use std::collections::{BTreeMap, BTreeSet};

use tollgate_forecast::JobAttributes;
use tollgate_model::outcome::RunInterval;
use tollgate_model::{
    Bytes, Decision, Instant, JobSpec, Market, Otherwise, Outcome, Reason, Sla, Span, UserId,
};
use tollgate_service::{
    AdmissionRules, AdmissionState, RowChange, ServiceCommand, StepOutput, Submission,
    SubmissionOptions, SubmitOutcome, UnpredictableAction, UnpredictableRule, UnpredictableTerms,
};
use tollgate_sim::{
    ClassId, EstimateOrigin, EstimateSetup, JobArrival, JobContext, LearnedHistory, RecordLevel,
    ReplayConfig, replay_with,
};

use crate::common::core_driver::CoreDriver;
use crate::common::{rules, submission};
use crate::simulation::random::SplitMix;

/// Number of random histories of each policy.
const SEEDS: u64 = 6;
const N_JOBS: u64 = 120;
/// Number of programs of a user.
const N_PROGRAMS: u64 = 2;
const N_USERS: u64 = 3;
/// Number of nodes of a [`CoreDriver`].
const NODES: u32 = 3;
/// Memory of a node where memory counts.
const NODE_MEMORY: Bytes = Bytes::new(1_000_000_007);

/// A job as its user knows it, and its run time.
struct KnownJob {
    gap: Span,
    user: u32,
    program: u64,
    procs: u32,
    memory: Bytes,
    estimate: Span,
    deadline: Option<Span>,
    runtime: Span,
}

/// Returns jobs of a few users in bursts, shorter or longer than estimated by factors, a fifth of them
/// without a deadline. A third of those with a deadline request memory, of which some request more than all nodes have. The first of each program has none either: a service numbers programs as it admits
/// their first jobs, and a replay as they arrive.
fn random_jobs(seed: u64) -> Vec<KnownJob> {
    let mut random = SplitMix::new(seed);
    let mut memories = SplitMix::new(seed);
    let mut jobs = Vec::new();
    let (mut user, mut program) = (0, 0);
    let mut seen = BTreeSet::new();
    for _ in 0..N_JOBS {
        if random.below(4) == 0 {
            user = random.below(N_USERS) as u32;
            program = random.below(N_PROGRAMS);
        }
        // No two events of different kinds fall on one instant.
        let odd = |micros: u64| Span::from_micros(2 * micros as i64 + 1);
        let usual = 1 << (3 * (u64::from(user) * N_PROGRAMS + program) % 7);
        let estimate = 20 * usual * (1 + random.below(2));
        let gap = odd(random.below(20_000_000));
        let procs = 1 + random.below(2) as u32;
        let deadline = Some(Span::from_secs((20 + usual * random.below(120)) as i64))
            .filter(|_| random.below(5) > 0 && !seen.insert((user, program)));
        let memory = match deadline.is_some() && memories.below(3) == 0 {
            true => memories.below(NODE_MEMORY.as_u64() * 7 / 2),
            false => 0,
        };
        jobs.push(KnownJob {
            gap,
            user: 1_000 + user,
            program: u64::from(user) * N_PROGRAMS + program,
            procs,
            memory: Bytes::new(memory),
            estimate: Span::from_secs(estimate as i64),
            deadline,
            runtime: odd(1_000_000 + random.below(15_000_000 * usual)),
        });
    }
    jobs
}

/// The fates of the jobs.
#[derive(Debug, Default)]
struct SimulatedTimes {
    /// When each ran; None if it never did.
    runs: Vec<Option<RunInterval>>,
    /// The jobs whose deadlines were promised at their submission.
    promised: BTreeSet<usize>,
    /// Number of jobs whose run time could not be predicted.
    n_unpredictable: usize,
    /// The jobs that request more memory than there is.
    without_memory: BTreeSet<usize>,
}

/// The rules and the machine of a history.
#[derive(Clone, Copy)]
struct HistoryCase {
    policy: &'static str,
    action: UnpredictableAction,
    node_memory: Option<Bytes>,
}

/// Returns a rule that finds many jobs unpredictable.
fn unpredictable(action: UnpredictableAction) -> UnpredictableRule {
    UnpredictableRule {
        action,
        spread: 1.01,
    }
}

/// Returns what becomes of the jobs in a service that learned nothing before.
fn run_live(case: HistoryCase, jobs: &[KnownJob]) -> SimulatedTimes {
    let terms = UnpredictableTerms {
        rule: unpredictable(case.action),
        ..UnpredictableTerms::default()
    };
    let rules = AdmissionRules {
        unpredictable: terms,
        ..rules(case.policy, Market::None)
    };
    let node_memory = case.node_memory.map(Bytes::as_u64);
    let mut driver = CoreDriver::with_node_memory(&rules, node_memory);
    let mut history = SimulatedTimes::default();
    for (place, job) in jobs.iter().enumerate() {
        driver.wait_for(job.gap);
        driver.runtimes.insert(place as u64 + 1, job.runtime);
        let template = Submission {
            user: job.user,
            executable: Some(job.program.to_string()),
            procs: job.procs,
            memory: Some(job.memory.as_u64()),
            budget: None,
            deadline: job.deadline,
            estimate: Some(job.estimate),
            options: SubmissionOptions {
                otherwise: Otherwise::Run,
                ..SubmissionOptions::default()
            },
            ..submission(&job.program.to_string(), 1)
        };
        let step = driver.step(&[ServiceCommand::Submit(Box::new(template))]);
        let answer = answer(&step);
        if job.deadline.is_some() && matches!(answer.admission, AdmissionState::Accepted { .. }) {
            history.promised.insert(place);
        }
        if let AdmissionState::Rejected(reasons) = &answer.admission
            && reasons
                .iter()
                .any(|reason| reason.key() == Reason::NoMemory.key())
        {
            history.without_memory.insert(place);
        }
        history.n_unpredictable += usize::from(answer.unpredictable.is_some());
    }
    driver.wait(1_000_000);
    history.runs.resize(jobs.len(), None);
    for (attempt, &finish) in &driver.ends {
        let start = driver.started[attempt];
        history.runs[attempt.job as usize - 1] = Some(RunInterval { start, finish });
    }
    history
}

fn answer(step: &StepOutput) -> &SubmitOutcome {
    let answer = step.changes.iter().find_map(|change| {
        let RowChange::Submitted { answer, .. } = change else {
            return None;
        };
        Some(answer)
    });
    answer.expect("a job was submitted")
}

/// Returns what becomes of the jobs in a replay that begins at `from`.
fn run_simulated(case: HistoryCase, jobs: &[KnownJob], from: Instant) -> SimulatedTimes {
    let policy = rules(case.policy, Market::None).policy;
    let mut submit = from;
    let mut numbers = BTreeMap::new();
    let (mut arrivals, mut contexts) = (Vec::new(), Vec::new());
    for job in jobs {
        submit += job.gap;
        let next = numbers.len() as u32;
        let number = *numbers.entry(job.program).or_insert(next);
        contexts.push(JobContext {
            class: ClassId(number),
            context: JobAttributes {
                executable: Some(number),
                ..JobAttributes::default()
            },
            has_user_estimate: true,
        });
        arrivals.push(JobArrival {
            spec: spec(job, submit),
            runtime: job.runtime,
            requested_memory: job.memory,
            is_requested: true,
        });
    }
    let config = ReplayConfig {
        record_level: RecordLevel::Checked,
        node_memory: case.node_memory,
        ..ReplayConfig::new(NODES, Market::None)
    };
    let estimates = EstimateSetup {
        unpredictable: Some(unpredictable(case.action)),
        origin: EstimateOrigin::User,
        uses_beliefs: policy.uses_beliefs(),
        contexts: &contexts,
        history: &LearnedHistory::default(),
    };
    let built = policy.build(Market::None);
    let replayed = replay_with(arrivals.into_iter(), built, &config, &estimates).unwrap();
    let outcomes = replayed.outcomes.iter().enumerate();
    let at_once = |(_, job): &(usize, &Outcome)| {
        job.due.is_some() && job.decision == Decision::Accepted && job.decided == job.submit
    };
    SimulatedTimes {
        runs: outcomes.clone().map(|(_, job)| job.ran).collect(),
        promised: outcomes
            .clone()
            .filter(at_once)
            .map(|(place, _)| place)
            .collect(),
        without_memory: outcomes
            .clone()
            .filter(|(_, job)| job.decision == Decision::Rejected(Reason::NoMemory))
            .map(|(place, _)| place)
            .collect(),
        n_unpredictable: outcomes.filter(|(_, job)| job.unpredictable).count(),
    }
}

fn spec(job: &KnownJob, submit: Instant) -> JobSpec {
    JobSpec {
        restarts: 0,
        submit,
        estimate: job.estimate,
        procs: job.procs,
        memory: 0,
        needs: Default::default(),
        user: UserId(job.user),
        sla: Sla {
            deadline: job.deadline,
            ..Sla::default()
        },
    }
}

#[test]
fn service_promises_and_runs_each_job_as_a_replay_does() {
    let (mut n_promised, mut n_unpromised, mut n_without_memory) = (0, 0, 0);
    let none = UnpredictableAction::None;
    let treated = UnpredictableAction::NoPromise;
    for (policy, action, node_memory) in [
        ("plan", none, None),
        ("edf-bf", none, None),
        ("easy", none, None),
        ("plan", treated, None),
        ("plan", none, Some(NODE_MEMORY)),
        ("easy", none, Some(NODE_MEMORY)),
    ] {
        let case = HistoryCase {
            policy,
            action,
            node_memory,
        };
        for seed in 0..SEEDS {
            let jobs = random_jobs(seed);
            let from = CoreDriver::new(&rules(policy, Market::None)).now;
            let (live, simulated) = (run_live(case, &jobs), run_simulated(case, &jobs, from));
            assert_eq!(live.n_unpredictable, simulated.n_unpredictable);
            assert_eq!(live.without_memory, simulated.without_memory, "{policy}");
            // Policies that decide at the start of a job let it wait.
            if policy.starts_with("plan") {
                assert_eq!(live.promised, simulated.promised, "{policy}, seed {seed}");
            }
            let runs = live.runs.iter().zip(&simulated.runs).enumerate();
            for (job, (live, simulated)) in runs {
                assert_eq!(live, simulated, "{policy}, seed {seed}: job {job}");
            }
            let ran = live.runs.iter().flatten().count();
            assert!(ran > 30, "{policy}, seed {seed}: {ran} jobs ran");
            n_promised += live.promised.len();
            n_without_memory += live.without_memory.len();
            if action == treated {
                n_unpromised += live.n_unpredictable;
            }
        }
    }
    assert!(n_promised > 100, "{n_promised} promises");
    assert!(n_unpromised > 20, "{n_unpromised} jobs were treated");
    assert!(n_without_memory > 20, "{n_without_memory} lacked memory");
}
