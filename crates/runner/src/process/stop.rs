//! Suspension of all processes of a task: by its freezer, else by signals.

use rustix::process::{Pid, Signal, kill_process};
use tollgate_host::all_processes;

use super::handle::ProcessHandle;
use super::kill_tree::find_marked;
use super::mark::AttemptMark;
use super::procfs;
use crate::cgroup::group::SlotCgroup;

/// Begins to suspend the processes of a task, or goes on with it. Returns whether none of them runs any more. Without a
/// freezer each call stops the processes that those before them have started meanwhile.
pub(crate) fn suspend(group: &SlotCgroup, leader: &ProcessHandle, mark: &AttemptMark) -> bool {
    match group.freeze() {
        Ok(true) => return group.is_frozen(),
        Ok(false) => {}
        Err(error) => tracing::warn!(%error, "a task cannot be frozen, and is stopped by signals"),
    }
    leader.signal(Signal::STOP);
    let mut running = processes(group, mark);
    running.retain(|pid| !procfs::is_stopped(*pid));
    signal_each(&running, Signal::STOP);
    running.is_empty()
}

/// Lets all processes of a task go on.
pub(crate) fn resume(group: &SlotCgroup, leader: &ProcessHandle, mark: &AttemptMark) {
    group.thaw();
    leader.signal(Signal::CONT);
    let mut stopped = processes(group, mark);
    stopped.retain(|pid| procfs::is_stopped(*pid));
    signal_each(&stopped, Signal::CONT);
}

/// Returns whether a process of a task has a graphics processor open, whose memory it keeps while it is suspended.
pub(crate) fn holds_gpu(group: &SlotCgroup, mark: &AttemptMark) -> bool {
    let mut processes = processes(group, mark).into_iter();
    processes.any(procfs::has_gpu_open)
}

/// Returns every live process of a task.
pub(crate) fn processes(group: &SlotCgroup, mark: &AttemptMark) -> Vec<Pid> {
    let members = group.members();
    members.unwrap_or_else(|| find_marked(mark, all_processes))
}

fn signal_each(pids: &[Pid], signal: Signal) {
    for pid in pids {
        // The process may have ended.
        let _ = kill_process(*pid, signal);
    }
}
