//! Ending every process of a task, also those that nobody waits for.

use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::group::SlotCgroup;
use super::live::ProcessHandle;
use super::process;

/// How long processes that were killed are waited for. Who is still there then sits in a system call
/// that cannot be interrupted; the kernel ends him when that returns.
const PATIENCE: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_millis(1);

/// Ends what the task with this `mark` in `group` has left behind, if it was asked to end when its
/// time is up. Called when its first process has ended but has not been reaped, so that the
/// number is still its own and that of its process group.
pub(super) fn end(group: &SlotCgroup, leader: &ProcessHandle, mark: &str) {
    if group.holds_trees() {
        let left = || group.members().is_some_and(|members| !members.is_empty());
        wait_while(left, leader.time_given());
        return end_members(group);
    }
    wait_while(
        || !marked(mark, process::children).is_empty(),
        leader.time_given(),
    );
    let _ = kill_process_group(leader.pid(), Signal::KILL);
    end_marked(mark, process::children);
}

/// Those that were asked to end together with their first process may need longer than that.
fn wait_while(left: impl Fn() -> bool, until: Option<Instant>) {
    let is_early = || until.is_some_and(|until| Instant::now() < until);
    while is_early() && left() {
        std::thread::sleep(STEP);
    }
}

/// The same for a task of an earlier runner, whose processes are nobody's children here.
pub(super) fn end_adopted(group: &SlotCgroup, mark: &str) {
    if group.holds_trees() {
        return end_members(group);
    }
    end_marked(mark, process::all);
}

/// Ends the processes of a task whose runner cannot: `runner` is stopped or gone, and is spared.
pub(super) fn end_for(runner: Pid, group: &SlotCgroup, mark: &str) {
    if group.holds_trees() {
        return end_all_but(Some(runner), group);
    }
    end_marked(mark, process::all);
}

/// Asks the processes of a task to end whose runner cannot.
pub(super) fn ask_for(runner: Pid, group: &SlotCgroup, mark: &str) {
    for pid in left_of(runner, group, mark) {
        let _ = kill_process(pid, Signal::TERM);
        let _ = kill_process(pid, Signal::CONT);
    }
}

/// Every process of a task that goes on, but `runner`, whose threads wait in the control groups.
pub(super) fn left_of(runner: Pid, group: &SlotCgroup, mark: &str) -> Vec<Pid> {
    let mut left = match group.members() {
        Some(members) => members,
        None => marked(mark, process::all),
    };
    left.retain(|pid| *pid != runner);
    left
}

/// Kills the processes in the group until there are none; none of them can start others meanwhile.
fn end_members(group: &SlotCgroup) {
    end_all_but(None, group);
}

fn end_all_but(spared: Option<Pid>, group: &SlotCgroup) {
    let members = || {
        let mut members = group.members()?;
        members.retain(|pid| Some(*pid) != spared);
        (!members.is_empty()).then_some(members)
    };
    if members().is_none() {
        return;
    }
    group.allow_children(false);
    until_none_is_left(members, |members| {
        if !group.kill() {
            kill_each(members);
        }
    });
    group.allow_children(true);
}

/// Kills the processes among `candidates` that were started with this mark in their environment,
/// until there are none: those that they leave behind are found in the next round.
fn end_marked(mark: &str, candidates: fn() -> Vec<Pid>) {
    let left = || Some(marked(mark, candidates)).filter(|pids| !pids.is_empty());
    until_none_is_left(left, kill_each);
}

fn marked(mark: &str, candidates: fn() -> Vec<Pid>) -> Vec<Pid> {
    let entry = format!("TOLLGATE_ATTEMPT={mark}");
    let mut pids = candidates();
    pids.retain(|pid| process::was_started_with(*pid, &entry));
    pids
}

fn until_none_is_left(find: impl Fn() -> Option<Vec<Pid>>, kill: impl Fn(&[Pid])) {
    let mut waited = Duration::ZERO;
    while let Some(pids) = find().filter(|_| waited < PATIENCE) {
        kill(&pids);
        std::thread::sleep(STEP);
        waited += STEP;
    }
}

fn kill_each(pids: &[Pid]) {
    for pid in pids {
        let _ = kill_process(*pid, Signal::KILL);
    }
}

/// Takes processes off the process table that became children of the runner when their parents
/// ended. Only the main thread may call this: it inherits them, and is no slot's.
pub(super) fn reap_orphans() {
    // The tasks' own processes are children of their slots' threads, and theirs to reap.
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
