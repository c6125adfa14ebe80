//! Adoption of processes that an earlier runner started.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{PidfdFlags, pidfd_open};
use tollgate_host::ProcessIdentity;
use tollgate_model::{
    AttemptEvent, AttemptId, AttemptOutcome, AttemptStart, AttemptStatus, KillReason, Span,
};

use crate::cgroup::memory::SampledMemory;
use crate::child::spawn;
use crate::clock;
use crate::process::handle::ProcessHandle;
use crate::process::kill_tree;
use crate::process::mark::AttemptMark;
use crate::process::procfs;
use crate::slot::StartedFileHeader;
use crate::supervisor::event::RunnerEvent;
use crate::supervisor::task::RunningProcess;

/// Opens a handle to a process. None if the process has ended meanwhile.
pub(crate) fn attach(identity: ProcessIdentity) -> Option<ProcessHandle> {
    let pidfd = pidfd_open(identity.pid, PidfdFlags::empty()).ok()?;
    // The process id may have been reused before it was opened.
    identity
        .is_alive()
        .then(|| ProcessHandle::adopted(identity.pid, pidfd))
}

/// Waits for the end of a process in a separate thread, and reports it.
pub(crate) fn spawn_watch_thread(
    (attempt, mark): (AttemptId, AttemptMark),
    started: Option<AttemptStart>,
    (process, identity): (RunningProcess, ProcessIdentity),
    to: Sender<RunnerEvent>,
) {
    thread::spawn(move || {
        let pidfd = process.handle.pidfd();
        let memory = pidfd.map(|pidfd| SampledMemory::until_end(pidfd, &process.group));
        let status = pidfd.and_then(|pidfd| wait_for_exit(pidfd, identity));
        kill_tree::kill_adopted(&process.group, &mark);
        process.handle.reap(|_| ());
        let event = match status {
            Some(status) => AttemptEvent::Ended(outcome(
                status,
                started.map(|_| identity),
                &process,
                memory.unwrap_or_default(),
            )),
            None => AttemptEvent::Lost { at: clock::now() },
        };
        let over = RunnerEvent::Finished {
            slot: None,
            attempt,
            event,
        };
        // A closed channel means that the runner is ending.
        let _ = to.send(over);
    });
}

/// Waits until the process has ended, and then a moment for its parent to reap it. A parent that
/// never reaps, like the first process of many containers, leaves the status in the process table.
fn wait_for_exit(pidfd: &OwnedFd, identity: ProcessIdentity) -> Option<AttemptStatus> {
    const REAP_TIMEOUT: Duration = Duration::from_secs(2);
    let mut watched = [PollFd::new(pidfd, PollFlags::IN)];
    while poll(&mut watched, None).is_err() {}
    let ended = Instant::now();
    loop {
        let unreaped = || identity.unreaped_exit().map(spawn::status_of);
        let status = spawn::exit_status_of(pidfd.as_fd()).or_else(unreaped);
        if status.is_some() || ended.elapsed() >= REAP_TIMEOUT {
            return status;
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn outcome(
    status: AttemptStatus,
    started: Option<ProcessIdentity>,
    process: &RunningProcess,
    memory: SampledMemory,
) -> AttemptOutcome {
    let group = &process.group;
    AttemptOutcome {
        status,
        killed: process
            .meter
            .ran_out_of_memory(group)
            .then_some(KillReason::MemoryLimit),
        at: clock::now(),
        wall: started.map_or(Span::ZERO, |process| {
            Span::from_secs_f64(procfs::age(process).as_secs_f64())
        }),
        cpu: process.meter.cpu(group).unwrap_or(Span::ZERO),
        suspended: Span::ZERO,
        peak_memory: memory.peak(None, None, group.kernel_peak_memory()),
    }
}

/// Returns a process of an earlier runner, as its `started` file describes it.
pub(crate) fn from_started_file(
    live: ProcessHandle,
    header: StartedFileHeader,
) -> (RunningProcess, AttemptStart) {
    let start = AttemptStart {
        pid: u32::try_from(live.pid().as_raw_pid()).ok(),
        at: tollgate_model::Instant::from_micros(header.at_micros),
    };
    let process = RunningProcess {
        handle: Arc::new(live),
        group: header.group,
        meter: header.meter,
    };
    (process, start)
}
