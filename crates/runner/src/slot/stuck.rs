//! Children that do not become their programs: killed after a time, and given up if that does not help.
//!
//! A file system may not answer, such as a FUSE mount whose server is the user's, or NFS without its server.
//! It keeps a child in a system call that no signal ends. The thread of its slot waits with it. So the slot
//! gets another thread, and the child is counted against its user until it ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Maximum number of children of one user that were given up and have not ended. More tasks of this user
/// are not started.
pub(crate) const MAX_STUCK_PER_USER: usize = 4;
/// Time after which a child that was killed is given up.
const KILL_TIMEOUT: Duration = Duration::from_secs(1);
/// The value of a watch whose child was given up.
const GIVEN_UP: i32 = -1;

/// The process id of the child that a slot sets up, shared by its thread and the main thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct SetupWatch(Arc<AtomicI32>);

impl SetupWatch {
    /// Returns the place into which the kernel writes the id of a new child.
    pub(crate) fn as_ptr(&self) -> *mut i32 {
        self.0.as_ptr()
    }

    /// Records that a child has left the setup. Returns whether it was given up before.
    pub(crate) fn finish(&self) -> bool {
        self.0.swap(0, Ordering::AcqRel) == GIVEN_UP
    }

    /// Returns the child; None if there is none, or it was given up.
    pub(crate) fn child(&self) -> Option<Pid> {
        Pid::from_raw(self.0.load(Ordering::Acquire).max(0))
    }

    /// Gives a child up. Returns false if it has left the setup meanwhile.
    fn give_up(&self, child: Pid) -> bool {
        let child = child.as_raw_pid();
        let swapped = self
            .0
            .compare_exchange(child, GIVEN_UP, Ordering::AcqRel, Ordering::Acquire);
        swapped.is_ok()
    }
}

/// A child in its setup, as the checks of a slot have seen it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ObservedSetup {
    child: Pid,
    since: Instant,
    killed: Option<Instant>,
}

/// Kills the child of a watch that has been in its setup for `limit`. Returns whether a child that was
/// killed before is given up.
pub(crate) fn check_setup(
    watch: &SetupWatch,
    seen: &mut Option<ObservedSetup>,
    now: Instant,
    limit: Duration,
) -> bool {
    let Some(child) = watch.child() else {
        *seen = None;
        return false;
    };
    let setup = match seen {
        Some(setup) if setup.child == child => setup,
        Some(_) | None => seen.insert(ObservedSetup {
            child,
            since: now,
            killed: None,
        }),
    };
    if now.duration_since(setup.since) < limit {
        return false;
    }
    // A user can stop a child that has become that user, and SIGKILL ends such a child.
    let _ = kill_process(child, Signal::KILL);
    let killed = *setup.killed.get_or_insert(now);
    now.duration_since(killed) >= KILL_TIMEOUT && watch.give_up(child)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn child_is_killed_after_the_limit_and_given_up_if_it_stays() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let watch = SetupWatch::default();
        let limit = Duration::from_secs(30);
        let (start, mut seen) = (Instant::now(), None);
        let mut check = |watch: &SetupWatch, after: Duration| {
            check_setup(watch, &mut seen, start + after, limit)
        };
        assert!(!check(&watch, Duration::ZERO));
        let id = i32::try_from(child.id()).unwrap();
        watch.0.store(id, Ordering::Release);
        assert!(!check(&watch, Duration::from_secs(10)));
        assert!(!check(&watch, Duration::from_secs(39)));
        assert!(child.try_wait().unwrap().is_none());
        assert!(!check(&watch, Duration::from_secs(40)));
        child.wait().unwrap();
        // The thread has not returned: for it the child is still in its setup.
        assert!(check(&watch, Duration::from_secs(41)));
        assert!(!check(&watch, Duration::from_secs(42)), "once");
        assert!(watch.finish());
        assert!(!watch.finish());
    }

    #[test]
    fn child_that_leaves_its_setup_is_not_given_up() {
        let watch = SetupWatch::default();
        watch.0.store(7, Ordering::Release);
        assert!(!watch.finish());
        assert!(!watch.give_up(Pid::from_raw(7).unwrap()));
    }
}
