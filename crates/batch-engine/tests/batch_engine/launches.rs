//! A task of a batch system gets a signal before its time limit, and its output file.

use std::fs;
use std::path::Path;
use std::time::Duration;

use tollgate_engine::{Engine, LaunchSpec};
use tollgate_model::{
    AttemptEvent, AttemptId, AttemptOutcome, AttemptStatus, LimitWarning, NodeId, Span,
    WarningSignal,
};

use crate::stand_in::StandIn;
use crate::{config, open};

fn launch(job: u64, dir: &Path, script: &str) -> LaunchSpec {
    let attempt = AttemptId {
        job,
        task: 0,
        attempt: 1,
    };
    let words = ["/bin/sh", "-c", script].map(str::to_owned);
    let mut launch = LaunchSpec::new(attempt, vec![NodeId(0)], words, dir);
    launch.env = vec![("PATH".into(), "/usr/bin:/bin".into())];
    launch
}

/// Runs an attempt to its end.
fn run(dir: &Path, launch: LaunchSpec) -> AttemptOutcome {
    let system = open(config(dir), &StandIn::default()).expect("it opens");
    let mut node = system.engine("n1");
    let attempt = launch.attempt;
    node.start(&[launch]).expect("it starts");
    for _ in 0..600 {
        for report in node.poll(Duration::from_millis(100)).expect("it polls") {
            if let AttemptEvent::Ended(ended) = report.event
                && report.attempt == attempt
            {
                return ended;
            }
        }
    }
    panic!("it does not end");
}

#[test]
fn task_gets_its_signal_before_the_time_limit_of_its_job() {
    let dir = tempfile::tempdir().expect("a directory");
    let script = "trap 'exit 7' USR1; while :; do sleep 0.05; done";
    let mut launch = launch(1, dir.path(), script);
    launch.limits.wall = Some(Span::from_secs(60));
    launch.limits.warning = Some(LimitWarning {
        signal: WarningSignal::Usr1,
        // The shell has a second to set its trap.
        before: Span::from_secs(59),
    });
    let ended = run(dir.path(), launch);
    assert_eq!(ended.status, AttemptStatus::Exited(7));
    assert_eq!(ended.killed, None);
}

#[test]
fn output_file_of_a_job_is_emptied_unless_it_is_appended_to() {
    let dir = tempfile::tempdir().expect("a directory");
    let output = dir.path().join("made/out");
    for (job, append, expected) in [(1, false, "1\n"), (2, true, "1\n2\n"), (3, false, "3\n")] {
        let mut launch = launch(job, dir.path(), &format!("echo {job}"));
        launch.output = Some(output.clone());
        launch.append = append;
        let ended = run(dir.path(), launch);
        assert_eq!(ended.status, AttemptStatus::Exited(0));
        let written = fs::read_to_string(&output).expect("it was written");
        assert_eq!(written, expected, "append: {append}");
    }
}
