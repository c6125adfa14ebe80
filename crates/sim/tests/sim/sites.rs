//! Tests of the world of sites: pilots in the queues of batch systems, and tasks with deadlines on them.

use tollgate_grid_policies::migrate::MigrationSpec;
use tollgate_model::distribution::N_LEVELS;
use tollgate_model::{Distribution, Instant, Span};
use tollgate_provisioning::{ACQUISITION_POLICIES, AcquisitionPolicy, IdleLimit, PilotShape};
use tollgate_sim::sites::{
    OtherJob, PilotPolicy, PilotTask, QueueConfig, SitesConfig, SitesOutcome, TaskStream,
};
use tollgate_workload::{GeneratedMachine, WorkloadGenerator};

/// The mean number of tasks in a burst.
const BURST: f64 = 6.0;

const IDLE: IdleLimit = IdleLimit::After(Span::from_secs(60));

fn run_sites(config: &SitesConfig, policy: &PilotPolicy) -> SitesOutcome {
    SitesOutcome::of_runs(&[tollgate_sim::sites::run_sites(config, policy)])
}

fn policy(name: &str, idle: IdleLimit) -> PilotPolicy {
    PilotPolicy::Acquire {
        acquisition: AcquisitionPolicy::find(name).expect("a policy"),
        idle: Some(idle),
    }
}

fn fixed(words: &str) -> PilotPolicy {
    PilotPolicy::Fixed {
        migration: MigrationSpec::parse(words).expect("a policy"),
    }
}

fn secs(secs: i64) -> Span {
    Span::from_secs(secs)
}

/// Returns `count` tasks of this length that are submitted at once.
fn tasks(count: usize, runtime: i64, deadline: i64) -> Vec<PilotTask> {
    let task = PilotTask {
        submit: Instant::from_secs(1000),
        runtime: secs(runtime),
        estimate: secs(runtime),
        belief: Distribution::new([secs(runtime); N_LEVELS]),
        deadline: Some(secs(deadline)),
    };
    vec![task; count]
}

/// Returns a site of 8 processors of which others have as many until the given instants, besides `tasks`.
fn one_site(busy: &[(u32, i64)], tasks: Vec<PilotTask>) -> SitesConfig {
    let others = busy.iter().map(|&(procs, until)| OtherJob {
        submit: Instant::ZERO,
        procs,
        runtime: secs(until),
        limit: secs(until),
    });
    SitesConfig {
        queues: vec![QueueConfig {
            procs: 8,
            others: others.collect(),
        }],
        hides_jobs: false,
        shape: PilotShape {
            cores: 2,
            time: secs(600),
        },
        at_most: 4,
        fixed: 2,
        tasks,
        every: secs(15),
        stop: Instant::from_secs(100_000),
    }
}

/// Returns two sites with generated jobs of others, and tasks from a seed.
fn generated(seed: u64) -> SitesConfig {
    let queue = |seed| {
        let machine = GeneratedMachine::LogUniform {
            nodes: 32,
            max_width: 16,
            load: 1.5,
        };
        let generator = WorkloadGenerator {
            jobs: 600,
            seed,
            machine,
            ..WorkloadGenerator::default()
        };
        QueueConfig::of_record(32, &generator.trace().jobs)
    };
    let stream = TaskStream {
        tasks: 60,
        begin: Instant::from_secs(86_400),
        within: secs(4 * 3600),
        burst: BURST,
        run: (secs(60), secs(900)),
        spread: 1.5,
        deadline: (secs(3600), secs(6 * 3600)),
        seed,
    };
    SitesConfig {
        queues: vec![queue(seed), queue(seed + 100)],
        hides_jobs: false,
        shape: PilotShape {
            cores: 4,
            time: secs(3600),
        },
        at_most: 8,
        fixed: 3,
        tasks: stream.tasks(),
        every: secs(15),
        stop: Instant::from_secs(30 * 86_400),
    }
}

fn all_policies() -> Vec<PilotPolicy> {
    let names = ACQUISITION_POLICIES.iter().map(|policy| policy.name);
    let of_work = PilotPolicy::Acquire {
        acquisition: AcquisitionPolicy::DEFAULT,
        idle: None,
    };
    let acquired = names.map(|name| policy(name, IDLE)).chain([of_work]);
    acquired
        .chain(["none", "paper", "marginal"].map(fixed))
        .collect()
}

