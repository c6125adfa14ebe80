//! Commands for one task of an array, in each state that the task can have.

use tollgate_model::{Instant, Market, Span, TaskId};
use tollgate_service::{
    ArraySpec, CommandError, CommandResult, Core, ServiceCommand, Submission, SubmissionOptions,
    TaskRanges,
};

use crate::common::core_driver::CoreDriver;
use crate::common::{TestCluster, rules, submission};

const N_TASKS: u32 = 12;
const RUN_S: i64 = 100;
/// The task that the commands name; tasks before it start before it.
const TASK: u32 = 9;
/// By then everything has ended that is not held.
const END_S: i64 = 5_000;
const DEADLINE_S: i64 = 4 * END_S;

#[derive(Clone, Copy, Debug)]
enum TaskCommand {
    Cancel,
    Hold,
    Release,
}

impl TaskCommand {
    fn of(self, tasks: &str) -> ServiceCommand {
        let (job, tasks) = (1, Some(tasks.parse().unwrap()));
        match self {
            Self::Cancel => ServiceCommand::Cancel { job, tasks },
            Self::Hold => ServiceCommand::Hold { job, tasks },
            Self::Release => ServiceCommand::Release { job, tasks },
        }
    }
}

/// A state of the task, with what becomes of the commands.
struct TaskStateCase {
    name: &'static str,
    reach: fn() -> CoreDriver,
    cancel: Result<(), CommandError>,
    hold: Result<(), CommandError>,
    release: Result<(), CommandError>,
}

const HELD: TaskStateCase = TaskStateCase {
    name: "",
    reach: held_with_its_array,
    cancel: Ok(()),
    hold: Err(CommandError::NoTask),
    release: Ok(()),
};
const WAITING: TaskStateCase = TaskStateCase {
    hold: Ok(()),
    release: Err(CommandError::NoTask),
    ..HELD
};
const OVER: TaskStateCase = TaskStateCase {
    cancel: Err(CommandError::NoTask),
    release: Err(CommandError::NoTask),
    ..HELD
};

const fn refused(error: CommandError) -> TaskStateCase {
    TaskStateCase {
        name: "",
        reach: held_with_its_array,
        cancel: Err(error),
        hold: Err(error),
        release: Err(error),
    }
}

#[rustfmt::skip]
const STATES: [TaskStateCase; 17] = [
    TaskStateCase { name: "held with its array", reach: held_with_its_array, ..HELD },
    TaskStateCase { name: "held before the decision", reach: || after(begins_later(), TaskCommand::Hold), ..HELD },
    TaskStateCase { name: "of an array that begins later", reach: begins_later, ..WAITING },
    TaskStateCase { name: "released before the decision", reach: || after(held_and_later(), TaskCommand::Release), ..WAITING },
    TaskStateCase { name: "cancelled before the decision", reach: || after(held_with_its_array(), TaskCommand::Cancel), ..OVER },
    TaskStateCase { name: "not in the gate", reach: not_in_the_gate, ..WAITING },
    TaskStateCase { name: "not in the gate, held", reach: || after(not_in_the_gate(), TaskCommand::Hold), ..HELD },
    TaskStateCase { name: "waiting for its turn", reach: limited, ..WAITING },
    TaskStateCase { name: "in a group", reach: in_a_group, ..WAITING },
    TaskStateCase { name: "held in a group", reach: || after(in_a_group(), TaskCommand::Hold), ..HELD },
    TaskStateCase { name: "in a group taken over", reach: || taken_over(in_a_group()), ..WAITING },
    TaskStateCase { name: "held in a group taken over", reach: || taken_over(after(in_a_group(), TaskCommand::Hold)), ..HELD },
    TaskStateCase { name: "running", reach: running, release: Err(CommandError::NoTask), ..HELD },
    TaskStateCase { name: "ended", reach: ended, ..OVER },
    TaskStateCase { name: "cancelled", reach: || after(in_a_group(), TaskCommand::Cancel), ..OVER },
    TaskStateCase { name: "of an array that is over", reach: || later(in_a_group(), END_S), ..refused(CommandError::UnknownJob) },
    TaskStateCase { name: "of a job without tasks", reach: no_array, ..refused(CommandError::NoArray) },
];

fn submitted(policy: &str, options: SubmissionOptions) -> CoreDriver {
    let mut driver = CoreDriver::new(&rules(policy, Market::None));
    let array = Submission {
        budget: None,
        deadline: Some(Span::from_secs(DEADLINE_S)),
        options,
        ..submission("sim", 2 * RUN_S)
    };
    driver.submit(1, array, RUN_S);
    driver
}

fn tasks(max_at_once: Option<u32>) -> SubmissionOptions {
    SubmissionOptions {
        array: Some(ArraySpec {
            tasks: TaskRanges::new(1, N_TASKS),
            max_at_once,
        }),
        ..SubmissionOptions::default()
    }
}

fn held_with_its_array() -> CoreDriver {
    let held = true;
    submitted(
        "plan",
        SubmissionOptions {
            held,
            ..tasks(None)
        },
    )
}

