//! A test of a process that has ended and that its parent does not reap, like the first process of
//! many containers: it counts as ended.

#[allow(dead_code)] // The other test uses the rest.
#[path = "runner/common.rs"]
mod common;

use common::{EngineTestDir, command, signal, wait_for_ends, wait_for_start};
use rustix::process::{Signal, getpid, set_child_subreaper};
use tollgate_engine::Engine;
use tollgate_model::{AttemptEvent, AttemptStatus};

#[test]
fn unreaped_task_of_a_killed_runner_is_reported_ended() {
    // Tasks whose runner was killed become children of this process, which reaps none.
    set_child_subreaper(Some(getpid())).unwrap();
    for home in [
        EngineTestDir::new(),
        EngineTestDir::without_control_groups(),
    ] {
        let mut engine = home.open();
        let launch = command(1, &["sleep", "600"]);
        engine.start(std::slice::from_ref(&launch)).unwrap();
        let task = wait_for_start(&mut engine, launch.attempt);
        signal(engine.runner_pid().unwrap(), Signal::KILL);
        drop(engine);
        let mut engine = home.open();
        assert_eq!(wait_for_start(&mut engine, launch.attempt), task);
        signal(task, Signal::KILL);
        match wait_for_ends(&mut engine, &[launch.attempt]).remove(0) {
            AttemptEvent::Ended(ended) => assert_eq!(ended.status, AttemptStatus::Signalled(9)),
            other @ (AttemptEvent::Started(_) | AttemptEvent::Lost { .. }) => panic!("{other:?}"),
        }
    }
}
