//! Tasks of an array that wait in one slot of the gate: what happens to some of them, and to all of them.

use proptest::prelude::*;
use tollgate_model::{Market, Span, TaskId};
use tollgate_service::{
    ArraySpec, CommandError, CommandResult, Core, JobChange, ServiceCommand, Submission,
    SubmissionOptions, TaskRanges,
};

use crate::common::core_driver::CoreDriver;
use crate::common::{rules, submission};

const N_TASKS: u32 = 24;
const RUN_S: i64 = 60;

/// Submits tasks of a minute each, for which twice the time is asked, to three nodes.
fn driver(deadline_s: i64) -> CoreDriver {
    let mut driver = CoreDriver::new(&rules("plan", Market::None));
    driver.submit(1, array(deadline_s), RUN_S);
    driver
}

fn array(deadline_s: i64) -> Submission {
    Submission {
        budget: None,
        deadline: Some(Span::from_secs(deadline_s)),
        options: SubmissionOptions {
            array: Some(ArraySpec {
                tasks: TaskRanges::new(1, N_TASKS),
                max_at_once: None,
            }),
            ..SubmissionOptions::default()
        },
        ..submission("sim", 2 * RUN_S)
    }
}

fn alter(change: JobChange) -> ServiceCommand {
    ServiceCommand::Alter { job: 1, change }
}

fn group_of(driver: &CoreDriver, task: u32) -> Option<String> {
    let group = driver.core.array(1)?.group_of(task)?;
    Some(group.tasks.to_string())
}

/// A change of tasks by their user.
#[derive(Clone, Copy, Debug)]
enum TaskAction {
    Hold,
    Release,
    Cancel,
    /// Gives all that wait another deadline, counted from now.
    Due(i64),
    /// Limits how many run.
    Limit(u32),
}

impl TaskAction {
    fn command(self, tasks: TaskRanges) -> ServiceCommand {
        let (job, tasks) = (1, Some(tasks));
        match self {
            Self::Hold => ServiceCommand::Hold { job, tasks },
            Self::Release => ServiceCommand::Release { job, tasks },
            Self::Cancel => ServiceCommand::Cancel { job, tasks },
            Self::Due(left_s) => alter(JobChange {
                deadline: Some((left_s > 0).then_some(Span::from_secs(left_s))),
                ..JobChange::default()
            }),
            Self::Limit(limit) => alter(JobChange {
                max_at_once: Some((limit > 0).then_some(limit)),
                ..JobChange::default()
            }),
        }
    }
}

#[test]
fn tasks_that_start_leave_their_group_and_those_that_are_held_form_another() {
    let mut driver = driver(30_000);
    assert_eq!(group_of(&driver, 24).as_deref(), Some("4-24"));
    assert_eq!(group_of(&driver, 3), None);
    driver.step(&[TaskAction::Hold.command("10-12".parse().unwrap())]);
    assert_eq!(group_of(&driver, 11).as_deref(), Some("10-12"));
    assert_eq!(group_of(&driver, 24).as_deref(), Some("4-9,13-24"));
    assert_eq!(driver.core.array(1).unwrap().counts().held, 3);
    assert_eq!(driver.core.n_open_promises(None), 24);
    driver.step(&[TaskAction::Cancel.command("5-20".parse().unwrap())]);
    assert_eq!(group_of(&driver, 11), None);
    assert_eq!(group_of(&driver, 24).as_deref(), Some("4,21-24"));
    assert_eq!(driver.core.n_open_promises(None), 8);
    driver.wait(10 * RUN_S);
    assert_eq!(driver.ends.len(), 8);
}

#[test]
fn promise_to_a_group_is_broken_once_for_each_task() {
    // All but the first three are held until their deadline has passed.
    let mut driver = driver(3_000);
    driver.step(&[TaskAction::Hold.command(TaskRanges::new(1, N_TASKS))]);
    driver.wait(3_100);
    let counts = driver.core.array(1).unwrap().counts();
    assert_eq!((counts.kept, counts.broken), (3, N_TASKS - 3));
    driver.step(&[TaskAction::Release.command(TaskRanges::new(1, N_TASKS))]);
    driver.wait(6 * RUN_S + 10);
    assert_eq!(driver.core.array(1).unwrap().counts().broken, N_TASKS - 3);
    driver.wait(RUN_S);
    assert_eq!(driver.ends.len(), N_TASKS as usize);
}

#[test]
fn tasks_of_a_group_start_in_their_order() {
    let driver = driver(30_000);
    let start = |task| {
        let prediction = driver.core.predict(driver.now, TaskId { job: 1, task });
        prediction.expect("it starts").start
    };
    let starts: Vec<_> = (1..=N_TASKS).map(start).collect();
    assert!(starts.is_sorted(), "{starts:?}");
    assert!(starts[3] > driver.now && starts[3] < starts[23]);
}

#[test]
fn held_tasks_and_jobs_have_no_start() {
    let mut driver = driver(30_000);
    driver.step(&[TaskAction::Hold.command("10-12,24".parse().unwrap())]);
    driver.submit(2, submission("other", RUN_S), RUN_S);
    let hold = |job| ServiceCommand::Hold { job, tasks: None };
    driver.step(&[hold(2)]);
    for (job, task) in [(1, 11), (1, 24), (2, 0)] {
        let prediction = driver.core.predict(driver.now, TaskId { job, task });
        assert_eq!(prediction, None, "{job}_{task}");
    }
    let prediction = driver.core.predict(driver.now, TaskId { job: 1, task: 23 });
    assert!(prediction.is_some());
}