fn begins_later() -> CoreDriver {
    submitted("plan", later_tasks(false))
}

fn held_and_later() -> CoreDriver {
    submitted("plan", later_tasks(true))
}

fn later_tasks(held: bool) -> SubmissionOptions {
    SubmissionOptions {
        begin: Some(Instant::from_secs(2_000)),
        held,
        ..tasks(None)
    }
}

fn not_in_the_gate() -> CoreDriver {
    let driver = submitted("fcfs", tasks(None));
    assert!(driver.core.array(1).unwrap().is_pending(TASK));
    driver
}

fn limited() -> CoreDriver {
    submitted("plan", tasks(Some(2)))
}

fn in_a_group() -> CoreDriver {
    let driver = submitted("plan", tasks(None));
    assert!(driver.core.array(1).unwrap().group_of(TASK).is_some());
    driver
}

fn no_array() -> CoreDriver {
    submitted("plan", SubmissionOptions::default())
}

fn running() -> CoreDriver {
    let driver = later(in_a_group(), 5 * RUN_S / 2);
    assert!(has_started(&driver));
    driver
}

fn ended() -> CoreDriver {
    later(in_a_group(), 7 * RUN_S / 2)
}

fn later(mut driver: CoreDriver, secs: i64) -> CoreDriver {
    driver.wait(secs);
    driver
}

fn after(mut driver: CoreDriver, command: TaskCommand) -> CoreDriver {
    assert_eq!(result(&mut driver, command), Ok(()), "{command:?}");
    driver
}

/// Lets another policy go on with the jobs.
fn taken_over(mut driver: CoreDriver) -> CoreDriver {
    let edf = rules("edf", Market::None);
    let core = std::mem::replace(&mut driver.core, Core::new(edf.clone()));
    driver.core = core.take_over(edf);
    driver
}

fn result(driver: &mut CoreDriver, command: TaskCommand) -> Result<(), CommandError> {
    let step = driver.step(&[command.of(&TASK.to_string())]);
    match step.results[..] {
        [CommandResult::Done] => Ok(()),
        [CommandResult::Ignored(error)] => Err(error),
        _ => panic!("{:?}", step.results),
    }
}

fn has_started(driver: &CoreDriver) -> bool {
    let task = TaskId { job: 1, task: TASK };
    driver.started.keys().any(|attempt| attempt.task() == task)
}

#[test]
fn command_for_a_task_depends_on_its_state() {
    for state in &STATES {
        let left_alone = later((state.reach)(), END_S);
        for (command, expected) in [
            (TaskCommand::Cancel, state.cancel),
            (TaskCommand::Hold, state.hold),
            (TaskCommand::Release, state.release),
        ] {
            let what = format!("{command:?} {}", state.name);
            let mut driver = (state.reach)();
            let before = has_started(&driver);
            assert_eq!(result(&mut driver, command), expected, "{what}");
            driver.wait(END_S);
            let starts = match (expected, command) {
                (Ok(()), TaskCommand::Cancel | TaskCommand::Hold) => before,
                (Ok(()), TaskCommand::Release) => true,
                (Err(_), _) => has_started(&left_alone),
            };
            assert_eq!(has_started(&driver), starts, "{what}");
            if (expected, before) == (Ok(()), false) && matches!(command, TaskCommand::Hold) {
                let mut driver = after(driver, TaskCommand::Release);
                driver.wait(END_S);
                assert!(has_started(&driver), "{what}, released again");
            }
        }
    }
}

#[test]
fn tasks_of_an_array_held_at_its_submission_are_cancelled_and_released_one_by_one() {
    let mut site = TestCluster::in_market("plan", Market::None);
    let held = true;
    let array = Submission {
        budget: None,
        deadline: None,
        options: SubmissionOptions {
            held,
            ..tasks(None)
        },
        ..submission("sim", 10)
    };
    site.submit_job(array, &["work", "5"]).unwrap();
    let counts = |site: &TestCluster| {
        let row = site.row(1);
        let array = row.array.unwrap();
        (
            row.state,
            array.counts.held,
            array.counts.queued,
            array.counts.cancelled,
            array.counts.finished,
        )
    };
    let act = |site: &mut TestCluster, command| {
        site.request(
            |reply| tollgate_server::controller::ControllerRequest::Command {
                user: None,
                command,
                reply,
            },
        )
        .unwrap();
        site.restart();
    };
    act(&mut site, TaskCommand::Cancel.of("2-4"));
    assert_eq!(counts(&site), ("held".to_owned(), 9, 0, 3, 0));
    act(&mut site, TaskCommand::Release.of("7"));
    site.advance(10);
    assert_eq!(counts(&site), ("held".to_owned(), 8, 0, 3, 1));
    act(&mut site, TaskCommand::Cancel.of("1,5"));
    act(&mut site, TaskCommand::Release.of("6-12"));
    site.advance(60);
    assert_eq!(counts(&site), ("cancelled".to_owned(), 0, 0, 5, 7));
}
