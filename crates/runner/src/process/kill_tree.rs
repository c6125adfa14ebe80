//! The end of every process of a task, including processes that no parent waits for.

use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tollgate_host::all_processes;

use super::handle::ProcessHandle;
use super::mark::AttemptMark;
use super::procfs;
use crate::cgroup::group::SlotCgroup;

/// The maximum wait for killed processes. A process that still exists then is in an uninterruptible
/// system call; the kernel ends it when the call returns.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Ends the remaining processes of the task with this `mark` in `group`. If the task was asked to
/// end, they first get the rest of the grace period. Call this when the first process has ended but
/// has not been reaped, so that its process id and the id of its process group are not reused.
pub(crate) fn kill_own(group: &SlotCgroup, leader: &ProcessHandle, mark: &AttemptMark) {
    if group.tracks_descendants() {
        if group.holds_only_leader() {
            return;
        }
        let left = || group.members().is_some_and(|members| !members.is_empty());
        wait_while(left, leader.kill_deadline());
        return kill_members(group);
    }
    wait_while(
        || !find_marked(mark, procfs::children).is_empty(),
        leader.kill_deadline(),
    );
    let _ = kill_process_group(leader.pid(), Signal::KILL);
    group.thaw();
    kill_marked(mark, procfs::children);
}

/// Waits for processes that were asked to end together with their first process, and may need
/// longer.
fn wait_while(left: impl Fn() -> bool, until: Option<Instant>) {
    let is_early = || until.is_some_and(|until| Instant::now() < until);
    while is_early() && left() {
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Ends the processes left in the control groups of a slot.
pub(crate) fn kill_group(group: &SlotCgroup) {
    if group.tracks_descendants() {
        kill_members(group);
    }
}

/// Ends the processes of a task of an earlier runner, which are not children of this process.
pub(crate) fn kill_adopted(group: &SlotCgroup, mark: &AttemptMark) {
    if group.tracks_descendants() {
        return kill_members(group);
    }
    group.thaw();
    kill_marked(mark, all_processes);
}

/// Ends the processes of a task whose runner cannot: `runner` is stopped or gone, and is spared.
pub(crate) fn kill_sparing_runner(runner: Pid, group: &SlotCgroup, mark: &AttemptMark) {
    if group.tracks_descendants() {
        return kill_members_except(Some(runner), group);
    }
    group.thaw();
    kill_marked(mark, all_processes);
}

/// Asks the processes of a task to end, if the task's runner cannot.
pub(crate) fn terminate_sparing_runner(runner: Pid, group: &SlotCgroup, mark: &AttemptMark) {
    for pid in remaining_processes(runner, group, mark) {
        let _ = kill_process(pid, Signal::TERM);
        let _ = kill_process(pid, Signal::CONT);
    }
    group.thaw();
}

/// Returns every live process of a task, without `runner`, whose threads wait in the control
/// groups.
pub(crate) fn remaining_processes(runner: Pid, group: &SlotCgroup, mark: &AttemptMark) -> Vec<Pid> {
    let mut left = match group.members() {
        Some(members) => members,
        None => find_marked(mark, all_processes),
    };
    left.retain(|pid| *pid != runner);
    left
}

/// Kills the processes in the group until the group is empty. Meanwhile none of them can start
/// others.
fn kill_members(group: &SlotCgroup) {
    kill_members_except(None, group);
}

fn kill_members_except(spared: Option<Pid>, group: &SlotCgroup) {
    let members = || {
        let mut members = group.members()?;
        members.retain(|pid| Some(*pid) != spared);
        (!members.is_empty()).then_some(members)
    };
    if members().is_none() {
        return;
    }
    group.set_fork_allowed(false);
    kill_until_gone(members, |members| {
        if !group.kill() {
            kill_each(members);
        }
        // In version 1 a frozen process does not end.
        group.thaw();
    });
    group.set_fork_allowed(true);
}

/// Kills the processes among `candidates` that were started with this mark in their environment,
/// until no such process is left. Each round finds the children that the killed processes leave.
fn kill_marked(mark: &AttemptMark, candidates: fn() -> Vec<Pid>) {
    let left = || Some(find_marked(mark, candidates)).filter(|pids| !pids.is_empty());
    kill_until_gone(left, kill_each);
}

/// Returns the processes among `candidates` that were started with this mark in their environment.
pub(super) fn find_marked(mark: &AttemptMark, candidates: fn() -> Vec<Pid>) -> Vec<Pid> {
    let mut pids = candidates();
    pids.retain(|pid| mark.is_on(*pid));
    pids
}

fn kill_until_gone(find: impl Fn() -> Option<Vec<Pid>>, kill: impl Fn(&[Pid])) {
    let mut waited = Duration::ZERO;
    while let Some(pids) = find().filter(|_| waited < KILL_TIMEOUT) {
        kill(&pids);
        std::thread::sleep(POLL_INTERVAL);
        waited += POLL_INTERVAL;
    }
}

fn kill_each(pids: &[Pid]) {
    for pid in pids {
        let _ = kill_process(*pid, Signal::KILL);
    }
}

/// Reaps processes that became children of the runner when their parents ended. Only the main
/// thread may call this: it inherits such processes, which belong to no slot.
pub(crate) fn reap_orphans() {
    // The tasks' own processes are children of their slots' threads, which reap them.
    const OF_THIS_THREAD: u32 = 0x2000_0000; // __WNOTHREAD
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let options = WaitIdOptions::EXITED
        | WaitIdOptions::NOHANG
        | WaitIdOptions::from_bits_retain(OF_THIS_THREAD);
    loop {
        match waitid(WaitId::All, options) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) | Err(_) => return,
        }
    }
}
