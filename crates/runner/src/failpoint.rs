//! Named points at which a test has the runner killed. A release build has no such points.

use std::sync::OnceLock;

/// The environment variable that names the point.
const VARIABLE: &str = "TOLLGATE_RUNNER_FAULT";

static POINT: OnceLock<Option<String>> = OnceLock::new();

/// Reads the name of the point from the environment. It is called before the first thread starts,
/// so that later checks neither allocate nor lock, even in a child before its program replaces it.
pub(crate) fn init() {
    POINT.get_or_init(|| {
        let named = std::env::var(VARIABLE).ok();
        named.filter(|_| cfg!(debug_assertions))
    });
}

/// Kills the runner if this point is set.
pub(crate) fn kill_at(name: &str) {
    if is_named(name) {
        kill(rustix::process::getpid());
    }
}

/// Kills a child of the runner, before its program replaces it, if this point is set.
pub(crate) fn kill_at_in_child(name: &str) {
    if is_named(name)
        && let Some(runner) = rustix::process::getppid()
    {
        kill(runner);
    }
}

/// Stops a child before its program replaces it, as its user could.
pub(crate) fn stop_at_in_child(name: &str) {
    if is_named(name) {
        let _ =
            rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP);
    }
}

fn is_named(name: &str) -> bool {
    matches!(POINT.get(), Some(Some(named)) if named == name)
}

fn kill(pid: rustix::process::Pid) {
    // No further action is possible if even this fails.
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
}
