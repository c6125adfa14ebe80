//! A process handle that refuses to signal once its process id may have been reused.

use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process_group, pidfd_send_signal};
use tollgate_model::WarningSignal;

/// A handle to the first process of an attempt, which leads a process group of its own.
#[derive(Debug)]
pub(crate) struct ProcessHandle {
    pid: Pid,
    /// The pidfd of a process that this runner did not start; the runner cannot know when such a
    /// process id becomes free.
    adopted: Option<OwnedFd>,
    /// Whether the process was reaped. Locked while a signal is sent, so that no thread frees the
    /// process id meanwhile.
    reaped: Mutex<bool>,
    /// Time until which the remaining processes may continue, because the attempt was asked to end.
    kill_deadline: Mutex<Option<Instant>>,
}

/// Returns the signal of the operating system.
pub(crate) const fn warning_signal(signal: WarningSignal) -> Signal {
    match signal {
        WarningSignal::Hup => Signal::HUP,
        WarningSignal::Int => Signal::INT,
        WarningSignal::Quit => Signal::QUIT,
        WarningSignal::Usr1 => Signal::USR1,
        WarningSignal::Usr2 => Signal::USR2,
        WarningSignal::Term => Signal::TERM,
        WarningSignal::Xcpu => Signal::XCPU,
    }
}

impl ProcessHandle {
    pub(crate) const fn child(pid: Pid) -> Self {
        Self {
            pid,
            adopted: None,
            reaped: Mutex::new(false),
            kill_deadline: Mutex::new(None),
        }
    }

    pub(crate) const fn adopted(pid: Pid, pidfd: OwnedFd) -> Self {
        Self {
            pid,
            adopted: Some(pidfd),
            reaped: Mutex::new(false),
            kill_deadline: Mutex::new(None),
        }
    }

    pub(crate) const fn pid(&self) -> Pid {
        self.pid
    }

    pub(crate) const fn pidfd(&self) -> Option<&OwnedFd> {
        self.adopted.as_ref()
    }

    /// Sends a signal to the process and its group, unless it has been reaped.
    pub(crate) fn signal(&self, signal: Signal) {
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

    /// Allows the remaining processes to continue until `until`.
    pub(crate) fn set_kill_deadline(&self, until: Instant) {
        *self
            .kill_deadline
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = Some(until);
    }

    /// Returns the time until which the remaining processes may continue; None if they may not.
    pub(crate) fn kill_deadline(&self) -> Option<Instant> {
        *self
            .kill_deadline
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Frees the process id by `reap`.
    pub(crate) fn reap<T>(&self, reap: impl FnOnce(Pid) -> T) -> T {
        let mut reaped = self.reaped.lock().unwrap_or_else(PoisonError::into_inner);
        *reaped = true;
        reap(self.pid)
    }
}
