//! Shares by nice levels, where the kernel's weights cannot be set: each level is a quarter more or
//! less processor time beside the next.

use std::fs;

use rustix::process::{Pid, setpriority_pgrp};

const SHARE_RATIO_PER_LEVEL: f64 = 1.25;
const MAX_NICE: i32 = 19;

/// The level for `share` beside somebody with `most`: 0 for the same, up to 19 for a 70th.
pub(super) fn level(share: f64, most: f64) -> i32 {
    let levels = ((most / share).ln() / SHARE_RATIO_PER_LEVEL.ln()).round();
    // The cast saturates, and a share is positive and finite.
    (levels as i32).clamp(0, MAX_NICE)
}

/// Sets the level of a process group that leads a session. Who is not root can only go up.
pub(super) fn set(leader: Pid, level: i32) {
    let _ = setpriority_pgrp(Some(leader), level);
    // Where sessions compete as a whole, theirs is the level that counts. Who is not root may set
    // one in a tenth of a second, so that some are set only when the runner looks again.
    let session = format!("/proc/{}/autogroup", leader.as_raw_pid());
    let is_so = |found: String| found.trim_end().ends_with(&format!(" nice {level}"));
    if !fs::read_to_string(&session).is_ok_and(is_so) {
        let _ = fs::write(session, level.to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_a_quarter_apart() {
        assert_eq!(level(1.0, 1.0), 0);
        assert_eq!(level(0.25, 0.75), 5);
        assert_eq!(level(0.001, 1.0), MAX_NICE);
        assert_eq!(level(f64::MIN_POSITIVE, f64::MAX), MAX_NICE);
        assert_eq!(level(1.0, 0.0), 0, "nobody else is there");
    }
}
