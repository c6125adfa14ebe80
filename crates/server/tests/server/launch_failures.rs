//! Attempts that cannot be launched: the site's fault is not the job's.

use tokio::sync::oneshot;
use tollgate_model::Instant;
use tollgate_server::controller::{ControllerRequest, TaskOutlook};
use tollgate_service::{
    ArraySpec, FailedLaunches, ServiceCommand, Submission, SubmissionOptions, TaskRanges,
};

use crate::common::{TestCluster, submission};

impl TestCluster {
    fn outlook(&mut self, job: u64) -> TaskOutlook {
        let (reply, mut answer) = oneshot::channel();
        let task = job.into();
        self.tick(vec![ControllerRequest::Explain { task, reply }]);
        answer
            .try_recv()
            .unwrap()
            .unwrap()
            .expect("it is unfinished")
    }

    fn command(&mut self, command: ServiceCommand) {
        let (reply, mut answer) = oneshot::channel();
        let user = None;
        self.tick(vec![ControllerRequest::Command {
            user,
            command,
            reply,
        }]);
        answer.try_recv().unwrap().unwrap();
    }
}

/// Returns a service that has a job whose first `failures` launches fail.
fn with_failures(failures: u32) -> TestCluster {
    let mut site = TestCluster::new("fcfs");
    site.submit(&["no-room", &failures.to_string()], 10)
        .unwrap();
    site
}

fn held_until(count: u32, secs: i64) -> Option<FailedLaunches> {
    Some(FailedLaunches {
        count,
        retry_at: Some(Instant::from_secs(secs)),
    })
}

#[test]
fn job_that_the_site_cannot_launch_is_tried_again_without_requeue() {
    let mut site = with_failures(2);
    site.wait_until(1);
    assert_eq!(site.row(1).state, "held");
    assert_eq!(site.outlook(1).failed_launches, held_until(1, 61));
    site.wait_until(61);
    site.wait_until(62);
    assert_eq!(site.outlook(1).failed_launches, held_until(2, 182));
    // The state survives a restart.
    site.restart();
    assert_eq!(site.outlook(1).failed_launches, held_until(2, 182));
    let next = site.controller().core().next_wake();
    assert!(next <= Some(Instant::from_secs(182)), "{next:?}");
    site.wait_until(182);
    site.wait_until(183);
    let row = site.row(1);
    assert_eq!((row.state.as_str(), row.attempts), ("finished", 3));
    assert_eq!(row.status.as_deref(), Some("exit 0"));
    site.controller().core().check_invariants().unwrap();
}

#[test]
fn job_is_held_after_five_failed_launches_until_it_is_released() {
    let mut site = with_failures(6);
    for secs in 1..2_000 {
        site.wait_until(secs);
    }
    let row = site.row(1);
    assert_eq!((row.state.as_str(), row.attempts), ("held", 5));
    let held = FailedLaunches {
        count: 5,
        retry_at: None,
    };
    assert_eq!(site.outlook(1).failed_launches, Some(held));
    let tasks = None;
    site.command(ServiceCommand::Release { job: 1, tasks });
    site.wait_until(2_001);
    assert_eq!(
        site.outlook(1).failed_launches.map(|failed| failed.count),
        Some(1)
    );
    site.wait_until(2_100);
    site.wait_until(2_101);
    assert_eq!(site.row(1).state, "finished");
}

#[test]
fn promise_of_a_job_that_the_site_cannot_launch_is_judged_by_the_clock() {
    let mut site = with_failures(9);
    let user = rustix::process::geteuid().as_raw();
    for secs in [1, 61, 62, 99] {
        site.wait_until(secs);
    }
    let sums = site.reader().objective_sums(Some(user)).unwrap();
    assert_eq!((sums.books.broken(), sums.books.void()), (0, 0));
    site.wait_until(102);
    let sums = site.reader().objective_sums(Some(user)).unwrap();
    assert_eq!((sums.books.broken(), sums.books.void()), (1, 0));
}

#[test]
fn user_may_hold_a_job_that_waits_for_its_next_launch() {
    let mut site = with_failures(1);
    site.wait_until(1);
    let tasks = None;
    site.command(ServiceCommand::Hold { job: 1, tasks });
    site.wait_until(500);
    assert_eq!(site.row(1).state, "held");
    let tasks = None;
    site.command(ServiceCommand::Release { job: 1, tasks });
    site.wait_until(501);
    assert_eq!(site.row(1).state, "finished");
}

#[test]
fn job_that_waits_for_its_next_launch_can_be_cancelled() {
    let mut site = with_failures(1);
    site.wait_until(1);
    let tasks = None;
    site.command(ServiceCommand::Cancel { job: 1, tasks });
    assert_eq!(site.row(1).state, "cancelled");
    assert_eq!(site.controller().core().next_wake(), None);
}

#[test]
fn tasks_of_an_array_are_tried_again() {
    let mut site = TestCluster::new("easy");
    let array = submission("array", 10);
    let options = SubmissionOptions {
        array: Some(ArraySpec {
            tasks: TaskRanges::new(1, 4),
            max_at_once: None,
        }),
        ..SubmissionOptions::default()
    };
    let array = Submission {
        deadline: None,
        options,
        ..array
    };
    site.submit_job(array, &["no-room", "1"]).unwrap();
    for secs in 1..5 {
        site.wait_until(secs);
    }
    let held = site.row(1).array.expect("an array").counts.held;
    assert_eq!(held, 4);
    for secs in 60..90 {
        site.wait_until(secs);
    }
    let counts = site.row(1).array.expect("an array").counts;
    assert_eq!((counts.finished, counts.held), (4, 0));
    site.controller().core().check_invariants().unwrap();
}

#[test]
fn fault_of_the_job_ends_it() {
    let mut site = TestCluster::new("fcfs");
    site.submit(&["no-such-program"], 10).unwrap();
    site.wait_until(1);
    let row = site.row(1);
    assert_eq!((row.state.as_str(), row.attempts), ("finished", 1));
    assert!(
        row.status
            .is_some_and(|status| status.starts_with("not started: program"))
    );
}