#[test]
fn policy_that_knows_no_groups_takes_over_each_task() {
    // No task can be promised while others run, so all wait without.
    let mut driver = CoreDriver::new(&rules("plan", Market::None));
    for job in 1..=3 {
        let other = Submission {
            deadline: None,
            ..submission("other", 2 * RUN_S)
        };
        driver.submit(job, other, RUN_S);
    }
    driver.submit(4, array(500), RUN_S);
    let in_groups = |driver: &CoreDriver| {
        let groups = driver.core.array(4).expect("it is not over").groups();
        groups.iter().map(|group| group.n_tasks()).sum::<u32>()
    };
    assert_eq!(in_groups(&driver), N_TASKS);
    let easy = rules("easy", Market::None);
    assert_eq!(driver.core.takeover_obstacle(&easy), None);
    let core = std::mem::replace(&mut driver.core, Core::new(easy.clone()));
    driver.core = core.take_over(easy);
    driver.core.check_invariants().unwrap();
    assert_eq!(in_groups(&driver), 0);
    driver.wait(9 * RUN_S);
    assert_eq!(driver.ends.len(), N_TASKS as usize + 3);
}

/// Returns what becomes of a change of an array.
fn altered(driver: &mut CoreDriver, action: TaskAction) -> CommandResult {
    let step = driver.step(&[action.command(TaskRanges::default())]);
    step.results.into_iter().next().expect("one result")
}

#[test]
fn tasks_that_wait_are_promised_for_another_deadline_together() {
    let mut driver = driver(3_000);
    let due = |driver: &CoreDriver, task| {
        let task = TaskId { job: 1, task };
        driver.core.job(task).expect("it waits").spec.due()
    };
    let first = due(&driver, 24);
    driver.step(&[TaskAction::Hold.command("10-12".parse().unwrap())]);
    let done = altered(&mut driver, TaskAction::Due(9_000));
    assert!(matches!(done, CommandResult::Altered { .. }), "{done:?}");
    let later = Some(driver.now + Span::from_secs(9_000));
    assert_eq!((due(&driver, 24), due(&driver, 11)), (later, later));
    assert_eq!(due(&driver, 1), first, "it runs");
    assert_eq!(driver.core.n_open_promises(None), N_TASKS as usize);
    assert_eq!(group_of(&driver, 11).as_deref(), Some("10-12"));
    assert_eq!(driver.core.array(1).unwrap().counts().held, 3);
    // They run for at least half an hour.
    let before = driver.core.array(1).unwrap().counts();
    let done = altered(&mut driver, TaskAction::Due(120));
    assert!(matches!(done, CommandResult::Unaltered { .. }), "{done:?}");
    assert_eq!(due(&driver, 24), later);
    assert_eq!(driver.core.array(1).unwrap().counts(), before);
    driver.step(&[TaskAction::Release.command("10-12".parse().unwrap())]);
    driver.wait(9 * RUN_S);
    assert_eq!(driver.ends.len(), N_TASKS as usize);
}

#[test]
fn limit_of_running_tasks_is_set_and_lifted_while_they_wait() {
    let mut driver = driver(3_000);
    let done = altered(&mut driver, TaskAction::Limit(1));
    let refused = CommandResult::Ignored(CommandError::LimitOfPromised);
    assert_eq!(done, refused);
    altered(&mut driver, TaskAction::Due(0));
    assert_eq!(driver.core.n_open_promises(None), 3, "those that run");
    altered(&mut driver, TaskAction::Limit(1));
    driver.wait(RUN_S + 1);
    let running = |driver: &CoreDriver| driver.core.array(1).unwrap().counts().running;
    assert_eq!(running(&driver), 1);
    driver.wait(RUN_S);
    assert_eq!((running(&driver), driver.ends.len()), (1, 4));
    altered(&mut driver, TaskAction::Limit(0));
    assert_eq!(running(&driver), 3);
    driver.wait(8 * RUN_S);
    assert_eq!(driver.ends.len(), N_TASKS as usize);
}

fn action() -> impl Strategy<Value = (TaskAction, u32, u32, i64)> {
    let action = prop_oneof![
        2 => Just(TaskAction::Hold),
        2 => Just(TaskAction::Release),
        1 => Just(TaskAction::Cancel),
        1 => prop::sample::select(vec![0i64, 100, 900, 8_000]).prop_map(TaskAction::Due),
        1 => (0u32..5).prop_map(TaskAction::Limit),
    ];
    (action, 1..=N_TASKS, 0u32..10, 0i64..100)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    /// The driver checks the invariants of the service at each step.
    #[test]
    fn whatever_is_done_to_tasks_each_ends_once(
        actions in prop::collection::vec(action(), 0..12),
        deadline_s in prop_oneof![Just(300i64), Just(700), Just(5_000)],
    ) {
        let mut driver = driver(deadline_s);
        for (action, first, more, wait_s) in actions {
            let last = (first + more).min(N_TASKS);
            driver.step(&[action.command(TaskRanges::new(first, last))]);
            driver.wait(wait_s);
        }
        driver.step(&[TaskAction::Release.command(TaskRanges::new(1, N_TASKS))]);
        // All but the end of the last task.
        while let Some(array) = driver.core.array(1) {
            let counts = array.counts();
            let n_over = counts.finished + counts.cancelled + counts.rejected;
            let n_waiting = counts.queued + counts.held + u64::from(counts.running);
            prop_assert_eq!(u64::from(n_over) + n_waiting, u64::from(N_TASKS));
            prop_assert!(counts.held == 0 && n_waiting > 0, "{:?}", counts);
            driver.wait(RUN_S / 2);
        }
        let n_ended: std::collections::BTreeSet<u32> =
            driver.ends.keys().map(|attempt| attempt.task).collect();
        prop_assert_eq!(n_ended.len(), driver.ends.len());
    }
}
