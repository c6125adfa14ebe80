//! A shadow policy next to the real one: it changes no decision, and its results are correct.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed};
use tollgate_model::{Market, Otherwise, Span};
use tollgate_policies::{BUILTIN_POLICIES, builtin_registry};
use tollgate_service::{
    AdmissionRules, ArraySpec, Core, DependencyCondition, JobDependency, ServiceCommand,
    Submission, SubmissionOptions, TaskRanges,
};

use crate::common::core_driver::CoreDriver;
use crate::common::{rules, submission};

/// An action of a user: after `after_s`, submit a job. `then` chooses an extra: cancel or hold the
/// job, release an earlier job, or make the job an array, dependent or held.
#[derive(Clone, Debug)]
struct UserAction {
    after_s: i64,
    procs: u32,
    estimate_s: i64,
    deadline_s: Option<i64>,
    runtime_s: i64,
    then: u32,
}

fn user_action() -> impl Strategy<Value = UserAction> {
    (
        0i64..20,
        1u32..4,
        1i64..60,
        prop::option::of(1i64..200),
        1i64..60,
        0u32..12,
    )
        .prop_map(
            |(after_s, procs, estimate_s, deadline_s, runtime_s, then)| UserAction {
                after_s,
                procs,
                estimate_s,
                deadline_s,
                runtime_s,
                then,
            },
        )
}

fn cancel(job: u64) -> ServiceCommand {
    ServiceCommand::Cancel { job, tasks: None }
}

/// Makes some jobs an array or dependent on another job.
fn plan(action: &UserAction, job: u64) -> SubmissionOptions {
    let tasks = (action.then == 3).then(|| TaskRanges::new(0, action.procs + 3));
    let after = (action.then == 4 && job > 1).then_some(JobDependency {
        job: job / 2,
        condition: DependencyCondition::AnyEnd,
    });
    SubmissionOptions {
        auto_memory: None,
        unpredictable: Default::default(),
        give_up: None,
        array: tasks.map(|tasks| ArraySpec {
            tasks,
            max_at_once: None,
        }),
        dependencies: after.into_iter().collect(),
        begin: None,
        held: action.then == 5,
        submitted: None,
        otherwise: Otherwise::Wait,
        drop_late: false,
        partial: false,
        time_limit: None,
        one_host: false,
        host: None,
        resources: Default::default(),
        retries: None,
        early: Default::default(),
    }
}

fn play(world: &mut CoreDriver, actions: &[UserAction], takes_back: bool) {
    for (action, job) in actions.iter().zip(1..) {
        world.wait(action.after_s);
        let submission = Submission {
            procs: action.procs,
            deadline: action.deadline_s.map(Span::from_secs),
            options: if takes_back {
                plan(action, job)
            } else {
                SubmissionOptions::default()
            },
            ..submission("work", action.estimate_s)
        };
        world.submit(job, submission, action.runtime_s);
        match action.then {
            0 if takes_back => drop(world.step(&[cancel(job)])),
            1 if takes_back => drop(world.step(&[ServiceCommand::Hold { job, tasks: None }])),
            2 if takes_back => drop(world.step(&[ServiceCommand::Release {
                job: job / 2,
                tasks: None,
            }])),
            _ => {}
        }
    }
    world.run(world.now + Span::from_secs(100_000));
}

fn with_shadow(rules: &AdmissionRules, shadow: &str) -> AdmissionRules {
    AdmissionRules {
        shadow: Some(builtin_registry().named(shadow).unwrap()),
        ..rules.clone()
    }
}

proptest! {
    #![proptest_config(Config { cases: 96, rng_seed: RngSeed::Fixed(7), ..Config::default() })]

    #[test]
    fn shadow_policy_never_changes_decisions(
        deeds in prop::collection::vec(user_action(), 1..30),
        policy in 0..BUILTIN_POLICIES.len(),
        shadow in 0..BUILTIN_POLICIES.len(),
    ) {
        let (named, shadow) = (&BUILTIN_POLICIES[policy], &BUILTIN_POLICIES[shadow]);
        let shared = named.markets.iter().find(|market| shadow.markets.contains(market));
        prop_assume!(shared.is_some());
        let alone = AdmissionRules { confidence: 500_000, ..rules(named.name, *shared.unwrap()) };
        let mut one = CoreDriver::new(&alone);
        play(&mut one, &deeds, true);
        let mut other = CoreDriver::new(&with_shadow(&alone, shadow.name));
        play(&mut other, &deeds, true);
        prop_assert_eq!(&one.decisions, &other.decisions);
        // Only held jobs, and jobs that depend on them, are left.
        let live = other.core.unfinished().tasks;
        prop_assert!(other.comparison().undecided <= live);
    }

    #[test]
    fn shadow_of_the_same_policy_has_the_same_results(
        deeds in prop::collection::vec(user_action(), 1..40),
        policy in prop::sample::select(vec![
            "fcfs", "easy", "conservative", "edf", "fcfs-bf", "sjf-bf", "edf-bf", "first-reward",
        ]),
    ) {
        let named = BUILTIN_POLICIES.iter().find(|named| named.name == policy).unwrap();
        let alone = rules(policy, named.markets[0]);
        let mut world = CoreDriver::new(&with_shadow(&alone, policy));
        play(&mut world, &deeds, false);
        let both = world.comparison();
        prop_assert_eq!(both.real, both.paper);
        prop_assert_eq!(both.real.books.submitted(), deeds.len() as u64);
        prop_assert_eq!((both.by_forecast, both.undecided), (0, 0));
    }
}

