//! A process that may be signalled as long as its number is its own.

use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process_group, pidfd_send_signal};

/// The first process of an attempt, which leads a process group of its own.
#[derive(Debug)]
pub(super) struct ProcessHandle {
    pid: Pid,
    /// For one that this runner did not start: it cannot know when the number is free again.
    adopted: Option<OwnedFd>,
    /// Locked while a signal is sent, so that nobody frees the number meanwhile.
    reaped: Mutex<bool>,
    /// Until when those that it leaves behind may go on: it was asked to end.
    kill_deadline: Mutex<Option<Instant>>,
}

impl ProcessHandle {
    pub(super) const fn child(pid: Pid) -> Self {
        Self {
            pid,
            adopted: None,
            reaped: Mutex::new(false),
            kill_deadline: Mutex::new(None),
        }
    }

    pub(super) const fn adopted(pid: Pid, pidfd: OwnedFd) -> Self {
        Self {
            pid,
            adopted: Some(pidfd),
            reaped: Mutex::new(false),
            kill_deadline: Mutex::new(None),
        }
    }

    pub(super) const fn pid(&self) -> Pid {
        self.pid
    }

    pub(super) const fn pidfd(&self) -> Option<&OwnedFd> {
        self.adopted.as_ref()
    }

    /// Sends a signal to the process and its group, if it has not been reaped.
    pub(super) fn signal(&self, signal: Signal) {
        let reaped = self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        if *reaped {
            return;
        }
        if let Some(pidfd) = &self.adopted
            && pidfd_send_signal(pidfd, signal).is_err()
        {
            return;
        }
        let _ = kill_process_group(self.pid, signal);
    }

    /// Lets those that it leaves behind go on until then.
    pub(super) fn set_kill_deadline(&self, until: Instant) {
        *self
            .kill_deadline
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(until);
    }

    /// Until when those that it leaves behind may go on; none if they may not.
    pub(super) fn kill_deadline(&self) -> Option<Instant> {
        *self
            .kill_deadline
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Frees the number by `reap`.
    pub(super) fn reap<T>(&self, reap: impl FnOnce(Pid) -> T) -> T {
        let mut reaped = self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        *reaped = true;
        reap(self.pid)
    }
}
