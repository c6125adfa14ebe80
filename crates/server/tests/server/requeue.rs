//! Running jobs that their users queue again.

use tollgate_server::controller::{ControllerRequest, RequestError};
use tollgate_service::{
    ArraySpec, CommandError, ServiceCommand, Submission, SubmissionOptions, TaskRanges,
};

use crate::common::{TestCluster, submission};

fn requeue(
    site: &mut TestCluster,
    job: u64,
    tasks: Option<TaskRanges>,
) -> Result<(), RequestError> {
    act(site, ServiceCommand::Requeue { job, tasks })
}

fn act(site: &mut TestCluster, command: ServiceCommand) -> Result<(), RequestError> {
    site.request(|reply| ControllerRequest::Command {
        user: None,
        command,
        reply,
    })
}

/// Returns the state of a job and its number of attempts.
fn state(site: &TestCluster, job: u64) -> (String, u32) {
    let row = site.row(job);
    (row.state, row.attempts)
}

#[test]
fn requeued_job_runs_again_from_its_beginning_and_keeps_its_promise() {
    let mut site = TestCluster::new("plan");
    let job = site.submit(&["work", "20"], 20).unwrap().job;
    site.advance(5);
    requeue(&mut site, job, None).unwrap();
    site.restart();
    site.advance(1);
    assert_eq!(state(&site, job), ("running".to_owned(), 2));
    let first = site.reader().attempts(job).unwrap().remove(0);
    assert_eq!(first.status.as_deref(), Some("signal 15 (cancelled)"));
    site.advance(15);
    assert_eq!(state(&site, job), ("running".to_owned(), 2));
    site.advance(6);
    assert_eq!(
        site.state(job),
        ("finished".to_owned(), Some("exit 0".to_owned()))
    );
    assert_eq!(site.entry(job), Some("kept"));
    assert_eq!(state(&site, job).1, 2);
}

#[test]
fn only_a_running_job_is_requeued_and_a_cancelled_one_ends() {
    let mut site = TestCluster::new("fcfs");
    for _ in 0..3 {
        site.submit(&["work", "20"], 20).unwrap();
    }
    let refused = |error| Err(RequestError::Ignored(error));
    assert_eq!(
        requeue(&mut site, 3, None),
        refused(CommandError::NotRunning)
    );
    assert_eq!(
        requeue(&mut site, 99, None),
        refused(CommandError::UnknownJob)
    );
    let tasks = Some(TaskRanges::new(1, 1));
    assert_eq!(requeue(&mut site, 1, tasks), refused(CommandError::NoArray));
    site.tick(vec![]);
    let (requeued, cancelled) = (
        ServiceCommand::Requeue {
            job: 1,
            tasks: None,
        },
        ServiceCommand::Cancel {
            job: 1,
            tasks: None,
        },
    );
    act(&mut site, cancelled).unwrap();
    // It is being ended already.
    let _ = act(&mut site, requeued);
    site.advance(2);
    assert_eq!(state(&site, 1), ("cancelled".to_owned(), 1));
}

#[test]
fn tasks_of_an_array_are_requeued_one_by_one() {
    let mut site = TestCluster::new("easy");
    let array = Submission {
        options: SubmissionOptions {
            array: Some(ArraySpec {
                tasks: TaskRanges::new(1, 2),
                max_at_once: None,
            }),
            ..SubmissionOptions::default()
        },
        deadline: None,
        ..submission("work", 20)
    };
    let job = site.submit_job(array, &["work", "20"]).unwrap().job;
    site.advance(5);
    requeue(&mut site, job, Some(TaskRanges::new(2, 2))).unwrap();
    site.advance(16);
    let tasks = site.reader().tasks(job, None, 10).unwrap().unwrap();
    let found: Vec<_> = tasks
        .iter()
        .map(|task| (task.state.as_str(), task.attempts))
        .collect();
    assert_eq!(found, [("finished", 1), ("running", 2)]);
    site.advance(10);
    assert_eq!(site.state(job).0, "finished");
}
