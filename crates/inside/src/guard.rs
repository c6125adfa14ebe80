//! Processes that end with their pilot, however it ends.
//!
//! A pilot is two processes of this program. The batch system sees the first; the second runs the daemons. It
//! has a session of its own, so that a signal to the process group of the first does not reach it. Both
//! inherit the daemons' orphans (as subreapers). The second sees the end of the first by a pipe, and kills
//! everything; the first kills everything when the second has ended.

use std::io::{self, Read, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, setsid, waitpid,
};
use tokio::signal::unix::{SignalKind, signal};
use tollgate_host::{ProcessStat, all_processes, is_process_alive};

use crate::InsideError;
use crate::host::wait_until;

/// How long killed processes may take to end. One that waits for a disk may need it.
const KILL_LIMIT: Duration = Duration::from_secs(10);

/// A reason to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GuardEvent {
    /// The batch system or the user asked the pilot to end.
    Leave,
    /// The first process is gone.
    Orphaned,
}

/// Runs the second process and waits for its end. Passes on each signal by which a batch system asks
/// a job to end. No process of the second one is left.
///
/// # Errors
/// An error if the process cannot be started or observed.
pub fn supervise(mut second: Command) -> Result<ExitStatus, InsideError> {
    let failed = |error| InsideError::System {
        what: "the pilot's second process cannot be run",
        error,
    };
    become_reaper().map_err(failed)?;
    let (to, events) = mpsc::channel();
    watch_signals(to).map_err(failed)?;
    let mut child = second.stdin(Stdio::piped()).spawn().map_err(failed)?;
    let mut pipe = child.stdin.take();
    let forward = move || {
        while let Ok(GuardEvent::Leave | GuardEvent::Orphaned) = events.recv() {
            if let Some(pipe) = &mut pipe {
                // The process may have ended.
                let _ = pipe.write_all(b"\n");
            }
        }
    };
    thread::spawn(forward);
    let status = child.wait().map_err(failed)?;
    kill_descendants(&[]);
    Ok(status)
}

/// Makes this process the second one. Returns what asks it to end from now on.
pub(crate) fn become_second() -> Result<Receiver<GuardEvent>, InsideError> {
    let failed = |error| InsideError::System {
        what: "the pilot's second process cannot be prepared",
        error,
    };
    // It fails only for a process that leads a group, which has left its session.
    let _ = setsid();
    become_reaper().map_err(failed)?;
    let (to, events) = mpsc::channel();
    watch_signals(to.clone()).map_err(failed)?;
    thread::spawn(move || {
        let mut byte = [0];
        loop {
            let event = match io::stdin().read(&mut byte) {
                Ok(0) => GuardEvent::Orphaned,
                Ok(_) => GuardEvent::Leave,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => GuardEvent::Orphaned,
            };
            if event == GuardEvent::Orphaned {
                // The main thread may wait for a command of the scheduler.
                kill_descendants(&[]);
                std::process::exit(1);
            }
            if to.send(event).is_err() {
                return;
            }
        }
    });
    Ok(events)
}

fn become_reaper() -> io::Result<()> {
    Ok(set_child_subreaper(Some(getpid()))?)
}

/// Sends an event for each SIGTERM, SIGINT, SIGUSR1 and SIGUSR2 from now on.
fn watch_signals(to: Sender<GuardEvent>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let kinds = [
        SignalKind::terminate(),
        SignalKind::interrupt(),
        SignalKind::user_defined1(),
        SignalKind::user_defined2(),
    ];
    let entered = runtime.enter();
    let signals: io::Result<Vec<_>> = kinds.into_iter().map(signal).collect();
    let [mut terminate, mut interrupt, mut first, mut second] = signals?
        .try_into()
        .map_err(|_| io::Error::other("four signals"))?;
    drop(entered);
    thread::spawn(move || {
        runtime.block_on(async {
            loop {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                    _ = first.recv() => {}
                    _ = second.recv() => {}
                }
                if to.send(GuardEvent::Leave).is_err() {
                    return;
                }
            }
        });
    });
    Ok(())
}

/// Kills all descendants of this process but those that are `spared`, and waits for their end.
pub(crate) fn kill_descendants(spared: &[Pid]) {
    wait_until(KILL_LIMIT, || {
        let mut left = descendants();
        left.retain(|pid| !spared.contains(pid));
        for pid in &left {
            let _ = kill_process(*pid, Signal::KILL);
        }
        left.is_empty()
    });
}

/// Reaps children that ended and that this process did not start itself: orphans of its daemons.
/// `own` are the children that something else waits for.
pub(crate) fn reap_orphans(own: &[Pid]) {
    let me = getpid().as_raw_nonzero().get();
    for (pid, parent) in processes() {
        if parent == me && !own.contains(&pid) && !is_process_alive(pid) {
            let _ = waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
}

/// Returns the descendants of this process that have not ended.
fn descendants() -> Vec<Pid> {
    let processes = processes();
    let mut parents = vec![getpid().as_raw_nonzero().get()];
    let mut found = Vec::new();
    while let Some(parent) = parents.pop() {
        for (pid, its_parent) in &processes {
            if *its_parent == parent {
                parents.push(pid.as_raw_nonzero().get());
                found.push(*pid);
            }
        }
    }
    found.retain(|pid| is_process_alive(*pid));
    found
}

/// Returns all processes, each with its parent.
fn processes() -> Vec<(Pid, i32)> {
    let parent = |pid| Some((pid, ProcessStat::read(pid)?.parent()?));
    all_processes().into_iter().filter_map(parent).collect()
}
