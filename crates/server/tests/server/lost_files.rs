//! The files of a job that was lost and runs again: standard input and errors are those of its first attempt.

use std::path::Path;

use tollgate_engine::sim_engine::SimProgram;
use tollgate_engine::{LaunchSpec, SimHost};
use tollgate_gate::OnEviction;
use tollgate_model::{AttemptId, AttemptStatus, Span};
use tollgate_server::controller::{ControllerRequest, NewJob, RequestedTimes};
use tollgate_service::Submission;
use tollgate_store::JobProgram;

use crate::common::{TestCluster, program, submission};

/// Ends after 5 s, with exit code 0 if its files are the expected ones.
fn checked(launch: &LaunchSpec) -> SimProgram {
    let restarts = launch.attempt.attempt - 1;
    let error = format!("errors-1-{restarts}");
    let is_expected = launch.input.as_deref() == Some(Path::new("lines-1"))
        && launch.error.as_deref() == Some(Path::new(&error))
        && launch.output.as_deref() == Some(Path::new("out"))
        && launch.append == (restarts > 0);
    SimProgram {
        status: AttemptStatus::Exited(if is_expected { 0 } else { 9 }),
        ..SimProgram::busy(Span::from_secs(5))
    }
}

#[test]
fn lost_job_has_its_files_again_and_appends() {
    let mut site = TestCluster::new("fcfs");
    site.world = SimHost::new(2, 1 << 30, checked);
    site.restart();
    let submission = Submission {
        retry: OnEviction::Requeue,
        ..submission("checked", 10)
    };
    let program = JobProgram {
        output: Some("out".to_owned()),
        error: Some("errors-%j-%r".to_owned()),
        input: Some("lines-%j".to_owned()),
        ..program(&["checked"])
    };
    let submitted = site.request(|reply| {
        ControllerRequest::submit(NewJob {
            submission,
            times: RequestedTimes::default(),
            program: Box::new(program),
            reply,
        })
    });
    let job = submitted.unwrap().job;
    site.advance(2);
    site.world.mark_lost(AttemptId {
        job,
        task: 0,
        attempt: 1,
    });
    site.advance(10);
    assert_eq!(site.row(job).attempts, 2);
    assert_eq!(
        site.state(job),
        ("finished".to_owned(), Some("exit 0".to_owned()))
    );
}
