//! Shares by nice levels, where the kernel's weights cannot be set: each level gets a quarter more
//! or less processor time than the next.

use std::fs;
use std::io;

use rustix::process::{Pid, setpriority_pgrp, setpriority_process};
use tollgate_host::ProcessStat;

const SHARE_RATIO_PER_LEVEL: f64 = 1.25;
/// The lowest priority of a process.
pub(crate) const MAX_NICE: i32 = 19;
/// The level of processes that others wait for on a busy host: each gets nine times as much as an ordinary one.
const RAISED_NICE: i32 = -10;

/// Returns the level for `share` beside a task with `most`: 0 for the same share, up to 19 for a
/// 70th.
pub(crate) fn level(share: f64, most: f64) -> i32 {
    let levels = ((most / share).ln() / SHARE_RATIO_PER_LEVEL.ln()).round();
    // The cast saturates, and a share is positive and finite.
    (levels as i32).clamp(0, MAX_NICE)
}

/// Sets the level of a process group that leads a session. Without root a level can only rise.
pub(crate) fn set(leader: Pid, level: i32) {
    let _ = setpriority_pgrp(Some(leader), level);
    // Where sessions compete as a whole, the level of the session counts. Without root only one
    // level can be set in a tenth of a second, so some are set only at the runner's next check.
    let session = format!("/proc/{}/autogroup", leader.as_raw_pid());
    let is_so = |found: String| found.trim_end().ends_with(&format!(" nice {level}"));
    if !fs::read_to_string(&session).is_ok_and(is_so) {
        let _ = fs::write(session, level.to_string());
    }
}

/// Raises the priority of the calling thread, and of the threads and processes that it starts from now on. Programs of
/// tasks have one of their own.
///
/// # Errors
/// If the system does not allow it: it needs root.
pub fn raise_own() -> io::Result<()> {
    setpriority_process(None, RAISED_NICE)?;
    let own = rustix::process::getpid();
    // `getsid` has no answer for a session of another namespace of processes.
    let session = ProcessStat::read(own).and_then(|stat| stat.session());
    if session == Some(own.as_raw_pid()) {
        // Where sessions compete as a whole, the level of the session counts. Its other processes are our own.
        let _ = fs::write("/proc/self/autogroup", RAISED_NICE.to_string());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nice_levels_differ_by_a_quarter_of_the_share() {
        assert_eq!(level(1.0, 1.0), 0);
        assert_eq!(level(0.25, 0.75), 5);
        assert_eq!(level(0.001, 1.0), MAX_NICE);
        assert_eq!(level(f64::MIN_POSITIVE, f64::MAX), MAX_NICE);
        assert_eq!(level(1.0, 0.0), 0, "no other task is there");
    }
}
