//! Named points at which a test has the runner killed. There are none in a release build.

use std::sync::OnceLock;

/// The environment variable that names the point.
const VARIABLE: &str = "TOLLGATE_RUNNER_FAULT";

static POINT: OnceLock<Option<String>> = OnceLock::new();

/// Looks up which point was named. Called before the first thread is started, so that asking
/// later neither allocates nor locks, not even in a child that has yet to be replaced.
pub(super) fn init() {
    POINT.get_or_init(|| {
        let named = std::env::var(VARIABLE).ok();
        named.filter(|_| cfg!(debug_assertions))
    });
}

/// Kills the runner if this point was named.
pub(super) fn kill_at(name: &str) {
    if is_named(name) {
        kill(rustix::process::getpid());
    }
}

/// The same, in a child of the runner that has yet to be replaced.
pub(super) fn kill_at_in_child(name: &str) {
    if is_named(name)
        && let Some(runner) = rustix::process::getppid()
    {
        kill(runner);
    }
}

/// Stops a child that has yet to be replaced, as its user could.
pub(super) fn stop_at_in_child(name: &str) {
    if is_named(name) {
        let _ =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP);
    }
}

fn is_named(name: &str) -> bool {
    matches!(POINT.get(), Some(Some(named)) if named == name)
}

fn kill(pid: rustix::process::Pid) {
    // Nothing is left to be done if even this fails.
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
}
