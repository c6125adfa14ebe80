//! Faults of the engine, and of the service.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tollgate_batch_engine::{BatchEngine, BatchSystem, BatchSystemError};
use tollgate_engine::{Engine, LaunchSpec};
use tollgate_model::{AttemptEvent, AttemptId, AttemptStatus, KillReason, NodeId};

use crate::stand_in::{StandIn, SubmitFault};
use crate::{config, open};

/// An attempt that appends a line to `runs` in `dir`, once for each time it runs.
fn launch(job: u64, dir: &Path, then: &str) -> LaunchSpec {
    let attempt = AttemptId {
        job,
        task: 0,
        attempt: 1,
    };
    let runs = dir.join("runs");
    let line = format!("echo {job} >>'{}'; {then}", runs.display());
    let words = ["/bin/sh", "-c", &line].map(str::to_owned);
    let mut launch = LaunchSpec::new(attempt, vec![NodeId(0)], words, dir);
    launch.env = vec![("PATH".into(), "/usr/bin:/bin".into())];
    launch
}

fn runs(dir: &Path) -> Vec<String> {
    let text = fs::read_to_string(dir.join("runs")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn start(dir: &Path, engine: &StandIn, launches: &[LaunchSpec]) -> (Arc<BatchSystem>, BatchEngine) {
    let system = open(config(dir), engine).expect("it opens");
    let mut node = system.engine("n1");
    node.start(launches).expect("it starts");
    (system, node)
}

/// Waits for the ends of this number of attempts, in ascending order.
fn ends(node: &mut BatchEngine, count: usize) -> Vec<(u64, AttemptEvent)> {
    let mut ends: Vec<(u64, AttemptEvent)> = Vec::new();
    for _ in 0..600 {
        let reports = node.poll(Duration::from_millis(100)).expect("it polls");
        for report in reports.into_iter().filter(|report| report.event.is_end()) {
            if ends.iter().all(|(job, _)| *job != report.attempt.job) {
                ends.push((report.attempt.job, report.event));
            }
        }
        if ends.len() >= count {
            ends.sort_by_key(|(job, _)| *job);
            return ends;
        }
    }
    panic!("{} of {count} attempts ended", ends.len());
}

fn status(event: &AttemptEvent) -> &AttemptStatus {
    match event {
        AttemptEvent::Ended(ended) => &ended.status,
        AttemptEvent::Started(_) | AttemptEvent::Lost { .. } => panic!("{event:?}"),
    }
}

#[test]
fn attempt_runs_once_whatever_the_answer_to_its_submission() {
    use SubmitFault::{Full, Hangs, LostAnswer, Twice, Unreachable};
    let dir = tempfile::tempdir().expect("a directory");
    let engine = StandIn::with_faults(&[LostAnswer, Twice, Unreachable, Hangs, Full]);
    let launches: Vec<LaunchSpec> = (1..=6)
        .map(|job| launch(job, dir.path(), "exit 3"))
        .collect();
    let (_system, mut node) = start(dir.path(), &engine, &launches);
    for (job, end) in ends(&mut node, 6) {
        assert_eq!(status(&end), &AttemptStatus::Exited(3), "{job}");
    }
    let mut runs = runs(dir.path());
    runs.sort_unstable();
    assert_eq!(runs, ["1", "2", "3", "4", "5", "6"]);
    assert!(engine.n_jobs() >= 7, "one was accepted twice");
}

#[test]
fn refused_attempt_ends_with_the_words_of_the_engine() {
    use SubmitFault::{Refused, Unreadable};
    let dir = tempfile::tempdir().expect("a directory");
    let engine = StandIn::with_faults(&[Refused, Unreadable]);
    let launches = [launch(1, dir.path(), ""), launch(2, dir.path(), "")];
    let (_system, mut node) = start(dir.path(), &engine, &launches);
    let message = ends(&mut node, 2);
    let message: Vec<String> = message
        .iter()
        .map(|(_, end)| status(end).to_string())
        .collect();
    assert_eq!(
        message,
        [
            "not started: submit: Requested node configuration is not available",
            "not started: submit: an answer that is not understood (exit code 1): purple"
        ]
    );
    assert_eq!(runs(dir.path()), Vec::<String>::new());
}

#[test]
fn fourth_unknown_answer_in_a_row_counts_as_an_outage() {
    use SubmitFault::Unreadable;
    let dir = tempfile::tempdir().expect("a directory");
    let engine = StandIn::with_faults(&[Unreadable; 4]);
    let launches: Vec<LaunchSpec> = (1..=4).map(|job| launch(job, dir.path(), "")).collect();
    let (_system, mut node) = start(dir.path(), &engine, &launches);
    let ends = ends(&mut node, 4);
    assert_eq!(
        status(&ends[3].1),
        &AttemptStatus::Exited(0),
        "it was tried again"
    );
    assert_eq!(runs(dir.path()), ["4"]);
}

#[test]
fn attempt_of_a_service_that_was_killed_before_the_answer_is_adopted() {
    let dir = tempfile::tempdir().expect("a directory");
    let engine = StandIn::default();
    let (system, node) = start(dir.path(), &engine, &[launch(1, dir.path(), "sleep 1")]);
    while engine.n_jobs() == 0 {
        std::thread::yield_now();
    }
    drop((system, node));
    // As if the service had died between the submission and its record.
    let accepted = dir.path().join("attempts/accepted/1.0.1");
    let _ = fs::remove_file(accepted);
    let system = open(config(dir.path()), &engine).expect("it opens");
    let mut node = system.engine("n1");
    let found = ends(&mut node, 1);
    assert_eq!(status(&found[0].1), &AttemptStatus::Exited(0));
    assert_eq!((engine.n_jobs(), runs(dir.path()).len()), (1, 1));
}

#[test]
fn attempt_of_a_job_that_the_engine_killed_is_lost() {
    let dir = tempfile::tempdir().expect("a directory");
    let engine = StandIn::default();
    let (_system, mut node) = start(dir.path(), &engine, &[launch(1, dir.path(), "sleep 600")]);
    while runs(dir.path()).is_empty() {
        std::thread::yield_now();
    }
    engine.kill_jobs();
    let ends = ends(&mut node, 1);
    assert!(matches!(ends[0].1, AttemptEvent::Lost { .. }), "{ends:?}");
}

#[test]
fn outage_delays_and_loses_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let engine = StandIn::default();
    let system = open(config(dir.path()), &engine).expect("it opens");
    engine.fail(3);
    let mut node = system.engine("n1");
    node.start(&[launch(1, dir.path(), "")]).expect("it starts");
    assert_eq!(status(&ends(&mut node, 1)[0].1), &AttemptStatus::Exited(0));
    assert_eq!(runs(dir.path()).len(), 1);
}

#[test]
fn attempt_that_is_killed_before_its_submission_never_runs() {
    let dir = tempfile::tempdir().expect("a directory");
    let engine = StandIn::with_faults(&[SubmitFault::Unreachable]);
    let launch = launch(1, dir.path(), "");
    let (_system, mut node) = start(dir.path(), &engine, std::slice::from_ref(&launch));
    node.kill(&[launch.attempt], KillReason::Cancelled)
        .expect("it is killed");
    let ends = ends(&mut node, 1);
    match &ends[0].1 {
        // The job may have been quicker than this test.
        AttemptEvent::Ended(ended) if ended.status == AttemptStatus::Exited(0) => {}
        AttemptEvent::Ended(ended) => {
            assert_eq!(ended.killed, Some(KillReason::Cancelled));
            assert_eq!(runs(dir.path()).len(), 0);
        }
        other @ (AttemptEvent::Started(_) | AttemptEvent::Lost { .. }) => panic!("{other:?}"),
    }
}

#[test]
fn engine_that_does_not_answer_or_has_no_such_queue_is_not_opened() {
    let dir = tempfile::tempdir().expect("a directory");
    let engine = StandIn::default();
    engine.fail(1);
    let error = open(config(dir.path()), &engine).expect_err("it is away");
    assert!(matches!(error, BatchSystemError::Engine { .. }), "{error}");
    let mut other = config(dir.path());
    other.queue = Some("nosuch".to_owned());
    let error = open(other, &engine).expect_err("an unknown queue");
    assert_eq!(
        error.to_string(),
        "slurm: no queue `nosuch`: expected tollgate"
    );
    assert_eq!(engine.programs(), ["sinfo", "sinfo"]);
}

#[test]
fn nodes_are_known_by_name_with_their_state() {
    let dir = tempfile::tempdir().expect("a directory");
    let system = open(config(dir.path()), &StandIn::default()).expect("it opens");
    let nodes = system.nodes();
    let nodes: Vec<_> = nodes
        .iter()
        .map(|node| (node.name.as_str(), node.cores, node.is_up))
        .collect();
    assert_eq!(nodes, [("n1", 4, true), ("n2", 4, false)]);
    let capacity = system.engine("n1").capacity().expect("it is known");
    assert_eq!((capacity.nodes, capacity.memory_per_node), (4, 1000 << 20));
}