#[test]
fn rejected_job_ends_on_paper_by_forecast_and_is_counted_so() {
    let real = rules("edf-bf", Market::None);
    let mut world = CoreDriver::new(&with_shadow(&real, "fcfs"));
    // Rejected under both policies: the deadline is impossible.
    world.submit(1, submission("wide", 10), 10);
    let hopeless = Submission {
        deadline: Some(Span::from_secs(5)),
        ..submission("late", 40)
    };
    world.submit(2, hopeless, 40);
    world.wait(1_000);
    let both = world.comparison();
    assert_eq!(
        (both.real.books.submitted(), both.real.books.accepted()),
        (2, 1)
    );
    assert_eq!(
        (both.paper.books.submitted(), both.paper.books.accepted()),
        (2, 2)
    );
    // On paper the job ended after the forecast run time, past its deadline.
    assert_eq!(both.paper.books.kept(), 1);
    assert_eq!((both.by_forecast, both.undecided), (1, 0));
}

#[test]
fn cancelled_job_is_counted_under_neither_policy() {
    let mut world = CoreDriver::new(&with_shadow(&rules("fcfs", Market::None), "easy"));
    world.submit(1, submission("work", 10), 10);
    world.step(&[cancel(1)]);
    world.wait(100);
    let both = world.comparison();
    assert_eq!((both.real.books.submitted(), both.undecided), (0, 0));
    assert_eq!((both.running, both.queued), (0, 0));
}

#[test]
fn reserved_quote_is_submitted_on_paper_once_claimed() {
    let mut world = CoreDriver::new(&with_shadow(&rules("libra", Market::None), "fcfs"));
    let held = Submission {
        reserve_for: Some(Span::from_secs(60)),
        ..submission("work", 10)
    };
    world.submit(1, held, 10);
    assert_eq!(world.comparison().undecided, 0);
    world.step(&[ServiceCommand::Claim { job: 1 }]);
    assert_eq!(world.comparison().undecided, 1);
    world.wait(1_000);
    let both = world.comparison();
    assert_eq!((both.real.books.kept(), both.paper.books.kept()), (1, 1));
}

#[test]
fn shadow_that_starts_late_adopts_the_unfinished_jobs() {
    let real = rules("fcfs", Market::None);
    let mut world = CoreDriver::new(&real);
    for job in 1..=4 {
        world.submit(job, submission("old", 50), 50);
    }
    world.wait(20);
    // The service restarts with a shadow policy in its configuration.
    world.core = Core::restore(world.core.save(), with_shadow(&real, "easy"));
    let both = world.comparison();
    assert_eq!((both.running, both.queued), (3, 1), "as it is for real");
    assert_eq!(both.undecided, 0, "no comparison covers what began before");
    let tight = Submission {
        deadline: Some(Span::from_secs(85)),
        ..submission("new", 50)
    };
    world.submit(5, tight, 50);
    world.wait(1_000);
    let both = world.comparison();
    // Three jobs end after 30 more seconds, so under both policies the new job runs from 30 to 80.
    assert_eq!(
        (both.real.books.submitted(), both.real.books.kept()),
        (1, 1)
    );
    assert_eq!(both.real, both.paper);
}

#[test]
fn array_tasks_and_released_dependent_jobs_are_submitted_on_paper() {
    let mut world = CoreDriver::new(&with_shadow(&rules("easy", Market::None), "fcfs"));
    let array = Submission {
        options: SubmissionOptions {
            array: Some(ArraySpec {
                tasks: TaskRanges::new(0, 9),
                max_at_once: None,
            }),
            ..SubmissionOptions::default()
        },
        deadline: None,
        ..submission("work", 10)
    };
    world.submit(1, array, 10);
    let after = Submission {
        options: SubmissionOptions {
            dependencies: vec![JobDependency {
                job: 1,
                condition: DependencyCondition::AnyEnd,
            }],
            ..SubmissionOptions::default()
        },
        deadline: None,
        ..submission("then", 10)
    };
    world.submit(2, after, 10);
    world.wait(1_000);
    let both = world.comparison();
    assert_eq!(
        (both.real.books.submitted(), both.real.books.no_deadline()),
        (11, 11)
    );
    assert_eq!((both.by_forecast, both.undecided), (0, 0));
    assert_eq!(both.real, both.paper);
}

#[test]
fn changed_shadow_policy_starts_from_scratch() {
    let real = rules("fcfs", Market::None);
    let mut world = CoreDriver::new(&with_shadow(&real, "easy"));
    world.submit(1, submission("work", 10), 10);
    world.wait(100);
    assert_eq!(world.comparison().real.books.submitted(), 1);
    world.core = Core::restore(world.core.save(), with_shadow(&real, "easy"));
    assert_eq!(
        world.comparison().real.books.submitted(),
        1,
        "the same goes on"
    );
    world.core = Core::restore(world.core.save(), with_shadow(&real, "edf"));
    let both = world.comparison();
    assert_eq!(
        (both.policy.as_str(), both.real.books.submitted()),
        ("edf", 0)
    );
}