#[test]
fn pilot_that_starts_at_once_keeps_the_promise_of_every_task() {
    let config = one_site(&[], tasks(8, 100, 1000));
    let outcome = run_sites(&config, &policy("all-at-once", IDLE));
    assert_eq!(
        (outcome.promised, outcome.kept, outcome.finished),
        (8, 8, 8)
    );
    assert_eq!((outcome.pilots, outcome.without_cores_s), (4, 0.0));
    // Eight tasks of 100 s on four pilots of two cores, which then are idle for a minute.
    let hours = |core_s: f64| core_s / 3600.0;
    assert!(
        (outcome.core_hours - hours(8.0 * 160.0)).abs() < 1e-9,
        "{outcome:?}"
    );
    assert!((outcome.wasted_core_hours - hours(8.0 * 60.0)).abs() < 1e-9);
}

#[test]
fn tasks_wait_for_the_queue_of_the_site() {
    // All processors are taken until 1500, and the tasks come at 1000.
    let config = one_site(&[(8, 1500)], tasks(4, 60, 2000));
    let outcome = run_sites(&config, &policy("work", IDLE));
    assert_eq!((outcome.finished, outcome.kept), (4, 4));
    assert_eq!(outcome.without_cores_s, 500.0);
    assert_eq!(outcome.promise_wait_s, Some(500.0));
}

#[test]
fn tasks_that_a_pilot_cannot_end_run_again_in_the_next_one() {
    // A belief of 60 s, and 700 s in truth: longer than a pilot.
    let mut config = one_site(&[], tasks(1, 60, 2000));
    config.tasks[0].runtime = secs(700);
    config.stop = Instant::from_secs(5000);
    let outcome = run_sites(&config, &policy("static", IDLE));
    assert_eq!((outcome.finished, outcome.kept), (0, 0));
    assert!(outcome.pilots > 4, "{outcome:?}");
    config.shape.time = secs(800);
    assert_eq!(run_sites(&config, &policy("static", IDLE)).finished, 1);
}

#[test]
fn pilots_leave_sooner_and_waste_less_by_a_shorter_idle_limit() {
    let config = generated(3);
    let wasted = [15, 60, 3600].map(|idle| {
        let idle = IdleLimit::After(secs(idle));
        run_sites(&config, &policy("all-at-once", idle)).wasted_core_hours
    });
    assert!(wasted[0] < wasted[1] && wasted[1] < wasted[2], "{wasted:?}");
}

#[test]
fn every_policy_finishes_the_tasks_and_repeats_itself() {
    let config = generated(1);
    let mut seen: Vec<SitesOutcome> = Vec::new();
    for policy in all_policies() {
        let outcome = run_sites(&config, &policy);
        println!("{policy}: {outcome:?}");
        assert_eq!(outcome, run_sites(&config, &policy), "{policy}");
        assert_eq!((outcome.tasks, outcome.finished), (60, 60), "{policy}");
        assert!(outcome.kept <= outcome.promised && outcome.promised > 0);
        assert!(outcome.wasted_core_hours >= 0.0);
        assert!(outcome.core_hours > outcome.wasted_core_hours);
        assert!(outcome.promise_wait_s <= outcome.promise_wait_p90_s);
        assert!(!seen.contains(&outcome), "{policy} is as another one");
        seen.push(outcome);
    }
}

#[test]
fn promises_are_kept_as_often_as_stated() {
    for (name, hides_jobs) in [("work", false), ("work", true), ("exponential", false)] {
        let run = |seed| {
            let mut config = generated(seed);
            config.hides_jobs = hides_jobs;
            run_sites(&config, &policy(name, IDLE))
        };
        let outcomes: Vec<SitesOutcome> = (1..=15).map(run).collect();
        let kept: usize = outcomes.iter().map(|outcome| outcome.kept).sum();
        let expected: f64 = outcomes.iter().map(|outcome| outcome.expected_kept).sum();
        let promised: usize = outcomes.iter().map(|outcome| outcome.promised).sum();
        println!("{name}, hidden {hides_jobs}: kept {kept} of {promised}, expected {expected}");
        // The tasks of a burst wait for the same pilots, and their promises break together. The size of a burst is geometric
        // with mean 6, so the variance is larger by the mean of its square over its mean.
        let of_burst = 2.0 * BURST - 1.0;
        let broken = promised as f64 - expected;
        let least = expected - 2.0 * (of_burst * broken).sqrt();
        assert!(kept as f64 >= least, "{name}: {kept} {expected}");
        assert!(promised > 600, "{name}: {promised}");
    }
}
